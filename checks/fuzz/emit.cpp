// A pipeline as PTX text, with at most one mistake in it. Read kernel() at the end first.
#include "emit.hpp"

#include <cstdarg>
#include <cstdio>

namespace fuzz {
namespace {

using emu::Swizzle;

class Emitter {
 public:
  Emitter(const Pipeline& pipeline, const Mutation& mutation) : p(pipeline), m(mutation) {}
  std::string kernel();

 private:
  const Pipeline& p;
  const Mutation& m;
  std::string text_;
  int labels_ = 0;

  __attribute__((format(printf, 2, 3))) void line(const char* format, ...) {
    char buffer[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    text_ += buffer;
    text_ += '\n';
  }
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
  void wait_groups(unsigned left, const char* round);
  void full_wait(const char* round);
  void empty_wait(const char* round);
  void arrive_empty(const char* round);
  void release(const char* round);
  void consume(const char* round);
  void use_tile(const char* round);
  void store_tile(const char* round);
  void place(Swizzle pattern, unsigned pitch, bool relative, const char* base, unsigned box_stride,
             unsigned unit);
  void access(const char* instruction, const char* address, unsigned unit);
  void consumer_barrier(bool counted = false);
};

void Emitter::declarations() {
  line(".version 8.6\n.target sm_90a\n.address_size 64");
  line(".shared .align 1024 .b8 tiles[%u];", p.stages * p.stage_stride() + 128);
  if (p.consume == Consume::staged)
    line(".shared .align 1024 .b8 staged[%u];", p.buffers * p.boxes * p.out_box_stride());
  if (p.full == Link::mbarrier) line(".shared .align 8 .b64 full_bar[%u];", p.stages);
  if (p.empty == Link::mbarrier) line(".shared .align 8 .b64 empty_bar[%u];", p.stages);
  line(
      ".visible .entry pipeline(.param .u64 out_pointer, .param .u64 in_pointer, .param .align 64 .b8 "
      "in_map[128], "
      ".param .align 64 .b8 out_map[128]) {");
  line(".reg .pred %%skip, %%done, %%ok, %%one, %%leader, %%is_producer, %%some, %%again;");
  line(".reg .b16 %%mask;\n.reg .b64 %%out, %%in, %%in_tensor, %%out_tensor, %%g, %%step, %%d0, %%d1;");
  line(
      ".reg .b32 %%thread, %%warp, %%lane, %%cta, %%tiles, %%round, %%fill, %%last, %%stage, %%use, "
      "%%parity, %%other,"
      " %%full, %%empty, %%tile, %%box, %%t, %%c0, %%c1, %%c2, %%bytes, %%u, %%unit, %%at, %%row, %%a, %%b, "
      "%%x,"
      " %%filler, %%user, %%acc, %%remote, %%peer, %%id, %%buffer, %%v0, %%v1, %%v2, %%v3;");
}

// Barriers are initialised by thread 0 and shown to everybody.
void Emitter::start() {
  line(
      "mov.u32 %%thread, %%tid.x;\nshr.u32 %%warp, %%thread, 5;\nand.b32 %%lane, %%thread, 31;\nmov.u32 "
      "%%cta, %%ctaid.x;");
  line("ld.param.u64 %%out, [out_pointer];\nld.param.u64 %%in, [in_pointer];");
  line("mov.b64 %%in_tensor, in_map;\ncvta.param.u64 %%in_tensor, %%in_tensor;");
  line("mov.b64 %%out_tensor, out_map;\ncvta.param.u64 %%out_tensor, %%out_tensor;");
  line("mov.u32 %%tiles, tiles;\nmov.u32 %%acc, 0;\nxor.b32 %%peer, %%cta, 1;");
  if (is(Change::tile_shifted)) line("add.u32 %%tiles, %%tiles, %u;", misplacement(p));
  const bool any = p.full == Link::mbarrier || p.empty == Link::mbarrier;
  if (any && !is(Change::no_barrier_init)) {
    line("setp.eq.u32 %%one, %%thread, 0;");
    only_if("%one", [&] {
      const unsigned full = p.full_count() + is(Change::full_count_more) - is(Change::full_count_less);
      const unsigned empty = (is(Change::no_remote_release) ? p.empty_count() / 2 : p.empty_count()) +
                             is(Change::empty_count_more) - is(Change::empty_count_less);
      if (p.full == Link::mbarrier) line("mov.u32 %%a, full_bar;");
      for (unsigned s = 0; s < p.stages && p.full == Link::mbarrier; ++s)
        line("mbarrier.init.shared::cta.b64 [%%a+%u], %u;", 8 * s, full);
      if (p.empty == Link::mbarrier) line("mov.u32 %%a, empty_bar;");
      for (unsigned s = 0; s < p.stages && p.empty == Link::mbarrier; ++s)
        line("mbarrier.init.shared::cta.b64 [%%a+%u], %u;", 8 * s, empty);
      if ((p.init_fence || (p.cluster && p.relaxed_start)) && !is(Change::no_init_fence))
        line("fence.mbarrier_init.release.cluster;");
    });
  }
  if (is(Change::no_start_barrier)) return;
  if (p.cluster)
    line("barrier.cluster.arrive%s.aligned;\nbarrier.cluster.wait.acquire.aligned;",
         p.relaxed_start ? ".relaxed" : ".release");
  else
    line("bar.sync 0;");
}

// Stage, barriers and tile of a round; %use counts the uses of the stage before this one.
void Emitter::locate(const char* round) {
  line("rem.u32 %%stage, %s, %u;\ndiv.u32 %%use, %s, %u;", round, p.stages, round, p.stages);
  line("mad.lo.u32 %%tile, %%stage, %u, %%tiles;", p.stage_stride());
  if (p.full == Link::mbarrier) line("mov.u32 %%full, full_bar;\nmad.lo.u32 %%full, %%stage, 8, %%full;");
  if (p.empty == Link::mbarrier)
    line("mov.u32 %%empty, empty_bar;\nmad.lo.u32 %%empty, %%stage, 8, %%empty;");
}

void Emitter::wait(const char* barrier, const char* parity, Change once, Change relaxed) {
  const std::string top = label(), end = label();
  const char* order = is(relaxed) ? (p.cluster ? ".relaxed.cluster" : ".relaxed.cta")
                      : p.cluster ? ".acquire.cluster"
                                  : "";
  line("%s: mbarrier.%s.parity%s.shared::cta.b64 %%ok, [%s], %s;", top.c_str(),
       p.test_wait ? "test_wait" : "try_wait", order, barrier, parity);
  if (!is(once)) line("@%%ok bra %s;\nbra %s;\n%s:", end.c_str(), top.c_str(), end.c_str());
}

// ---- filling a stage

void Emitter::copy_box(const std::string& box) {
  line("mov.u32 %%box, %s;\nmad.lo.u32 %%a, %%box, %u, %%tile;", box.c_str(), p.box_stride());
  line("mad.lo.u32 %%b, %%t, %u, %%box;", p.boxes);
  if (is(Change::wrong_coordinate)) line("add.u32 %%b, %%b, 1;");
  const char* to_all = p.cluster ? ".multicast::cluster" : "";
  const char* mask = p.cluster ? ", %mask" : "";
  if (p.load == Load::bulk) {
    line("mul.wide.u32 %%g, %%b, %u;\nadd.u64 %%g, %%g, %%in;", p.box_bytes());
    line("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes%s [%%a], [%%g], %u, [%%full]%s;",
         to_all, p.box_bytes(), mask);
    return;
  }
  for (unsigned i = 0; i < p.rank; ++i) {
    line("mov.u32 %%c%u, %d;", i, p.offset[i]);
    if (i + 1 == p.rank) line("mad.lo.u32 %%c%u, %%b, %u, %%c%u;", i, p.box[i], i);
  }
  static const char* kList[] = {"", "{%c0}", "{%c0, %c1}", "{%c0, %c1, %c2}"};
  line(
      "cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes%s [%%a], "
      "[%%in_tensor, %s], "
      "[%%full]%s;",
      p.rank, to_all, kList[p.rank], mask);
}

// By the issuing thread(s): announce, copy, arrive.
void Emitter::engine_fill(const char* round) {
  if (p.cluster) line("mov.u16 %%mask, 3;");
  // %t: the tile's number; its boxes are p.boxes in a row.
  if (p.cluster)
    line("mov.u32 %%t, %s;", round);
  else
    line("mad.lo.u32 %%t, %%cta, %u, %s;", p.rounds, round);
  const bool split = p.split_boxes;
  unsigned bytes = split ? p.box_bytes() : p.tile_bytes();
  const bool each = p.announce == Announce::each_copy && !p.cluster;
  auto set_bytes = [&](unsigned n, bool last) {
    line("mov.u32 %%bytes, %u;", n);
    const int change = is(Change::bytes_more)      ? 16
                       : is(Change::bytes_less)    ? -16
                       : is(Change::one_copy_less) ? -static_cast<int>(p.box_bytes())
                                                   : 0;
    if (!change || !last) return;
    if (m.round >= 0) line("setp.eq.u32 %%skip, %s, %d;", round, m.round);
    line("%sadd.u32 %%bytes, %%bytes, %d;", m.round >= 0 ? "@%skip " : "", change);
  };
  auto expect = [&] {
    if (!is(Change::no_expect)) line("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%%full], %%bytes;");
  };
  auto extra = [&] {
    if (is(Change::full_extra_arrive)) line("mbarrier.arrive.shared::cta.b64 _, [%%full];");
  };
  auto arrive = [&] {
    unless(Change::no_full_arrive, round, [&] { line("mbarrier.arrive.shared::cta.b64 _, [%%full];"); });
  };
  auto arrive_expect = [&] {
    if (is(Change::no_expect)) {
      line("mbarrier.arrive.shared::cta.b64 _, [%%full];");
    } else if (is(Change::no_full_arrive)) {
      expect();
      arrive();
    } else {
      line("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%full], %%bytes;");
    }
  };
  auto copies = [&] {
    if (p.cluster) return copy_box("%cta");
    if (split) return copy_box("%filler");
    for (unsigned i = 0; i < p.boxes; ++i) {
      if (each) {
        set_bytes(p.box_bytes(), i + 1 == p.boxes);
        expect();
      }
      copy_box(std::to_string(i));
    }
  };
  if (!each || split) set_bytes(bytes, true);
  extra();
  switch (p.announce) {
    case Announce::arrive_first:
      arrive_expect();
      copies();
      break;
    case Announce::arrive_last:
      copies();
      arrive_expect();
      break;
    case Announce::copies_expect_arrive:
      copies();
      expect();
      arrive();
      break;
    case Announce::expect_copies_arrive:
    case Announce::each_copy:
      if (!each || split) expect();
      copies();
      arrive();
      break;
  }
}

// By all filling threads: each the share of another lane of the next warp, so that nobody reads what it copied itself.
void Emitter::thread_fill(const char* round) {
  line("mad.lo.u32 %%t, %%cta, %u, %s;", p.rounds, round);
  if (is(Change::wrong_coordinate)) line("add.u32 %%t, %%t, 1;");
  line("mul.wide.u32 %%g, %%t, %u;\nadd.u64 %%g, %%g, %%in;", p.tile_bytes());
  line("xor.b32 %%x, %%filler, 31;\nadd.u32 %%x, %%x, 32;\nrem.u32 %%x, %%x, %u;", p.filler_threads());
  loop("%unit", "%x", std::to_string(p.tile_bytes() / p.fill_unit), std::to_string(p.filler_threads()), [&] {
    place(p.swizzle, p.pitch(), p.relative, "%tile", p.box_stride(), p.fill_unit);
    line("mul.wide.u32 %%step, %%unit, %u;\nadd.u64 %%step, %%step, %%g;", p.fill_unit);
    if (p.load == Load::cp_async) {
      line("cp.async.%s.shared.global [%%a], [%%step], %u;", p.fill_unit == 16 ? "cg" : "ca", p.fill_unit);
    } else {
      access("ld.global", "%step", p.fill_unit);
      access("st.shared", "%a", p.fill_unit);
    }
  });
}

// The address %a of unit %unit of a tile, and the unit's place %at in its box.
void Emitter::place(Swizzle pattern, unsigned pitch, bool relative, const char* base, unsigned box_stride,
                    unsigned unit) {
  const unsigned in_box = p.box_bytes() / unit, in_row = p.inner() / unit;
  line("div.u32 %%box, %%unit, %u;\nrem.u32 %%at, %%unit, %u;", in_box, in_box);
  line("div.u32 %%row, %%at, %u;\nrem.u32 %%at, %%at, %u;\nmul.lo.u32 %%at, %%at, %u;", in_row, in_row, unit);
  line("mad.lo.u32 %%at, %%row, %u, %%at;", pitch);
  line("mad.lo.u32 %%a, %%box, %u, %s;", box_stride, base);
  static const unsigned kBits[] = {0, 0x10, 0x30, 0x70};
  const unsigned bits = kBits[static_cast<unsigned>(pattern)];
  if (bits && relative) line("shr.u32 %%b, %%at, 3;\nand.b32 %%b, %%b, %u;\nxor.b32 %%at, %%at, %%b;", bits);
  line("add.u32 %%a, %%a, %%at;");
  if (bits && !relative) line("shr.u32 %%b, %%a, 3;\nand.b32 %%b, %%b, %u;\nxor.b32 %%a, %%a, %%b;", bits);
}

void Emitter::access(const char* instruction, const char* address, unsigned unit) {
  const bool load = instruction[0] == 'l';
  const char* vector = unit == 4 ? "" : unit == 8 ? ".v2" : ".v4";
  const char* values = unit == 4 ? "%v0" : unit == 8 ? "{%v0, %v1}" : "{%v0, %v1, %v2, %v3}";
  if (load)
    line("%s%s.u32 %s, [%s];", instruction, vector, values, address);
  else
    line("%s%s.u32 [%s], %s;", instruction, vector, address, values);
}

void Emitter::wait_groups(unsigned left, const char* round) {
  unless(Change::no_copy_wait, round, [&] {
    if (is(Change::copy_wait_lax)) ++left;
    if (left == 0 && p.wait_all)
      line("cp.async.wait_all;");
    else
      line("cp.async.wait_group %u;", left);
  });
}

// Filling threads arrive on the full barrier of the round: their bytes are there, or will arrive with their copies.
void Emitter::signal(const char* round) {
  if (p.full == Link::block) return;
  if (p.full == Link::named) {
    unless(Change::no_full_arrive, round,
           [&] { line("add.u32 %%id, %%stage, 1;\nbar.arrive %%id, %u;", p.threads()); });
    return;
  }
  if (is(Change::full_extra_arrive)) {
    line("setp.eq.u32 %%one, %%filler, 0;\n@%%one mbarrier.arrive.shared::cta.b64 _, [%%full];");
  }
  const char* order = is(Change::full_arrive_relaxed) ? ".relaxed.cta" : "";
  unless(Change::no_full_arrive, round, [&] {
    switch (p.signal) {
      case Signal::copies:
      case Signal::counted_copies:
        if (is(Change::copy_arrive_plain)) {
          line("mbarrier.arrive.shared::cta.b64 _, [%%full];");
          break;
        }
        line("cp.async.mbarrier.arrive%s.shared::cta.b64 [%%full];",
             (p.signal == Signal::copies) != (is(Change::noinc_dropped) || is(Change::noinc_added)) ? ".noinc"
                                                                                                    : "");
        if (p.signal == Signal::counted_copies) line("mbarrier.arrive.shared::cta.b64 _, [%%full];");
        break;
      case Signal::warps:
        unless(Change::no_full_syncwarp, round, [&] { line("bar.warp.sync 0xffffffff;"); });
        line("setp.eq.u32 %%one, %%lane, 0;\n@%%one mbarrier.arrive%s.shared::cta.b64 _, [%%full];", order);
        break;
      default:
        line("mbarrier.arrive%s.shared::cta.b64 _, [%%full];", order);
    }
  });
}

// One stage, but for what is signalled later (cp.async groups).
void Emitter::fill(const char* round) {
  locate(round);
  if (p.engine()) return engine_fill(round);
  thread_fill(round);
  if (p.groups())
    unless(Change::no_copy_commit, round, [&] { line("cp.async.commit_group;"); });
  else
    signal(round);
}

// Until the stage's last use is over. The first uses have none before them.
void Emitter::empty_wait(const char* round) {
  locate(round);
  const std::string end = label();
  if (p.empty == Link::named || !p.first_wait)
    line("setp.lt.u32 %%some, %s, %u;\n@%%some bra %s;", round, p.stages, end.c_str());
  unless(Change::no_empty_wait, round, [&] {
    if (p.empty == Link::named) {
      line("add.u32 %%id, %%stage, %u;\nbar.sync %%id, %u;", 1 + p.stages, p.threads());
      return;
    }
    line("and.b32 %%parity, %%use, 1;");
    if (!is(Change::empty_parity_off)) line("xor.b32 %%parity, %%parity, 1;");
    if (is(Change::empty_parity_fixed)) line("mov.u32 %%parity, 1;");
    wait("%empty", "%parity", Change::none, Change::none);
  });
  line("%s:", end.c_str());
}

void Emitter::producer() {
  const unsigned first = p.producers_first ? 0 : p.consumers;
  line("sub.u32 %%filler, %%warp, %u;", first);  // the copy engine's: a warp each
  if (!p.engine()) line("sub.u32 %%filler, %%thread, %u;", 32 * first);
  const bool one_lane = p.engine() && !p.whole_warp;
  const std::string end = label();
  if (p.engine()) {
    if (p.elect)
      line("elect.sync _|%%leader, 0xffffffff;");
    else
      line("setp.eq.u32 %%leader, %%lane, 0;");
    if (one_lane) line("@!%%leader bra %s;", end.c_str());
  }
  loop("%fill", p.take_turns ? "%filler" : "0", std::to_string(p.rounds), p.take_turns ? "2" : "1", [&] {
    empty_wait("%fill");
    if (p.engine() && p.whole_warp)
      only_if("%leader", [&] { fill("%fill"); });
    else
      fill("%fill");
    if (!p.groups()) return;
    line("setp.ge.u32 %%some, %%fill, %u;", p.lag);
    only_if("%some", [&] {
      wait_groups(p.lag, "%fill");
      line("sub.u32 %%last, %%fill, %u;", p.lag);
      locate("%last");
      signal("%last");
    });
  });
  if (p.groups() && p.lag) {
    unless(Change::no_copy_wait, "%fill", [&] { line("cp.async.wait_group 0;"); });
    loop("%last", std::to_string(p.rounds - std::min(p.lag, p.rounds)), std::to_string(p.rounds), "1", [&] {
      locate("%last");
      signal("%last");
    });
  }
  if (p.cluster && p.drain_empties && !is(Change::no_cluster_end)) {
    loop("%fill", std::to_string(p.rounds - std::min(p.stages, p.rounds)), std::to_string(p.rounds), "1",
         [&] {
           locate("%fill");
           line("and.b32 %%parity, %%use, 1;");
           wait("%empty", "%parity", Change::none, Change::none);
         });
  }
  line("%s:", end.c_str());
}

// ---- using a stage

void Emitter::full_wait(const char* round) {
  locate(round);
  if (p.role == Role::everybody && p.groups()) {
    wait_groups(p.groups_left(), round);
    signal(round);
  }
  if (p.full == Link::block) {
    unless(Change::no_full_wait, round, [&] { line("bar.sync 0;"); });
    return;
  }
  if (p.full == Link::named) {
    unless(Change::no_full_wait, round,
           [&] { line("add.u32 %%id, %%stage, 1;\nbar.sync %%id, %u;", p.threads()); });
    return;
  }
  unless(Change::no_full_wait, round, [&] {
    line("and.b32 %%parity, %%use, 1;");
    if (is(Change::full_parity_off)) line("xor.b32 %%parity, %%parity, 1;");
    if (is(Change::full_parity_fixed)) line("mov.u32 %%parity, 0;");
    if (is(Change::full_wrong_stage)) {
      line("add.u32 %%x, %s, 1;\nrem.u32 %%x, %%x, %u;\nmov.u32 %%a, full_bar;\nmad.lo.u32 %%a, %%x, 8, %%a;",
           round, p.stages);
      wait("%a", "%parity", Change::none, Change::none);
    } else {
      wait("%full", "%parity", Change::full_wait_once, Change::full_wait_relaxed);
    }
  });
}

void Emitter::consumer_barrier(bool counted) {
  if (p.role == Role::everybody && !counted)
    line("bar.sync 0;");
  else
    line("bar.sync 15, %u;", p.consumer_threads() + (is(Change::consumer_barrier_more) ? 32 : 0));
}

void Emitter::arrive_empty(const char*) {
  const char* order = is(Change::release_relaxed) ? ".relaxed" : ".release";
  if (!p.cluster) {
    line("mbarrier.arrive%s.cta.shared::cta.b64 _, [%%empty];", order);
    return;
  }
  line("mbarrier.arrive%s.cluster.shared::cta.b64 _, [%%empty];", order);
  if (is(Change::no_remote_release)) return;
  line("mapa.shared::cluster.u32 %%remote, %%empty, %%peer;");
  line("mbarrier.arrive%s.cluster.shared::cluster.b64 _, [%%remote];", order);
}

void Emitter::release(const char* round) {
  locate(round);
  if (p.empty == Link::block) {
    unless(Change::no_release, round, [&] { line("bar.sync 0;"); });
    return;
  }
  if (p.empty == Link::named) {
    line("setp.lt.u32 %%some, %s, %d;", round, static_cast<int>(p.rounds) - static_cast<int>(p.stages));
    if (!p.refills()) return;
    only_if("%some", [&] {
      unless(Change::no_release, round,
             [&] { line("add.u32 %%id, %%stage, %u;\nbar.arrive %%id, %u;", 1 + p.stages, p.threads()); });
    });
    return;
  }
  unless(Change::no_release, round, [&] {
    switch (p.release) {
      case Release::threads:
        arrive_empty(round);
        break;
      case Release::warps:
        unless(Change::no_release_syncwarp, round, [&] { line("bar.warp.sync 0xffffffff;"); });
        line("setp.eq.u32 %%one, %%lane, 0;");
        only_if("%one", [&] { arrive_empty(round); });
        break;
      case Release::one:
        unless(Change::no_release_barrier, round, [&] { consumer_barrier(); });
        line("setp.eq.u32 %%one, %%user, 0;");
        only_if("%one", [&] { arrive_empty(round); });
        break;
    }
  });
}

// Every consumer thread its share of the tile.
void Emitter::use_tile(const char* round) {
  const unsigned unit = p.read_unit, units = p.tile_bytes() / unit, words = unit / 4;
  const Swizzle pattern = is(Change::reader_swizzle) ? m.swizzle : p.swizzle;
  loop("%u", "%user", std::to_string(units), std::to_string(p.consumer_threads()), [&] {
    line("mov.u32 %%unit, %%u;");
    place(pattern, p.pitch(), p.relative, "%tile", p.box_stride(), unit);
    access("ld.shared", "%a", unit);
    if (p.consume == Consume::sum) {
      for (unsigned w = 0; w < words; ++w) line("mad.lo.u32 %%acc, %%acc, 31, %%v%u;", w);
      return;
    }
    if (p.consume == Consume::copy) {
      line("mad.lo.u32 %%t, %%cta, %u, %s;\nmul.wide.u32 %%g, %%t, %u;", p.rounds, round, p.tile_bytes());
      line("mul.wide.u32 %%step, %%unit, %u;\nadd.u64 %%g, %%g, %%step;\nadd.u64 %%g, %%g, %%out;", unit);
      access("st.global", "%g", unit);
      return;
    }
    for (unsigned w = 0; w < words; ++w)
      line("mul.lo.u32 %%v%u, %%v%u, 3;\nmad.lo.u32 %%v%u, %%unit, %u, %%v%u;\nadd.u32 %%v%u, %%v%u, %u;", w,
           w, w, words, w, w, w, w);
    if (p.consume == Consume::staged) {
      line("mad.lo.u32 %%x, %%buffer, %u, %%bytes;", p.boxes * p.out_box_stride());
      place(p.out_swizzle, Pipeline::pitch(p.out_swizzle, p.inner()), false, "%x", p.out_box_stride(), unit);
    }
    access("st.shared", "%a", unit);
  });
}

// The changed tile, out of shared memory, by one thread.
void Emitter::store_tile(const char* round) {
  const bool staged = p.consume == Consume::staged;
  unless(Change::no_proxy_fence, round, [&] { line("fence.proxy.async.shared::cta;"); });
  unless(Change::no_store_barrier, round, [&] { consumer_barrier(is(Change::consumer_barrier_more)); });
  line("setp.eq.u32 %%one, %%user, 0;");
  only_if("%one", [&] {
    // Reductions of all rounds add to one tile of each CTA.
    if (p.adds())
      line("mov.u32 %%t, %%cta;");
    else
      line("mad.lo.u32 %%t, %%cta, %u, %s;", p.rounds, round);
    if (staged)
      line("mad.lo.u32 %%x, %%buffer, %u, %%bytes;", p.boxes * p.out_box_stride());
    else
      line("mov.u32 %%x, %%tile;");
    for (unsigned i = 0; i < p.boxes; ++i) {
      line("mad.lo.u32 %%b, %%t, %u, %u;\nadd.u32 %%a, %%x, %u;", p.boxes, i,
           i * (staged ? p.out_box_stride() : p.box_stride()));
      const bool bulk = p.store == Store::bulk || p.store == Store::bulk_add;
      if (bulk)
        line("mul.wide.u32 %%g, %%b, %u;\nadd.u64 %%g, %%g, %%out;", p.box_bytes());
      else
        line("mul.lo.u32 %%c1, %%b, %u;\nmov.u32 %%c0, 0;", p.rows());
      switch (p.store) {
        case Store::bulk:
          line("cp.async.bulk.global.shared::cta.bulk_group [%%g], [%%a], %u;", p.box_bytes());
          break;
        case Store::bulk_add:
          line("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%%g], [%%a], %u;", p.box_bytes());
          break;
        case Store::tensor:
          line(
              "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%%out_tensor, {%%c0, %%c1}], "
              "[%%a];");
          break;
        case Store::tensor_add:
          line(
              "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%%out_tensor, {%%c0, "
              "%%c1}], "
              "[%%a];");
          break;
      }
    }
    unless(Change::no_store_commit, round, [&] { line("cp.async.bulk.commit_group;"); });
    // A stage is handed back when its store has read it.
    if (!staged)
      unless(Change::no_store_wait, round,
             [&] { line("cp.async.bulk.wait_group.read %u;", is(Change::store_wait_lax) ? 1u : 0u); });
  });
}

void Emitter::consume(const char* round) {
  full_wait(round);
  if (is(Change::empty_extra_arrive)) {
    line("setp.eq.u32 %%one, %%user, 0;");
    only_if("%one", [&] { line("mbarrier.arrive.release.cta.shared::cta.b64 _, [%%empty];"); });
  }
  if (is(Change::release_early)) release(round);
  if (p.consume == Consume::staged) {
    // The buffer is free when the store that used it last has read it.
    line("mov.u32 %%bytes, staged;\nrem.u32 %%buffer, %s, %u;\nsetp.eq.u32 %%one, %%user, 0;", round,
         p.buffers);
    unless(Change::no_store_wait, round, [&] {
      only_if("%one", [&] {
        line("cp.async.bulk.wait_group.read %u;", p.buffers - 1 + (is(Change::store_wait_lax) ? 1u : 0u));
      });
    });
    unless(Change::no_buffer_barrier, round, [&] { consumer_barrier(); });
  }
  use_tile(round);
  if (p.stores_out()) store_tile(round);
  if (!is(Change::release_early)) release(round);
}

void Emitter::finish() {
  if (p.consume == Consume::sum) {
    line(
        "mad.lo.u32 %%t, %%cta, %u, %%user;\nmul.wide.u32 %%g, %%t, 4;\nadd.u64 %%g, %%g, %%out;\n"
        "st.global.u32 [%%g], %%acc;",
        p.consumer_threads());
  }
  if (!p.stores_out() || is(Change::no_drain)) return;
  line("setp.eq.u32 %%one, %%user, 0;");
  only_if("%one", [&] { line("cp.async.bulk.wait_group%s 0;", p.drain_reads_only ? ".read" : ""); });
}

void Emitter::consumer() {
  line("sub.u32 %%user, %%thread, %u;", p.producers_first ? 32 * p.producers : 0);
  loop("%round", "0", std::to_string(p.rounds), "1", [&] { consume("%round"); });
  finish();
}

// All threads: fill all stages; then use the oldest and fill it again.
void Emitter::everybody() {
  line("mov.u32 %%user, %%thread;\nmov.u32 %%filler, %%thread;\nsetp.eq.u32 %%leader, %%thread, 0;");
  auto fill_one = [&] {
    if (p.engine())
      only_if("%leader", [&] { fill("%fill"); });
    else
      fill("%fill");
  };
  loop("%fill", "0", std::to_string(std::min(p.stages, p.rounds)), "1", fill_one);
  loop("%round", "0", std::to_string(p.rounds), "1", [&] {
    consume("%round");
    line("add.u32 %%fill, %%round, %u;\nsetp.lt.u32 %%again, %%fill, %u;", p.stages, p.rounds);
    const std::string end = label();
    line("@!%%again bra %s;", end.c_str());
    auto refill = [&] {
      if (p.empty == Link::mbarrier) empty_wait("%fill");
      fill("%fill");
    };
    if (p.engine())
      only_if("%leader", refill);
    else
      refill();
    line("%s:", end.c_str());
    // Groups are counted in rounds: where nothing is copied any more, an empty one is committed.
    if (p.groups()) line("@!%%again cp.async.commit_group;");
  });
  finish();
}

std::string Emitter::kernel() {
  declarations();
  start();
  if (p.role == Role::everybody) {
    everybody();
  } else {
    const unsigned limit = p.producers_first ? p.producers : p.consumers;
    const std::string consume_label = label(), end = label();
    line("setp.%s.u32 %%is_producer, %%warp, %u;\n@!%%is_producer bra %s;", p.producers_first ? "lt" : "ge",
         limit, consume_label.c_str());
    producer();
    line("bra %s;\n%s:", end.c_str(), consume_label.c_str());
    consumer();
    line("%s:", end.c_str());
  }
  if (p.cluster && !p.drain_empties && !is(Change::no_cluster_end))
    line("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;");
  line("ret;\n}");
  return text_;
}

}  // namespace

std::string emit(const Pipeline& p, const Mutation& m) {
  return Emitter(p, m).kernel();
}

}  // namespace fuzz
