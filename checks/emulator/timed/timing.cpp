// The schedule `timed`: small kernels read clock64 around one thing, as checks/bench/hopper_times.cu does on an H200, and get the
// cycles that were recorded there.
#include "emulator/timed/timing.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "checked.hpp"
#include "emulator/trace/recorder.hpp"

using emu_test::Options;

namespace {

struct TimedRunner : emu_test::Runner {
  emu::timed::Timing timing{machine};
  TimedRunner() {
    machine.timekeeper = &timing;
    machine.observers.add(timing);
  }
};

Options options(unsigned threads, const std::string& schedule = "timed:1") {
  Options o;
  o.threads = threads;
  o.in_words = 1;
  o.out_words = 1;
  o.schedule = schedule;
  o.declarations = ".shared .align 1024 .b8 tile[40960];\n.shared .align 8 .b64 bar[2];\n";
  return o;
}

constexpr int kLaps = 64;

// Cycles of one lap, as thread 0 sees them.
double lap(const std::string& before, const std::string& body, unsigned threads, unsigned out_words = 1) {
  const std::string text = before + "bar.sync 0;\nmov.u32 %r0, 0;\nmov.u64 %rd0, %clock64;\nLOOP:\n" + body +
                           "add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, " + std::to_string(kLaps) +
                           ";\n@%p0 bra LOOP;\nmov.u64 %rd1, %clock64;\nsub.u64 %rd1, %rd1, %rd0;\n"
                           "cvt.u32.u64 %r1, %rd1;\nst.global.u32 [%out], %r1;\n";
  TimedRunner r;
  Options o = options(threads);
  o.out_words = out_words;
  return static_cast<double>(r.run(text, {}, o)[0]) / kLaps;
}

// Groups of four m64nNk16, at most `pending` groups in flight.
double product(int n, int pending, unsigned threads) {
  std::string d, before = "mov.u32 %r5, tile;\n.reg .f32 d<128>;\n.reg .b64 %a, %b;\n";
  for (int i = 0; i < n / 2; ++i) {
    before += "mov.f32 d" + std::to_string(i) + ", 0f00000000;\n";
    d += (i ? ", d" : "d") + std::to_string(i);
  }
  before += "mov.u64 %a, 0x4000004000010040;\nmov.u64 %b, 0x4000004000010240;\n";
  std::string body = "wgmma.fence.sync.aligned;\n";
  for (int k = 0; k < 4; ++k)
    body += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k16.f32.bf16.bf16 {" + d +
            "}, %a, %b, 1, 1, 1, 0, 0;\n";
  return lap(before,
             body + "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned " +
                 std::to_string(pending) + ";\n",
             threads);
}

bool near(double got, double want, double tolerance) {
  CAPTURE(got);
  CAPTURE(want);
  const bool holds = std::abs(got - want) <= tolerance * want;
  CHECK(holds);
  return holds;
}

}  // namespace

TEST_CASE("timed: a group of four wgmma takes the recorded cycles, waited for and pipelined") {
  near(product(128, 0, 128), 314.3, 0.1);
  near(product(128, 1, 128), 257.2, 0.05);
  near(product(256, 0, 128), 580.6, 0.1);
  near(product(256, 1, 128), 513.7, 0.05);
  near(product(128, 0, 256), 513.7, 0.05);
  near(product(256, 1, 256), 1026.4, 0.05);
}

TEST_CASE("timed: barriers take the recorded cycles") {
  near(lap("", "bar.sync 0;\n", 128), 21.5, 0.25);
  near(lap("", "bar.sync 0;\n", 256), 29.7, 0.25);
  const std::string init =
      "setp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared.b64 [bar], 1;\n@%p1 mbarrier.init.shared.b64 [bar+8], "
      "1;\n.reg .b64 %s;\n.reg .b32 %phase;\nand.b32 %r3, %t, 31;\nsetp.eq.u32 %p2, %r3, 0;\nshr.u32 %r4, %t, "
      "5;\nsetp.eq.u32 %p3, %r4, 0;\n";
  const auto wait = [](const std::string& label, const std::string& bar) {
    return label + ": mbarrier.try_wait.parity.shared.b64 %p4, [" + bar + "], %phase;\n@!%p4 bra " + label +
           ";\n";
  };
  // Two warps hand a phase to and fro.
  const std::string lap_text =
      "and.b32 %phase, %r0, 1;\n@!%p2 bra NEXT;\n@!%p3 bra SECOND;\n"
      "mbarrier.arrive.shared.b64 %s, [bar];\n" +
      wait("W1", "bar+8") + "bra NEXT;\nSECOND:\n" + wait("W2", "bar") +
      "mbarrier.arrive.shared.b64 %s, [bar+8];\nNEXT:\n";
  near(lap(init, lap_text, 64), 186.7, 0.25);
}

TEST_CASE("timed: the same launch takes the same cycles, and the launch after it, too") {
  const std::string body =
      "bar.sync 0;\nld.global.u32 %r0, [%in];\nadd.u32 %r0, %r0, %t;\nst.global.u32 [%out], %r0;\n";
  Options o = options(256, "timed");
  o.ctas = 300;
  TimedRunner first, second;
  first.run(body, {}, o);
  const double cycles = first.timing.summary().cycles;
  second.run(body, {}, o);
  CHECK(second.timing.summary().cycles == cycles);
  second.run(body, {}, o);
  CHECK(second.timing.summary().cycles == cycles);
  CHECK(cycles > 0);
}

TEST_CASE("timed: a window has its multiprocessors, and the CTAs take turns on them") {
  const std::string body =
      "mov.u32 %r0, 0;\nLOOP: add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, 4000;\n@%p0 bra LOOP;\n"
      "st.global.u32 [%out], %r0;\n";
  Options o = options(1024, "timed:1");  // two CTAs of 1024 threads fill an SM
  const auto cycles = [&](unsigned ctas, const std::string& schedule) {
    o.ctas = ctas;
    o.schedule = schedule;
    TimedRunner r;
    r.run(body, {}, o);
    return r.timing.summary().cycles;
  };
  near(cycles(8, "timed:1"), 2 * cycles(4, "timed:1"), 0.1);
  near(cycles(8, "timed:2"), cycles(4, "timed:1"), 0.1);
}

TEST_CASE("timed: a window can run the first CTAs alone, and registers bound how many share an SM") {
  const std::string body =
      "mov.u32 %r0, 0;\nLOOP: add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, 4000;\n@%p0 bra LOOP;\n"
      "st.global.u32 [%out], %r0;\n";
  Options o = options(1024, "timed:1");
  const auto seen = [&](unsigned ctas, bool first_only, unsigned registers) {
    o.ctas = ctas;
    TimedRunner r;
    r.timing.first_only = first_only;
    if (registers) r.timing.registers["test"] = registers;
    r.run(body, {}, o);
    return r.timing.summary();
  };
  CHECK(seen(8, true, 0).cycles == seen(1, false, 0).cycles);
  CHECK(seen(8, true, 0).ctas == 8);
  CHECK(seen(2, false, 0).ctas_per_sm == 1);  // PTX without a bound: 128 are assumed
  CHECK(seen(2, false, 64).ctas_per_sm == 1);
  CHECK(seen(2, false, 32).ctas_per_sm == 2);
}

TEST_CASE("timed: a store costs its sectors of 32 bytes, in whatever order the lanes come to them") {
  // A thread has 32 bytes of output; %r4 is the byte that it writes to.
  const auto store = [](const std::string& place) {
    return lap(".reg .b64 %base, %to;\nmul.wide.u32 %base, %t, 32;\nsub.u64 %base, %out, %base;\n" + place +
                   "cvt.u64.u32 %to, %r4;\nadd.u64 %to, %to, %base;\n",
               "st.global.u32 [%to], %r0;\n", 128, 8);
  };
  const double in_order = store("shl.b32 %r4, %t, 2;\n");
  // Of each warp's 128 bytes, lane i writes to sector i % 4.
  const double by_turns = store(
      "and.b32 %r3, %t, 96;\nshl.b32 %r4, %r3, 2;\nand.b32 %r3, %t, 3;\nshl.b32 %r3, %r3, 5;\nadd.u32 %r4, %r4, %r3;\n"
      "and.b32 %r3, %t, 28;\nadd.u32 %r4, %r4, %r3;\n");
  const double apart = store("shl.b32 %r4, %t, 5;\n");
  near(by_turns, 4 * 4 * emu::timed::kStoreSector, 0.25);  // less what the queue takes at first
  near(in_order, 4 * 4 * emu::timed::kStoreSector, 0.25);
  near(apart, 4 * 32 * emu::timed::kStoreSector, 0.1);
}

TEST_CASE("timed: who polls goes on when the value changes, who sleeps when the time is over") {
  const auto first_thread = [](const std::string& body) {
    Options o = options(64);
    o.declarations += ".global .u32 flag;\n";
    TimedRunner r;
    return static_cast<double>(
        r.run(body + "mov.u64 %rd1, %clock64;\ncvt.u32.u64 %r1, %rd1;\nst.global.u32 [%out], "
                     "%r1;\nEND:\n",
              {}, o)[0]);
  };
  const double polled = first_thread(
      "setp.lt.u32 %p1, %t, 32;\n@%p1 bra POLL;\nmov.u32 %r0, 0;\nLOOP: add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, "
      "20000;\n@%p0 bra LOOP;\nst.release.gpu.global.u32 [flag], %r0;\nbra END;\n"
      "POLL: ld.acquire.gpu.global.u32 %r2, [flag];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra POLL;\n");
  near(polled, 20000 * 3 * emu::timed::kInterval, 0.05);
  near(first_thread("nanosleep.u32 200000;\n"), 200000, 0.05);
}

TEST_CASE("timed: it takes at most twice as long as without time") {
  const std::string body =
      "mov.u32 %r0, 0;\nLOOP: add.u32 %r0, %r0, 1;\nmul.lo.u32 %r1, %r0, %t;\nxor.b32 %r2, %r1, %r0;\nsetp.lt.u32 "
      "%p0, %r0, 4000;\n@%p0 bra LOOP;\nst.global.u32 [%out], %r2;\n";
  const auto seconds = [&](const char* schedule) {
    TimedRunner r;
    if (schedule != std::string("timed")) r.machine.observers.remove(r.timing);
    const std::clock_t start = std::clock();  // of this process: others may use the machine
    r.run(body, {}, options(256, schedule));
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  double timed = 1e9, plain = 1e9;
  for (int i = 0; i < 5 || (i < 40 && timed >= 2 * plain);
       ++i) {  // in turns; their caches may be others', too
    timed = std::min(timed, seconds("timed"));
    plain = std::min(plain, seconds("in-order"));
  }
  CHECK(timed < 2 * plain);
}

TEST_CASE("timed: a record of the launch is in cycles, and in order") {
  emu::trace::Recorder recorder({});
  TimedRunner r;
  const emu_test::Watch watch(r.machine, &recorder);
  Options o = options(64);
  o.in_words = 16;
  o.declarations = checked::kShared;
  r.run(checked::kInit + checked::by_thread_0("A", checked::kExpect + checked::kCopy) +
            checked::wait("W", 0) + checked::kRead,
        std::vector<uint32_t>(64 * 16, 7), o);
  const emu::trace::Trace& trace = *recorder.trace();
  CHECK(std::string(trace.unit) == "cycle");
  uint64_t issued = 0, flipped = 0, last = 0;
  for (const emu::trace::Event& e : trace.events) {
    CHECK(e.time >= last);
    last = e.time;
    if (e.what == std::string("copy")) issued = e.time;
    if (e.what == std::string("flip")) flipped = e.time;
  }
  near(static_cast<double>(flipped - issued), emu::timed::kLatencyDram, 0.1);
  CHECK(trace.end >= last);
}

TEST_CASE("timed: a machine without a timekeeper refuses the schedule, and one that is misspelt is named") {
  emu_test::Runner r;
  CHECK(r.fault("exit;\n", {}, options(32)).id == emu::Id::bad_environment);
  for (const char* text : {"timed:", "timed:0", "timed:133", "timed:x", "timed2"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(emu::Schedule::from(text), emu::Fault);
  }
  CHECK(emu::Schedule::from("timed:12").text() == "timed:12");
}
