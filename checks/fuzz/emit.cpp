// A pipeline as PTX text, with at most one mistake in it: the start, the roles, and what both sides use. Read kernel()
// at the end first.
#include "emit.hpp"

#include <cstdarg>
#include <cstdio>

#include "emitter.hpp"

namespace fuzz {

using emu::Swizzle;

void Emitter::line(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  text_ += buffer;
  text_ += '\n';
}

void Emitter::declarations() {
  line(".version 8.6\n.target sm_90a\n.address_size 64");
  line(".shared .align 1024 .b8 tiles[%u];", p.stages * p.stage_stride() + 128);
  if (p.consume == Consume::staged)
    line(".shared .align 1024 .b8 staged[%u];", p.buffers * p.boxes * p.out_box_stride());
  if (p.full == Link::mbarrier) line(".shared .align 8 .b64 full_bar[%u];", p.stages);
  if (p.empty == Link::mbarrier) line(".shared .align 8 .b64 empty_bar[%u];", p.stages);
  line(
      ".visible .entry pipeline(.param .u64 out_pointer, .param .u64 in_pointer, .param .align 64 .b8 "
      "in_map[128], .param .align 64 .b8 out_map[128]) {");
  line(".reg .pred %%skip, %%done, %%ok, %%one, %%leader, %%is_producer, %%some, %%again;");
  line(".reg .pred %%more, %%true;\n.reg .f32 %%f<4>;\n.reg .b64 %%high, %%a_matrix, %%b_matrix;");
  line(".reg .b16 %%mask;\n.reg .b64 %%out, %%in, %%in_tensor, %%out_tensor, %%g, %%step;");
  line(".reg .b32 %%thread, %%warp, %%lane, %%cta, %%peer, %%remote, %%filler, %%user;");
  line(".reg .b32 %%round, %%fill, %%last, %%stage, %%use, %%parity, %%full, %%empty, %%id, %%bytes;");
  line(".reg .b32 %%tiles, %%tile, %%buffer, %%box, %%row, %%at, %%unit, %%u, %%t, %%c0, %%c1, %%c2;");
  line(".reg .b32 %%a, %%b, %%x, %%acc, %%v0, %%v1, %%v2, %%v3;");
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
  const bool wide = p.cluster && !p.default_scopes;
  const char* order = is(relaxed) ? (p.cluster ? ".relaxed.cluster" : ".relaxed.cta")
                      : wide      ? ".acquire.cluster"
                                  : "";
  line("%s: mbarrier.%s.parity%s.shared::cta.b64 %%ok, [%s], %s;", top.c_str(),
       p.test_wait ? "test_wait" : "try_wait", order, barrier, parity);
  if (!is(once)) line("@%%ok bra %s;\nbra %s;\n%s:", end.c_str(), top.c_str(), end.c_str());
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
      fill_fence("%fill");
      line("sub.u32 %%last, %%fill, %u;", p.lag);
      locate("%last");
      signal("%last");
    });
  });
  if (p.groups() && p.lag) {
    unless(Change::no_copy_wait, "%fill", [&] { line("cp.async.wait_group 0;"); });
    fill_fence("%fill");
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

void Emitter::finish() {
  if (p.consume == Consume::sum) {
    line(
        "mad.lo.u32 %%t, %%cta, %u, %%user;\nmul.wide.u32 %%g, %%t, 4;\nadd.u64 %%g, %%g, %%out;\n"
        "st.global.u32 [%%g], %%acc;",
        p.consumer_threads());
  }
  if (p.multiplies()) {
    if (!is(Change::no_mma_drain)) line("wgmma.wait_group.sync.aligned 0;");
    if (p.late_release && !is(Change::release_early)) {
      line("mov.u32 %%last, %u;", p.rounds - 1);
      release("%last");
    }
    line(
        "mad.lo.u32 %%t, %%cta, %u, %%user;\nmul.wide.u32 %%g, %%t, 16;\nadd.u64 %%g, %%g, %%out;\n"
        "st.global.v4.f32 [%%g], {%%f0, %%f1, %%f2, %%f3};",
        p.consumer_threads());
  }
  if (!p.stores_out() || is(Change::no_drain)) return;
  line("setp.eq.u32 %%one, %%user, 0;");
  only_if("%one", [&] { line("cp.async.bulk.wait_group%s 0;", p.drain_reads_only ? ".read" : ""); });
}

void Emitter::consumer() {
  line("sub.u32 %%user, %%thread, %u;", p.producers_first ? 32 * p.producers : 0);
  start_use();
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
  start_use();
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
    if (p.multiplies()) line("bar.warp.sync 0xffffffff;");  // wgmma wants whole warps
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

std::string emit(const Pipeline& p, const Mutation& m) {
  return Emitter(p, m).kernel();
}

}  // namespace fuzz
