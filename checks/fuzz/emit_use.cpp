// How the consumers wait for a stage, use it, and hand it back.
#include "emitter.hpp"

namespace fuzz {

using emu::Swizzle;

void Emitter::full_wait(const char* round) {
  locate(round);
  if (p.role == Role::everybody && p.groups()) {
    wait_groups(p.groups_left(), round);
    fill_fence(round);
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

void Emitter::arrive_empty(const char* round) {
  const char* order = is(Change::release_relaxed)      ? (p.cluster ? ".relaxed.cluster" : ".relaxed.cta")
                      : p.cluster && !p.default_scopes ? ".release.cluster"
                                                       : "";
  if (is(Change::release_wrong_stage))
    line(
        "add.u32 %%x, %s, 1;\nrem.u32 %%x, %%x, %u;\nmov.u32 %%empty, empty_bar;\n"
        "mad.lo.u32 %%empty, %%x, 8, %%empty;",
        round, p.stages);
  line("mbarrier.arrive%s.shared::cta.b64 _, [%%empty];", order);
  if (!p.cluster || is(Change::no_remote_release)) return;
  line("mapa.shared::cluster.u32 %%remote, %%empty, %s;", is(Change::release_not_to_peer) ? "%cta" : "%peer");
  line("mbarrier.arrive%s.shared::cluster.b64 _, [%%remote];", order);
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
  if (is(Change::release_by_filler)) return;
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
              "%%c1}], [%%a];");
          break;
      }
    }
    unless(Change::no_store_commit, round, [&] { line("cp.async.bulk.commit_group;"); });
    // A stage is handed back when its store has read it.
    if (!staged && !is(Change::store_wait_elsewhere))
      unless(Change::no_store_wait, round,
             [&] { line("cp.async.bulk.wait_group.read %u;", is(Change::store_wait_lax) ? 1u : 0u); });
  });
  if (!staged && is(Change::store_wait_elsewhere)) {
    line("setp.eq.u32 %%one, %%user, 1;");
    only_if("%one", [&] { line("cp.async.bulk.wait_group.read 0;"); });
  }
}

// Accumulators, and what all descriptors have in common (PTX ISA 9.7.15.5.1.2.2): 8 rows are 8 pitches apart.
void Emitter::start_use() {
  if (!p.multiplies()) return;
  static const unsigned kLayout[] = {0, 3, 2, 1};  // of the descriptor, by Swizzle
  const Swizzle pattern = is(Change::reader_swizzle) ? m.swizzle : p.swizzle;
  const uint64_t high =
      uint64_t{kLayout[static_cast<unsigned>(pattern)]} << 62 | uint64_t{8 * p.pitch() / 16} << 32 | 1 << 16;
  line("mov.b64 %%high, 0x%llx;\nsetp.eq.u32 %%true, 0, 0;", static_cast<unsigned long long>(high));
  for (int i = 0; i < 4; ++i) line("mov.f32 %%f%d, 0f00000000;", i);
}

// Every warpgroup its blocks of 64 rows, times the first 8 rows of the tile.
void Emitter::multiply(const char* round) {
  if (!is(Change::no_mma_fence)) {
    const std::string end = label();
    if (p.one_fence) line("setp.ne.u32 %%more, %s, 0;\n@%%more bra %s;", round, end.c_str());
    line("wgmma.fence.sync.aligned;\n%s:", end.c_str());
  }
  auto descriptor = [&](const char* to, const char* from, unsigned step) {
    line(
        "add.u32 %%b, %s, %u;\nshr.u32 %%b, %%b, 4;\nand.b32 %%b, %%b, 0x3fff;\ncvt.u64.u32 %s, %%b;\n"
        "or.b64 %s, %s, %%high;",
        from, step, to, to, to);
  };
  const unsigned in_box = p.rows() / 64;
  for (unsigned i = 0; i < p.blocks() / p.warpgroups(); ++i) {
    line("shr.u32 %%x, %%user, 7;\nadd.u32 %%x, %%x, %u;\ndiv.u32 %%box, %%x, %u;\nrem.u32 %%x, %%x, %u;",
         i * p.warpgroups(), in_box, in_box);
    line("mad.lo.u32 %%a, %%box, %u, %%tile;\nmad.lo.u32 %%a, %%x, %u, %%a;", p.box_stride(), 64 * p.pitch());
    for (unsigned step = 0; step < p.inner(); step += 32) {
      descriptor("%a_matrix", "%a", step);
      descriptor("%b_matrix", "%tile", step);
      line(
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%%f0, %%f1, %%f2, %%f3}, %%a_matrix, "
          "%%b_matrix, %%true, 1, 1, 0, 0;");
    }
  }
  if (!is(Change::no_mma_commit)) line("wgmma.commit_group.sync.aligned;");
  if (!is(Change::no_mma_wait))
    line("wgmma.wait_group.sync.aligned %u;",
         (p.late_release ? 1u : 0u) + (is(Change::mma_wait_lax) ? 1u : 0u));
}

void Emitter::consume(const char* round) {
  full_wait(round);
  if (is(Change::empty_extra_arrive)) {
    line("setp.eq.u32 %%one, %%user, 0;");
    only_if("%one", [&] { line("mbarrier.arrive.release.cta.shared::cta.b64 _, [%%empty];"); });
  }
  // Nobody could fence for copies that complete on the barrier: who waited does.
  if (p.load == Load::cp_async && !p.groups()) fill_fence(round);
  if (is(Change::release_early)) release(round);
  if (p.consume == Consume::staged) {
    // The buffer is free when the store that used it last has read it.
    line("mov.u32 %%bytes, staged;\nrem.u32 %%buffer, %s, %u;\nsetp.eq.u32 %%one, %%user, %u;", round,
         p.buffers, is(Change::store_wait_elsewhere) ? 1u : 0u);
    unless(Change::no_store_wait, round, [&] {
      only_if("%one", [&] {
        line("cp.async.bulk.wait_group.read %u;", p.buffers - 1 + (is(Change::store_wait_lax) ? 1u : 0u));
      });
    });
    unless(Change::no_buffer_barrier, round, [&] { consumer_barrier(); });
  }
  if (p.multiplies())
    multiply(round);
  else
    use_tile(round);
  if (p.stores_out()) store_tile(round);
  if (is(Change::release_early)) return;
  if (!p.late_release) return release(round);
  line("setp.gt.u32 %%more, %s, 0;\nsub.u32 %%last, %s, 1;", round, round);
  only_if("%more", [&] { release("%last"); });
}

}  // namespace fuzz
