// Observers are a list: any number of them sees the same events, in the order in which they were added.
#include "support.hpp"

using namespace emu_test;

namespace {

// Writes down the events that nothing but a timeline needs.
struct Diary : emu::Observer {
  std::string name, *text;
  Diary(std::string n, std::string* t) : name(std::move(n)), text(t) {}
  void say(const std::string& what) { *text += name + what + " "; }

  void on_launch(emu::Machine&, const emu::Program&, const emu::LaunchConfig&) override { say("launch"); }
  void on_wait(emu::Warp& w, const emu::Group&) override { say("wait" + std::to_string(w.index)); }
  void on_wait_end(emu::Warp& w, const emu::Group&) override { say("go" + std::to_string(w.index)); }
  void on_mbarrier_phase(emu::Warp&, const emu::Inst&, emu::Mbarrier& bar) override {
    say("phase" + std::to_string(bar.phase));
  }
};

struct Instructions : emu::Observer {
  int warp;  // the one that is watched
  uint64_t seen = 0;
  explicit Instructions(int w) : warp(w) {}
  void on_cta_start(emu::Cta& cta) override { cta.warps[static_cast<size_t>(warp)]->watchers.add(*this); }
  void on_instruction(emu::Warp& w, const emu::Inst&) override {
    CHECK(w.index == warp);
    ++seen;
  }
};

std::string diary(const std::string& body, unsigned threads, const std::string& declarations = "") {
  std::string text;
  Diary first("a:", &text), second("b:", &text);
  Runner r;
  r.machine.observers.add(first);
  r.machine.observers.add(second);
  r.machine.observers.add(first);  // still told once
  r.machine.observers.remove(second);
  Options o;
  o.threads = threads;
  o.declarations = declarations;
  o.observer = &second;
  r.run(body, {}, o);
  return text;
}

}  // namespace

TEST_CASE("observers: each of them is told, in the order in which they were added") {
  CHECK(diary("", 1) == "a:launch b:launch ");
}

TEST_CASE("observers: a wait is told when it begins and when it ends") {
  CHECK(diary("bar.sync 0;", 64) ==
        "a:launch b:launch a:wait0 b:wait0 a:wait1 b:wait1 a:go0 b:go0 a:go1 b:go1 ");
}

TEST_CASE("observers: the operation that completes a phase of an mbarrier tells so") {
  const std::string bar = ".shared .align 8 .b64 bar;\n";
  const std::string init = "mov.u32 %r1, bar;\nmbarrier.init.shared::cta.b64 [%r1], 2;\n";
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [%r1];\n";
  CHECK(diary(init + arrive, 1, bar) == "a:launch b:launch ");
  CHECK(diary(init + arrive + arrive, 1, bar) == "a:launch b:launch a:phase1 b:phase1 ");
}

TEST_CASE("observers: an observer sees the instructions of the warps that it asked for, and no others") {
  Instructions first(0), second(1);
  Runner r;
  r.machine.observers.add(first);
  Options o;
  o.threads = 64;
  o.observer = &second;
  r.run("setp.lt.u32 %p0, %t, 32;\n@%p0 bra END;\nadd.u32 %r0, %t, 1;\nadd.u32 %r0, %t, 2;\nEND:\n", {}, o);
  CHECK(first.seen > 0);
  CHECK(second.seen == first.seen + 1);  // the branch is not executed, and both sums are
  CHECK(first.seen + second.seen == r.machine.instructions - 1);
}
