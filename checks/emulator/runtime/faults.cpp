// How a program ends when its kernels go wrong, when its device code cannot be run, and when the environment is bad.
// Each in a process of its own: a fault ends the device's work for good.
#include <doctest/doctest.h>

#include <thread>

#include "runtime_support.hpp"
#include "support/folder.hpp"

using namespace runtime_test;

namespace {

// What a program sees: launch, last error right after it, the call that waits, and a call after that.
struct Seen {
  cudaError_t launch, last, wait, after;
};

Seen run(const std::string& body, unsigned threads = 32) {
  Registered code(kernel_text("kernel", body));
  const void* kernel = code.kernel("kernel");
  void* out = nullptr;
  cudaMalloc(&out, 64);
  void* args[] = {&out};
  Seen s;
  s.launch = cudaLaunchKernel(kernel, 1, threads, args, 0, nullptr);
  s.last = cudaGetLastError();
  s.wait = cudaDeviceSynchronize();
  s.after = cudaMalloc(&out, 4);
  return s;
}

// The codes printed by a child that runs `body`, and how it ended.
Ended child(const std::string& body, int exit_status = 0) {
  return in_child([&] {
    Seen s = run(body);
    std::printf("%d %d %d %d\n", s.launch, s.last, s.wait, s.after);
    return exit_status;
  });
}

// This executable once more, with a variable set: to run a case that is skipped otherwise, or nothing.
Ended again(const char* name, const char* value, const char* test_case = nullptr) {
  return in_child([&] {
    setenv(name, value, 1);
    std::string filter = test_case ? "-tc=" + std::string(test_case) : "--count";
    execl("/proc/self/exe", "runtime_faults", filter.c_str(), "--no-skip", static_cast<char*>(nullptr));
    return 99;
  });
}

}  // namespace

TEST_CASE("a fault shows at the first call that waits, stays, and is reported once") {
  Ended e = child("st.global.u32 [%rd1+64], 1;");
  CHECK(e.output == "0 0 700 700\n");
  CHECK(count_of(e.errors, "out-of-bounds") == 1);
  CHECK(contains(e.errors, "cudaMalloc"));
}

TEST_CASE("a process in which an error was reported never ends with status 0") {
  CHECK(child("st.global.u32 [%rd1+64], 1;", 0).status == 1);
  CHECK(child("st.global.u32 [%rd1+64], 1;", 3).status == 3);
  CHECK(child("st.global.u32 [%rd1], 1;", 0).status == 0);
  CHECK(child("st.global.u32 [%rd1], 1;", 0).output == "0 0 0 0\n");
}

TEST_CASE("each kind of fault has the error code of the GPU") {
  CHECK(child("ld.global.u32 %r1, [%rd1+2];").output == "0 0 716 716\n");
  CHECK(child("trap;").output == "0 0 719 719\n");
  CHECK(child("mov.u64 %rd1, 0;\nst.u32 [%rd1], 1;").output == "0 0 700 700\n");
}

TEST_CASE("a kernel may read a __constant__ variable and not write it, the host may write it") {
  // What const_cast<int&>(limit) = 1 becomes, and an atomic.
  const std::string address = "mov.u64 %rd2, limit;\ncvta.const.u64 %rd2, %rd2;\n";
  auto constant = [&](const std::string& body) {
    return in_child([&] {
      Registered code(".const .align 4 .u32 limit = 7;\n.const .align 4 .b8 table[8];\n" +
                      kernel_text("kernel", body));
      const void* kernel = code.kernel("kernel");
      void *limit = code.variable("limit"), *out = nullptr, *address_of_limit = nullptr;
      int value = 9, read = 0;
      cudaMalloc(&out, 64);
      std::printf("%d ", cudaMemcpyToSymbol(limit, &value, 4, 0, cudaMemcpyHostToDevice));
      void* args[] = {&out};
      cudaLaunchKernel(kernel, 1, 1, args, 0, nullptr);
      std::printf("%d ", cudaDeviceSynchronize());
      cudaMemcpy(&read, out, 4, cudaMemcpyDeviceToHost);
      value = 11;
      cudaGetSymbolAddress(&address_of_limit, limit);
      std::printf("%d %d\n", cudaMemcpy(address_of_limit, &value, 4, cudaMemcpyHostToDevice), read);
      return 0;
    });
  };
  CHECK(constant("ld.const.u32 %r1, [limit];\nst.global.u32 [%rd1], %r1;").output == "0 0 0 9\n");
  CHECK(constant(address + "ld.u32 %r1, [%rd2];\nst.global.u32 [%rd1], %r1;").output == "0 0 0 9\n");
  for (const char* write : {"st.u32 [%rd2], 1;", "atom.add.u32 %r1, [%rd2], 1;", "red.add.u32 [%rd2], 1;"}) {
    CAPTURE(write);
    const Ended e = constant(address + write);
    CHECK(e.output == "0 700 700 0\n");
    CHECK(e.status == 1);
    CHECK(count_of(e.errors, "write-to-constant") == 1);
    CHECK(contains(e.errors, "limit"));
  }
}

TEST_CASE(
    "an error that does not stop the kernel is the only one: how the kernel ends afterwards is advice") {
  const std::string copy =
      ".shared .align 16 .b8 tile[64];\n.shared .align 8 .b64 bar;\nmbarrier.init.shared::cta.b64 [bar], 1;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 40;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 40, [bar];\n";
  Ended goes_on = in_child([&] { return run(copy, 1).wait == cudaSuccess ? 0 : 5; });
  CHECK(goes_on.status == 1);
  CHECK(contains(goes_on.errors, "copy-size"));
  Ended waits = in_child([&] {
    return run(copy + "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra W;", 1).wait ==
                   cudaErrorLaunchTimeout
               ? 0
               : 5;
  });
  CHECK(waits.status == 1);
  CHECK(contains(waits.errors, "after the error above, the kernel ended here"));
}

TEST_CASE("a failed call is no fault: status 0 remains 0") {
  Ended e = in_child([] {
    void* p = nullptr;
    return cudaMalloc(&p, size_t{1} << 59) == cudaErrorMemoryAllocation && cudaGetLastError() != cudaSuccess
               ? 0
               : 5;
  });
  CHECK(e.status == 0);
  CHECK(contains(e.errors, "more than this machine has left"));
}

TEST_CASE("loops and waits that never end are ended: the launch timed out") {
  Ended loop = in_child([] { return run("again:\nbra again;").wait == cudaErrorLaunchTimeout ? 0 : 5; });
  CHECK(loop.status == 1);
  CHECK(contains(loop.errors, "endless-loop"));
}

TEST_CASE("a kernel that waits for the host, which waits for it: told at the call that waits") {
  const std::string poll =
      "again:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;\n";
  enum class Sets { nobody, host, another_thread };
  const auto waits = [&](Sets sets) {
    return in_child([&] {
      Registered code(kernel_text("kernel", poll + "st.global.u32 [%rd1+4], 7;"));
      const void* kernel = code.kernel("kernel");
      volatile int* words = nullptr;
      cudaMallocHost(reinterpret_cast<void**>(const_cast<int**>(&words)), 8);
      words[0] = words[1] = 0;
      void* args[] = {&words};
      const int launch = cudaLaunchKernel(kernel, 1, 1, args, 0, nullptr);
      const int last = cudaGetLastError();
      if (sets == Sets::host) words[0] = 1;
      std::thread other;
      if (sets == Sets::another_thread) other = std::thread([&] { usleep(200'000), words[0] = 1; });
      const int wait = cudaDeviceSynchronize();
      if (other.joinable()) other.join();
      std::printf("%d %d %d, %d\n", launch, last, wait, words[1]);
      return 0;
    });
  };
  CHECK(waits(Sets::host).output == "0 0 0, 7\n");
  CHECK(waits(Sets::another_thread).output == "0 0 0, 7\n");
  const Ended never = waits(Sets::nobody);
  CHECK(never.output == "0 0 702, 0\n");
  CHECK(contains(never.errors, "endless-loop"));
  CHECK(never.status == 1);
}

TEST_CASE(
    "a kernel that waits for the host, which waits for the kernel in a loop of its own: a note says so") {
  const Ended e = in_child([] {
    Registered code(kernel_text(
        "kernel", "again:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;"));
    const void* kernel = code.kernel("kernel");
    volatile int* word = nullptr;
    cudaMallocHost(reinterpret_cast<void**>(const_cast<int**>(&word)), 4);
    *word = 0;
    void* args[] = {&word};
    cudaLaunchKernel(kernel, 1, 1, args, 0, nullptr);
    for (int i = 0; i < 600 && lseek(2, 0, SEEK_END) == 0; ++i) usleep(100'000);  // until something is said
    *word = 1;
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 5;
  });
  CHECK(e.status == 0);
  CHECK(contains(e.errors, "note: kernel kernel waits, and only the host"));
  CHECK(contains(e.errors, "cudaMallocHost"));
  CHECK(contains(e.errors, "holds 0; 1 CTA waits"));
}

TEST_CASE("an instruction that is not supported: its kernel is refused, in a lesson the whole program") {
  const auto program = [](emu::Strictness strictness) {
    return in_child([&] {
      emu::Report::instance().strictness = strictness;
      Registered code(kernel_text("good", "st.global.u32 [%rd1], 1;") +
                      kernel_text("bad", "nonsense.u32 %r1, %r2;"));
      const void *good = code.kernel("good"), *bad = code.kernel("bad");
      void* out = nullptr;
      int a = cudaMalloc(&out, 64);
      void* args[] = {&out};
      int b = cudaLaunchKernel(good, 1, 1, args, 0, nullptr), c = cudaDeviceSynchronize();
      cudaFuncAttributes attributes;
      int d = cudaFuncGetAttributes(&attributes, bad), e = cudaLaunchKernel(bad, 1, 1, args, 0, nullptr);
      std::printf("%d %d %d %d %d %d\n", a, b, c, d, e, cudaDeviceSynchronize());
      return 0;
    });
  };
  const Ended ordinary = program(emu::Strictness::ordinary), lesson = program(emu::Strictness::lesson);
  CHECK(ordinary.output == "0 0 0 218 218 218\n");
  CHECK(lesson.output == "218 218 218 218 218 218\n");
  for (const Ended& e : {ordinary, lesson}) {
    CHECK(contains(e.errors, "nonsense.u32 %r1, %r2;"));
    CHECK(contains(e.errors, "PTX line"));
    CHECK(e.status == 1);
  }
}

TEST_CASE("a program that only asks for the device needs no device code that works") {
  Ended e = in_child([] {
    Registered code("this is no PTX");
    int count = 0;
    cudaDeviceProp properties;
    return cudaGetDeviceCount(&count) == cudaSuccess && cudaGetDeviceProperties(&properties, 0) == cudaSuccess
               ? 0
               : 5;
  });
  CHECK(e.status == 0);
  CHECK(e.errors == "");
}

TEST_CASE("device code without usable PTX: the message says how to compile") {
  auto first_call = [](const Bytes& bytes) {
    return in_child([&] {
      Registered code(bytes);
      void* p = nullptr;
      std::printf("%d", cudaMalloc(&p, 4));
      return 0;
    });
  };
  Ended none = first_call(container({cubin_entry(90)}));
  CHECK(none.output == "209");
  CHECK(none.status == 1);
  CHECK(contains(none.errors, "-gencode arch=compute_90a,code=[compute_90a,sm_90a]"));
  Bytes broken = container({ptx_entry(90, 0, ".version 8.6")});
  broken[0] ^= 1;
  CHECK(contains(first_call(broken).errors, "the fat binary is damaged"));
  Ended text = first_call(container({ptx_entry(90, 0, ".version 8.6\n.target sm_90a\n.entry {")}));
  CHECK(text.output == "218");
  CHECK(contains(text.errors, "ptx-syntax"));
}

TEST_CASE("EMU_JSON gets the findings and the statistics at the end of the process") {
  const check::Folder folder;
  const std::string report = folder / "report.json";
  Ended e =
      again("EMU_JSON", report.c_str(), "(child) a program that writes past its memory and ends with 0");
  CHECK(e.status == 1);
  std::string json = check::read_file(report);
  CHECK(contains(json, "{\"findings\":[{\"id\":\"out-of-bounds\""));
  CHECK(contains(json, "\"stats\":{\"launches\":1,"));
}

TEST_CASE("(child) a program that writes past its memory and ends with 0" * doctest::skip()) {
  CHECK(run("st.global.u32 [%rd1+64], 1;").wait == cudaErrorIllegalAddress);
}

TEST_CASE("a report that cannot be written ends the process with status 1") {
  Ended e = again("EMU_JSON", "/dev/full");
  CHECK(e.status == 1);
  CHECK(contains(e.errors, "cannot write the report to EMU_JSON=/dev/full"));
}

TEST_CASE("EMU_PTX runs other device code for the kernels of a program, and refuses what lacks one") {
  const char* const kProgram = "(child) a program whose kernel stores what a variable of the file holds";
  const auto with = [&](const std::string& text) {
    const check::Folder folder;
    const std::string file = folder / "other.ptx";
    std::ofstream(file) << ".version 8.6\n.target sm_90a\n.address_size 64\n" << text;
    return again("EMU_PTX", file.c_str(), kProgram);
  };
  // nvcc names a file's own variables after its path: here the length of the prefix differs as well.
  const std::string variable = ".global .align 4 .u32 _ZN26_INTERNAL_0123_4_b_cu_long5valueE = 5;\n";
  const std::string body =
      "ld.global.u32 %r1, [_ZN26_INTERNAL_0123_4_b_cu_long5valueE];\nst.global.u32 [%rd1], %r1;";
  const std::string second = kernel_text("second", "");
  CHECK(contains(again("EMU_SCHEDULE", "late", kProgram).output, "stored 1"));
  const Ended other = with(variable + kernel_text("kernel", body) + second);
  CHECK(other.status == 0);
  CHECK(contains(other.output, "stored 5"));
  const Ended lacks = with(variable + kernel_text("kernel", body));
  CHECK(lacks.status == 1);
  CHECK(contains(lacks.errors, "ptx-file"));
  CHECK(contains(lacks.errors, "has no kernel second"));
  CHECK(contains(with(kernel_text("another", "")).errors, "has none of the kernels"));
  CHECK(contains(again("EMU_PTX", "/no/such/file").errors, "bad environment: EMU_PTX=/no/such/file"));
}

TEST_CASE("(child) a program whose kernel stores what a variable of the file holds" * doctest::skip()) {
  Registered code(
      ".global .align 4 .u32 _ZN19_INTERNAL_45_4_a_cu5valueE = 1;\n" +
      kernel_text("kernel",
                  "ld.global.u32 %r1, [_ZN19_INTERNAL_45_4_a_cu5valueE];\nst.global.u32 [%rd1], %r1;") +
      kernel_text("second", ""));
  const void* kernel = code.kernel("kernel");
  code.kernel("second");
  void* value = code.variable("_ZN19_INTERNAL_45_4_a_cu5valueE");
  void *out = nullptr, *args[] = {&out};
  int stored = 0, read = 0;
  cudaMalloc(&out, 64);
  cudaLaunchKernel(kernel, 1, 1, args, 0, nullptr);
  cudaMemcpy(&stored, out, 4, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&read, value, 4, 0, cudaMemcpyDeviceToHost);
  CHECK(read == stored);
  std::printf("stored %d\n", stored);
}

TEST_CASE("EMU_TIME_LIMIT ends a kernel that goes on changing memory for ever") {
  Ended e = again("EMU_TIME_LIMIT", "0.5", "(child) a program that counts for ever");
  CHECK(e.status == 1);
  CHECK(contains(e.errors, "time-limit"));
  CHECK(contains(e.output, "1 passed"));
}

TEST_CASE("(child) a program that counts for ever" * doctest::skip()) {
  CHECK(
      run("again:\nld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\nbra again;")
          .wait == cudaErrorLaunchTimeout);
}

TEST_CASE("bad values in the environment end the process before main, with status 2") {
  struct Setting {
    const char *name, *value;
  };
  for (const Setting& bad : {Setting{"EMU_SCHEDULE", "sideways"},
                             {"EMU_SCHEDULE", "random:"},
                             {"EMU_TIME_LIMIT", "soon"},
                             {"EMU_TIME_LIMIT", "-1"},
                             {"EMU_TIME_LIMIT", "0"},
                             {"EMU_TIME_LIMIT", "nan"},
                             {"EMU_WINDOW", "some"},
                             {"EMU_MHZ", "1981"},
                             {"EMU_MHZ", "1400x"},
                             {"EMU_REGISTERS", "/dev/null"},
                             {"EMU_REGISTERS", "/no/such/file"},
                             {"EMU_CHECK", "maybe"},
                             {"EMU_JSON", "/no/such/folder/report.json"},
                             {"EMU_JSON", ""}}) {
    CAPTURE(bad.name);
    CAPTURE(bad.value);
    Ended e = again(bad.name, bad.value);
    CHECK(e.status == 2);
    CHECK(contains(e.errors, std::string("bad environment: ") + bad.name + "=" + bad.value));
  }
  for (const Setting& good : {Setting{"EMU_SCHEDULE", "in-order"},
                              {"EMU_SCHEDULE", "late"},
                              {"EMU_SCHEDULE", "random:7"},
                              {"EMU_TIME_LIMIT", "0.5"},
                              {"EMU_WINDOW", "first"},
                              {"EMU_MHZ", "1320"},
                              {"EMU_CHECK", "off"}}) {
    CAPTURE(good.value);
    CHECK(again(good.name, good.value).status == 0);
  }
}
