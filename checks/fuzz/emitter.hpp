// The parts of emit(): a text that grows line by line, with at most one mistake in it.
#pragma once

#include <string>

#include "mutate.hpp"
#include "pipeline.hpp"

namespace fuzz {

class Emitter {
 public:
  Emitter(const Pipeline& pipeline, const Mutation& mutation) : p(pipeline), m(mutation) {}
  std::string kernel();

 private:
  const Pipeline& p;
  const Mutation& m;
  std::string text_;
  int labels_ = 0;

  __attribute__((format(printf, 2, 3))) void line(const char* format, ...);
  std::string label() { return "L" + std::to_string(labels_++); }
  bool is(Change c) const { return c != Change::none && m.change == c; }

  // The body, unless the mistake is to leave it out (always, or in one round).
  template <class Body>
  void unless(Change c, const char* round, Body body) {
    if (is(c) && m.round < 0) return;
    if (!is(c)) return body();
    const std::string end = label();
    line("setp.eq.u32 %%skip, %s, %d;\n@%%skip bra %s;", round, m.round, end.c_str());
    body();
    line("%s:", end.c_str());
  }
  template <class Body>
  void only_if(const char* predicate, Body body) {  // "%p" or "!%p"
    const std::string end = label();
    line("@%s bra %s;", predicate[0] == '!' ? predicate + 1 : (std::string("!") + predicate).c_str(),
         end.c_str());
    body();
    line("%s:", end.c_str());
  }
  // for (counter = first; counter < last; counter += step)
  template <class Body>
  void loop(const char* counter, const std::string& first, const std::string& last, const std::string& step,
            Body body) {
    const std::string top = label(), end = label();
    line("mov.u32 %s, %s;\n%s: setp.ge.u32 %%done, %s, %s;\n@%%done bra %s;", counter, first.c_str(),
         top.c_str(), counter, last.c_str(), end.c_str());
    body();
    line("add.u32 %s, %s, %s;\nbra %s;\n%s:", counter, counter, step.c_str(), top.c_str(), end.c_str());
  }

  void declarations();
  void start();
  void producer();
  void consumer();
  void everybody();
  void finish();

  void locate(const char* round);
  void wait(const char* barrier, const char* parity, Change once, Change relaxed);
  void fill(const char* round);
  void copy_box(const std::string& box);
  void engine_fill(const char* round);
  void thread_fill(const char* round);
  void signal(const char* round);
  void fill_fence(const char* round);
  void wait_groups(unsigned left, const char* round);
  void full_wait(const char* round);
  void empty_wait(const char* round);
  void arrive_empty(const char* round);
  void release(const char* round);
  void consume(const char* round);
  void use_tile(const char* round);
  void store_tile(const char* round);
  void start_use();
  void multiply(const char* round);
  void place(emu::Swizzle pattern, unsigned pitch, bool relative, const char* base, unsigned box_stride,
             unsigned unit);
  void access(const char* instruction, const char* address, unsigned unit);
  void consumer_barrier(bool counted = false);
};

}  // namespace fuzz
