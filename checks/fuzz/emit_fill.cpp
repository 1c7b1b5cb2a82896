// How the filling threads fill a stage and tell that it is full.
#include "emitter.hpp"

namespace fuzz {

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
      "[%%in_tensor, %s], [%%full]%s;",
      p.rank, to_all, kList[p.rank], mask);
}

// By the issuing thread(s): announce, copy, arrive.
void Emitter::engine_fill(const char* round) {
  if (p.cluster) line("mov.u16 %%mask, %u;", is(Change::mask_short) ? 1u : 3u);
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

void Emitter::wait_groups(unsigned left, const char* round) {
  unless(Change::no_copy_wait, round, [&] {
    if (is(Change::copy_wait_lax)) ++left;
    if (left == 0 && p.wait_all)
      line("cp.async.wait_all;");
    else
      line("cp.async.wait_group %u;", left);
  });
}

// What threads wrote, and what their cp.async did, wgmma sees behind the writer's proxy fence.
void Emitter::fill_fence(const char* round) {
  if (!p.multiplies()) return;
  unless(Change::no_fill_fence, round, [&] { line("fence.proxy.async.shared::cta;"); });
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
  if (is(Change::copy_wrong_stage))
    line("add.u32 %%x, %s, 1;\nrem.u32 %%x, %%x, %u;\nmad.lo.u32 %%tile, %%x, %u, %%tiles;", round, p.stages,
         p.stage_stride());
  if (p.engine()) {
    engine_fill(round);
    if (is(Change::release_by_filler))
      line("mbarrier.arrive.shared::cta.b64 _, [%%empty], %u;", p.empty_count());
    return;
  }
  thread_fill(round);
  if (p.load == Load::stores) fill_fence(round);
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

}  // namespace fuzz
