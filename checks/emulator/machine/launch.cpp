// Which CTAs run together, and what ends a launch.
#include "support.hpp"

using namespace emu_test;

TEST_CASE("CTAs that wait for one another all become resident") {
  Runner r;
  Options o;
  o.ctas = 4;
  o.out_words = 1;
  o.declarations = ".global .align 4 .u32 arrived;\n";
  // Every CTA adds 1 and spins until all have.
  auto out = r.run(
      "mov.u64 %rd1, arrived;\natom.global.add.u32 %r1, [%rd1], 1;\nSPIN: ld.volatile.global.u32 %r2, "
      "[%rd1];\n"
      "setp.lt.u32 %p1, %r2, 4;\n@%p1 bra SPIN;\nst.global.u32 [%out], %r2;",
      {}, o);
  for (uint32_t v : out) CHECK(v == 4);
}

namespace {
// Warp 0 polls a flag that warp 1 sets after it has changed memory 20,000 times, or never.
std::string poll(bool set) {
  return std::string(
             "mov.u64 %rd1, flag;\nsetp.ge.u32 %p1, %t, 32;\n@%p1 bra WORK;\n"
             "POLL: ld.acquire.gpu.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra POLL;\nbra END;\n"
             "WORK: mov.u32 %r2, 0;\n"
             "LOOP: st.global.u32 [%out], %r2;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 20000;\n@%p2 bra LOOP;\n") +
         (set ? "st.release.gpu.global.u32 [%rd1], 1;\n" : "") + "END: st.global.u32 [%out], 1;";
}
}  // namespace

TEST_CASE("polling: who polls costs next to nothing while others work, and goes on when the flag is set") {
  Options o;
  o.threads = 64;
  o.out_words = 1;
  o.declarations = ".global .u32 flag;\n";
  for (const char* schedule : {"in-order", "late", "random:1", "random:2"}) {
    o.schedule = schedule;
    Runner r;
    CAPTURE(schedule);
    CHECK(r.run(poll(true), {}, o) == std::vector<uint32_t>(64, 1));
    CHECK(r.machine.instructions < 150'000);  // of them 80,000 work
  }
}

TEST_CASE("polling: a flag that nobody will set is found by what the threads do, whatever the time limit") {
  Options o;
  o.threads = 64;
  o.out_words = 1;
  o.declarations = ".global .u32 flag;\n";
  for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3"}) {
    o.schedule = schedule;
    Runner r;
    r.machine.time_limit_s = 1e9;
    CAPTURE(schedule);
    CHECK(r.fault(poll(false), {}, o).id == "endless-loop");
    CHECK(r.machine.instructions < 300'000);
  }
}

TEST_CASE("polling: a loop that counts its turns is found, too; one that is left after so many is not") {
  const auto counting = [](const std::string& more) {
    return "mov.u64 %rd1, flag;\nmov.u32 %r2, 0;\n"
           "AGAIN: add.u32 %r2, %r2, 1;\nld.volatile.global.u32 %r1, [%rd1];\n" +
           more + "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra AGAIN;\nOUT: st.global.u32 [%out], %r2;";
  };
  Options o;
  o.out_words = 1;
  o.declarations = ".global .u32 flag;\n";
  for (const char* schedule : {"in-order", "late", "random:1", "random:2", "random:3"}) {
    o.schedule = schedule;
    CAPTURE(schedule);
    Runner endless;
    endless.machine.time_limit_s = 1e9;
    CHECK(endless.fault(counting(""), {}, o).id == "endless-loop");
    Runner clock;
    clock.machine.time_limit_s = 1e9;
    CHECK(clock.fault(counting("mov.u64 %rd3, %clock64;\n"), {}, o).id == "endless-loop");
    Runner bounded;
    CHECK(bounded.run(counting("setp.gt.u32 %p2, %r2, 600000;\n@%p2 bra OUT;\n"), {}, o)[0] == 600001);
  }
}

TEST_CASE("the time limit counts processor time, and says that it is the last resort") {
  Runner r;
  r.machine.time_limit_s = 0.1;
  const auto f =
      r.fault("mov.u64 %rd1, 1;\nLOOP: add.u64 %rd1, %rd1, 2;\nsetp.ne.u64 %p1, %rd1, 0;\n@%p1 bra LOOP;");
  CHECK(f.id == "time-limit");
  CHECK(f.title.find("processor time") != std::string::npos);
  CHECK(f.why.find("last resort") != std::string::npos);
}
