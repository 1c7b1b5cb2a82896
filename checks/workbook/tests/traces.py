"""A small trace made by hand: one stage, one full barrier, tiles a and b, as many K steps as are asked for."""

import json
import tempfile
import unittest
from pathlib import Path

import tree  # noqa: F401, puts the tool on the path

SOURCE = ["__global__ void gemm() {", "  mbarrier_init(&smem.full_bar, 1);", "  __syncthreads();",
          "  mbarrier_arrive_expect_tx(&smem.full_bar, 2048);", "  copy(smem.a, &tmap_a);", "  copy(smem.b, &tmap_b);",
          "  wait(&smem.full_bar, t % 2);", "  multiply(smem.a, smem.b);", "}"]


class Maker:
    def __init__(self):
        self.t, self.events = 0, []

    def add(self, what, /, **fields):
        self.t += 1
        self.events.append(dict(t=self.t, e=what, cta=0, **fields))

    def counters(self, what, pending, waiting, phase, **fields):
        self.add(what, warp=0, lane=0, lanes=1, barrier=0, pending=pending, bytes=waiting, phase=phase, **fields)


def step(make, k, waits):
    """One K step: announce, two copies, wait, land, flip, multiply. `waits`: the readers wait for the phase."""
    warps = range(4)
    make.counters("expect_tx", 1, 2048, k, amount=2048, line=2)
    make.counters("arrive", 0, 2048, k, count=1, line=2)
    for i, tile in enumerate((3, 4)):
        make.add("copy", warp=0, lane=0, lanes=1, copy=2 * k + i, kind="tensor_load", bytes=1024, operations=1, map=i, barrier=0,
                 place="ab"[i] + "[0]",
                 start=[64 * k, 0], shared=[[0, 1024 + 1024 * i, 1024]], line=tile)
    if waits:
        for warp in warps:
            make.add("wait", warp=warp, lane=0, lanes=32, wait=10 * k + warp, barrier=0, phase=k, line=5)
    else:
        multiply(make, k)
        make.add("finding", warp=0, finding=0, line=6, other_line=4)
    for i in range(2):
        make.add("land", copy=2 * k + i, bytes=1024)
        make.counters("complete_tx", 0, 1024 - 1024 * i, k, amount=1024, copy=2 * k + i, line=3 + i)
    make.add("flip", warp=0, barrier=0, completed=k, pending=1, bytes=0, phase=k + 1, line=4)
    if waits:
        for warp in warps:
            make.add("pass", warp=warp, lane=0, lanes=32, wait=10 * k + warp, barrier=0, phase=k, line=5)
        multiply(make, k)
    make.add("product_done", product=k, warpgroup=0)


def multiply(make, k):
    make.add("product", warp=0, lane=0, lanes=32, product=k, warpgroup=0, count=4, shape="m64n8k16", swizzle=128,
             shared=[[0, 1024, 1024], [0, 2048, 1024]], line=6)
    make.add("commit", warp=0, lane=0, lanes=32, group="wgmma", line=6)


def trace(steps=2, waits=True, **more):
    """The trace as a dict. waits=False: a reader that does not wait, and the finding about it."""
    make = Maker()
    make.add("cta_begin")
    make.counters("init", 1, 0, 0, count=1, line=0)
    for warp in range(4):
        make.add("bar_arrive", warp=warp, lane=0, lanes=32, bar=0, generation=0, line=1)
    for warp in range(4):
        make.add("bar_leave", warp=warp, lane=0, lanes=32, bar=0, generation=0, line=1)
    for k in range(steps):
        step(make, k, waits)
    make.add("exit", warp=0, lane=0, lanes=32)
    lines = [2, 3, 4, 5, 6, 7, 8]
    tile = dict(type="bfloat16", size=[256, 256], box=[64, 8], swizzle=128, rows=8, row_bytes=128, row_pitch=128)
    finding = dict(id="read-before-landed", severity="error", title="a tile is read before its bytes have landed", where="x.cu:8",
                   state="", why="nobody waits", **{"try": "wait"})
    made = dict(
        format="tma-workbook-trace", version=1, unit="step", kernel="gemm(int)", schedule="late", grid=[4, 1, 1], block=[128, 1, 1],
        cluster=[1, 1, 1], launch=1, window=dict(ctas=[0, 0], steps=[0, 31], events=20000),
        left_out=dict(ctas=3, events_in_other_steps=0, events_beyond_the_limit=0, launches=0), fault=False,
        ctas=[dict(cta=0, index=[0, 0, 0], rank=0, warps=4)], barriers=[dict(cta=0, address=3072, name="full_bar", line=0)],
        maps=[tile, dict(tile)], files=[dict(path="x.cu", lines=[[i + 1, text] for i, text in enumerate(SOURCE)])],
        lines=[dict(file=0, line=n, inlined="", instruction="ptx") for n in lines], findings=[] if waits else [finding],
        events=make.events, end=make.t)
    return dict(made, **more)


def written(folder, name, made):
    path = folder / name
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


class Folder(unittest.TestCase):
    """Each test has a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="timeline.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
