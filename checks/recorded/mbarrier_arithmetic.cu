// What an mbarrier answers after sequences of operations by one thread: parity and state forms, negative tx-counts,
// drops, pending counts. Every question is a single test_wait, which never blocks.
#include "record.cuh"

using namespace record;

namespace {

// The operations on one barrier, each the instruction of its name.
struct Bar {
  uint64_t* object;
  __device__ uint32_t at() const { return ptx::smem_addr(object); }
  __device__ void init(uint32_t count) const { ptx::mbarrier_init(object, count); }
  __device__ void inval() const {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at()) : "memory");
  }
  __device__ uint64_t arrive(uint32_t count = 1) const {
    uint64_t state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "r"(at()), "r"(count)
                 : "memory");
    return state;
  }
  __device__ uint64_t arrive_no_complete(uint32_t count) const {
    uint64_t state;
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "r"(at()), "r"(count)
                 : "memory");
    return state;
  }
  __device__ uint64_t arrive_drop() const {
    uint64_t state;
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at()) : "memory");
    return state;
  }
  __device__ uint64_t arrive_drop_no_complete(uint32_t count) const {
    uint64_t state;
    asm volatile("mbarrier.arrive_drop.noComplete.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "r"(at()), "r"(count)
                 : "memory");
    return state;
  }
  __device__ void arrive_drop_expect_tx(uint32_t bytes) const {
    asm volatile("mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at()), "r"(bytes)
                 : "memory");
  }
  __device__ void arrive_expect_tx(uint32_t bytes) const { ptx::mbarrier_arrive_expect_tx(object, bytes); }
  __device__ void expect_tx(uint32_t bytes) const {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at()), "r"(bytes)
                 : "memory");
  }
  __device__ void complete_tx(uint32_t bytes) const {
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at()), "r"(bytes)
                 : "memory");
  }
  __device__ uint32_t parity(uint32_t p) const { return phase_done(at(), p); }
  // Both answers: 1 = parity 0 is done, 2 = parity 1 is done.
  __device__ uint32_t done() const { return parity(0) + 2 * parity(1); }
  __device__ uint32_t test(uint64_t state) const {
    uint32_t done;
    asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(at()), "l"(state)
                 : "memory");
    return done;
  }
  __device__ uint32_t try_parity(uint32_t p, uint32_t nanoseconds) const {
    uint32_t done;
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3;\nselp.u32 %0, 1, 0, "
        "p;\n}"
        : "=r"(done)
        : "r"(at()), "r"(p), "r"(nanoseconds)
        : "memory");
    return done;
  }
};

__device__ uint32_t pending_count(uint64_t state) {
  uint32_t count;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  return count;
}

struct Answers {
  uint32_t* out;
  int n = 0;
  __device__ void add(uint32_t value) { out[n++] = value; }
};

}  // namespace

constexpr int kAnswers = 12;
constexpr uint32_t kNone = 0xFFFFFFFFu;

#define SCENARIOS(X)                                                                                         \
  X(fresh, "fresh, count 1", b.init(1); a.add(b.done());)                                                    \
  X(one_phase, "count 2: after each of 2 arrivals", b.init(2); b.arrive(); a.add(b.done()); b.arrive();      \
    a.add(b.done());)                                                                                        \
  X(                                                                                                         \
      two_phases, "count 1: after each of 3 arrivals", b.init(1); for (int i = 0; i < 3; ++i) {              \
        b.arrive();                                                                                          \
        a.add(b.done());                                                                                     \
      })                                                                                                     \
  X(count_n, "count 5: arrive 3, arrive 2", b.init(5); b.arrive(3); a.add(b.done()); b.arrive(2);            \
    a.add(b.done());)                                                                                        \
  X(states, "count 2: the state of each arrive, tested after each", b.init(2); uint64_t s = b.arrive();      \
    a.add(b.test(s)); uint64_t t = b.arrive(); a.add(b.test(s)); a.add(b.test(t));)                          \
  X(next_state, "count 1: a state of the next phase, before and after", b.init(1); b.arrive(); b.done();     \
    uint64_t s = b.arrive(); a.add(b.test(s));)                                                              \
  X(no_complete, "count 9: pending counts of noComplete arrivals of 2, 3, 1", b.init(9);                     \
    a.add(pending_count(b.arrive_no_complete(2))); a.add(pending_count(b.arrive_no_complete(3)));            \
    a.add(pending_count(b.arrive_no_complete(1))); b.arrive(3); a.add(b.done());                             \
    a.add(pending_count(b.arrive_no_complete(4)));)                                                          \
  X(bytes_last, "count 1: arrive.expect_tx 64, complete 32, complete 32", b.init(1); b.arrive_expect_tx(64); \
    a.add(b.done()); b.complete_tx(32); a.add(b.done()); b.complete_tx(32); a.add(b.done());)                \
  X(arrival_last, "count 1: expect 64, complete 64, arrive", b.init(1); b.expect_tx(64); a.add(b.done());    \
    b.complete_tx(64); a.add(b.done()); b.arrive(); a.add(b.done());)                                        \
  X(negative, "count 1: complete 64 first, then arrive.expect_tx 64", b.init(1); b.complete_tx(64);          \
    a.add(b.done()); b.arrive_expect_tx(64); a.add(b.done());)                                               \
  X(negative_split, "count 2: complete 64, arrive, expect 48, expect 16, arrive", b.init(2);                 \
    b.complete_tx(64); b.arrive(); b.expect_tx(48); a.add(b.done()); b.expect_tx(16); a.add(b.done());       \
    b.arrive(); a.add(b.done());)                                                                            \
  X(lifted, "count 1: complete 64, arrive, expect 64 lifts the tx-count to zero with nothing pending",       \
    b.init(1);                                                                                               \
    b.complete_tx(64); b.arrive(); a.add(b.done()); b.expect_tx(64); a.add(b.done());)                       \
  X(zero_bytes, "count 1: arrive.expect_tx 0", b.init(1); b.arrive_expect_tx(0); a.add(b.done());)           \
  X(zero_complete, "count 1: complete 0, arrive", b.init(1); b.complete_tx(0); a.add(b.done()); b.arrive();  \
    a.add(b.done());)                                                                                        \
  X(large, "count 1: arrive.expect_tx 1048575, complete 1048575", b.init(1); b.arrive_expect_tx(1048575);    \
    a.add(b.done()); b.complete_tx(1048575); a.add(b.done());)                                               \
  X(large_negative, "count 1: complete 1048575, arrive.expect_tx 1048575", b.init(1);                        \
    b.complete_tx(1048575); a.add(b.done()); b.arrive_expect_tx(1048575); a.add(b.done());)                  \
  X(expect_twice, "count 2: arrive.expect_tx 32 twice, complete 64", b.init(2); b.arrive_expect_tx(32);      \
    b.arrive_expect_tx(32); a.add(b.done()); b.complete_tx(64); a.add(b.done());)                            \
  X(next_phase_bytes, "count 1: a phase of bytes, then one without", b.init(1); b.arrive_expect_tx(16);      \
    b.complete_tx(16); a.add(b.done()); b.arrive(); a.add(b.done());)                                        \
  X(drop, "count 3: drop, arrive 2, then two arrivals of the next phase", b.init(3); b.arrive_drop();        \
    a.add(b.done()); b.arrive(2); a.add(b.done()); b.arrive(); a.add(b.done()); b.arrive();                  \
    a.add(b.done());)                                                                                        \
  X(drop_last, "count 2: arrive, drop completes; the next phase needs one", b.init(2); b.arrive();           \
    b.arrive_drop(); a.add(b.done()); b.arrive(); a.add(b.done());)                                          \
  X(drop_bytes, "count 2: arrive_drop.expect_tx 16, arrive, complete 16, arrive", b.init(2);                 \
    b.arrive_drop_expect_tx(16); b.arrive(); a.add(b.done()); b.complete_tx(16); a.add(b.done());            \
    b.arrive(); a.add(b.done());)                                                                            \
  X(drop_no_complete, "count 6: pending count of arrive_drop.noComplete 2; arrive 4; next phase arrive 4",   \
    b.init(6);                                                                                               \
    a.add(pending_count(b.arrive_drop_no_complete(2))); b.arrive(4); a.add(b.done()); b.arrive(3);           \
    a.add(b.done()); b.arrive(); a.add(b.done());)                                                           \
  X(again, "count 1: arrive, inval, init 2, arrive, arrive", b.init(1); b.arrive(); b.inval(); b.init(2);    \
    a.add(b.done()); b.arrive(); a.add(b.done()); b.arrive(); a.add(b.done());)                              \
  X(try_hint, "count 1: try_wait with a hint of 1000 ns before and after the arrival", b.init(1);            \
    a.add(b.try_parity(0, 1000)); a.add(b.try_parity(1, 1000)); b.arrive(); a.add(b.try_parity(0, 1000));)   \
  X(most, "count 1048575: arrive 1048574, arrive", b.init(1048575); b.arrive(1048574); a.add(b.done());      \
    b.arrive(); a.add(b.done());)

enum Scenario {
#define NAME(name, text, ...) k_##name,
  SCENARIOS(NAME)
#undef NAME
};

__global__ void ask(int scenario, uint32_t* out) {
  __shared__ uint64_t object;
  Bar b{&object};
  Answers a{out};
  switch (scenario) {
#define CASE(name, text, ...) \
  case k_##name: {            \
    __VA_ARGS__               \
    break;                    \
  }
    SCENARIOS(CASE)
#undef CASE
  }
}

int main() {
  static const char* const kTexts[] = {
#define TEXT(name, text, ...) text,
      SCENARIOS(TEXT)
#undef TEXT
  };
  std::printf("each answer to a phase question: 1 = parity 0 done, 2 = parity 1 done\n");
  for (int i = 0; i < static_cast<int>(sizeof kTexts / sizeof kTexts[0]); ++i) {
    Buffer<uint32_t> out(std::vector<uint32_t>(kAnswers, kNone));
    ask<<<1, 1>>>(i, out.get());
    finish_kernel(kTexts[i]);
    std::printf("%s:", kTexts[i]);
    for (uint32_t v : out.download())
      if (v != kNone) std::printf(" %u", v);
    std::printf("\n");
  }
}
