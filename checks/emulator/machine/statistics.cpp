// The counters of EMU_JSON: instructions by class.
#include "support.hpp"

using namespace emu_test;

namespace {

struct Added {
  const char* text;
  const char* kind;
  uint64_t lanes;  // of 64 threads, that execute it
};

emu::Stats count(const std::string& body) {
  Options o;
  o.threads = 64;
  Runner r;
  r.run("setp.lt.u32 %p0, %t, 3;\n" + body, {}, o);
  return r.statistics.stats();
}

}  // namespace

TEST_CASE("statistics: an instruction counts once for each lane that executes it, under its class") {
  const emu::Stats without = count("");
  const Added rows[] = {
      {"st.global.u32 [%out], %t;", "memory", 64},
      {"add.u32 %r0, %t, 1;", "address", 64},
      {"@%p0 add.u32 %r0, %t, 1;", "address", 3},
      {"bar.sync 0;", "barrier", 64},
      {"add.f32 %f0, 0f3F800000, 0f3F800000;", "math", 64},
      {"setp.gt.u32 %p1, %t, 5;", "control", 64},
      {"@!%p0 bra END; mov.u32 %r0, %t; END:", "control", 61},
      {"cp.async.bulk.commit_group;", "copy", 64},
  };
  for (const Added& row : rows) {
    CAPTURE(row.text);
    const emu::Stats with = count(row.text);
    uint64_t all = 0;
    for (int i = 0; i < emu::kClasses; ++i) {
      CAPTURE(emu::kClassNames[i]);
      const uint64_t more = with.thread_instructions_of[i] - without.thread_instructions_of[i];
      if (std::string(emu::kClassNames[i]) == row.kind) CHECK(more == row.lanes);
      all += with.thread_instructions_of[i];
    }
    CHECK(all == with.thread_instructions);
  }
}

TEST_CASE("statistics: the JSON names every class") {
  const std::string json = count("bar.sync 0;").json();
  for (const char* name : emu::kClassNames) {
    CAPTURE(name);
    CHECK(json.find("\"thread_instructions." + std::string(name) + "\":") != std::string::npos);
  }
}
