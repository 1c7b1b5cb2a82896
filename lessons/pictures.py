#!/usr/bin/env python3
"""Draws the pictures of the lessons that follow from a rule: the swizzle, the parity, the counters, the lanes, the waits.

usage: pictures.py --write | --check
Exit: 0 written or equal, 1 a picture differs, 2 bad input.
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
INK, PAPER, GREY, PALE = "#222222", "white", "#DDDDDD", "#F4F4F4"
PRODUCER, CONSUMER, ENGINE, BARRIER, LIGHT = "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9"


class Picture:
    """An SVG on white paper, so that it reads the same on a light and on a dark page."""

    def __init__(self, width, height, title, description):
        self.lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
                      'font-family="sans-serif" font-size="13">', f"<title>{title}</title>", f"<desc>{description}</desc>",
                      '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
                      f'<path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>',
                      f'<rect width="{width}" height="{height}" fill="{PAPER}"/>']

    def text(self, x, y, words, size=12, anchor="start", bold=False, fill=INK):
        weight = ' font-weight="bold"' if bold else ""
        self.lines.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}"{weight} fill="{fill}">{words}</text>')

    def box(self, x, y, w, h, fill, words="", size=11, below=""):
        self.lines.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="3" fill="{fill}" stroke="{INK}" stroke-width="0.8"/>')
        ink = PAPER if fill in (CONSUMER, ENGINE) else INK
        middle = y + h / 2 + size * 0.36 - (8 if below else 0)
        if words:
            self.text(x + w / 2, round(middle, 1), words, size, "middle", fill=ink)
        if below:
            self.text(x + w / 2, round(middle + 15, 1), below, size - 1, "middle", fill=ink)

    def arrow(self, x1, y1, x2, y2, words="", dashed=False, dy=-6):
        dash = ' stroke-dasharray="5,3"' if dashed else ""
        self.lines.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}" stroke-width="1.6"{dash} '
                          'marker-end="url(#head)"/>')
        if words:
            self.text((x1 + x2) / 2, (y1 + y2) / 2 + dy, words, 11, "middle")

    def line(self, x1, y1, x2, y2):
        self.lines.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}" stroke-width="1.6"/>')

    def svg(self):
        return "\n".join(self.lines + ["</svg>", ""])


def descriptor():
    p = Picture(860, 400, "Lesson 01: the matrix descriptor over a swizzled tile",
                "Eight rows of 128 bytes, with every 16-byte chunk where the 128-byte swizzle puts it: chunk c of row r at position c "
                "XOR r. The descriptor holds the address of the first row, the distance to the next eight rows, and the swizzle.")
    p.text(20, 26, "Rows 0 to 7 of a tile in shared memory: which chunk is stored where", 13, bold=True)
    for position in range(8):
        p.text(120 + 44 * position, 48, f"{16 * position} B", 10, "middle")
    for row in range(8):
        p.text(90, 68 + 24 * row, f"row {row}", 11, "end")
        for position in range(8):
            chunk = position ^ row
            p.box(99 + 44 * position, 53 + 24 * row, 42, 22, LIGHT if chunk in (0, 1) else GREY, str(chunk))
    p.box(99, 255, 350, 22, PALE, "rows 8 to 15, the same pattern")
    p.text(20, 300, "Blue: chunks 0 and 1 of every row, the 16 elements along K of one wgmma.", 12)
    p.text(20, 318, "The next wgmma starts 32 bytes further; the hardware undoes the swizzle from the address.", 12)
    p.text(500, 26, "The descriptor: 64 bits", 13, bold=True)
    fields = [("bits 13:0", "start address / 16", "of row 0, chunk 0"), ("bits 29:16", "leading dimension offset / 16", "not used here: 1"),
              ("bits 45:32", "stride dimension offset / 16", "from rows 0-7 to rows 8-15: 1024 / 16 = 64"),
              ("bits 63:62", "swizzle", "1: 128-byte swizzle")]
    for i, (bits, name, meaning) in enumerate(fields):
        p.text(500, 68 + 58 * i, bits, 11)
        p.box(580, 50 + 58 * i, 260, 42, PALE, name, 12, meaning)
    p.arrow(496, 66, 455, 65)
    p.arrow(496, 192, 455, 262)
    p.text(20, 356, "Down a column of positions every row holds another chunk, so the eight rows of one chunk are in different banks.", 12)
    p.text(20, 374, "The pattern is a function of the address: a tile that does not start at a multiple of 1024 bytes begins in its middle.", 12)
    return p.svg()


def parity():
    p = Picture(860, 330, "Lesson 03: parity against phase number, and the first lap",
                "Phases 0 to 4 of the two barriers of one stage in time. A wait for the full barrier on lap n asks for the parity of n, one "
                "for the empty barrier asks for the other parity; on lap 0 that is the phase before the first, which counts as over.")
    p.text(20, 26, "One stage, lap after lap", 13, bold=True)
    for lap in range(4):
        x = 150 + 170 * lap
        p.text(x + 85, 50, f"lap {lap}: slot.parity {lap % 2}", 12, "middle", bold=True)
        p.box(x, 60, 80, 28, ENGINE, "tile lands")
        p.box(x + 84, 60, 80, 28, CONSUMER, "is read")
    p.text(20, 79, "the stage", 12)
    p.text(20, 129, "full_bar is in", 12)
    p.text(20, 179, "empty_bar is in", 12)
    for lap in range(4):
        x = 150 + 170 * lap
        start = x if lap == 0 else x - 90
        fill = BARRIER if lap % 2 else PALE
        p.box(start, 106, x + 78 - start, 38, fill, f"phase {lap}", 11, f"parity {lap % 2}")
        p.box(x - (8 if lap else 0), 156, 162 + (8 if lap else 0), 38, fill, f"phase {lap}", 11, f"parity {lap % 2}")
    p.box(738, 106, 100, 38, PALE, "phase 4", 11, "parity 0")
    p.text(20, 226, "A wait says yes when the barrier's current phase has the other parity:", 13, bold=True)
    p.text(20, 250, "wait(full_bar, slot.parity) on lap n: yes from the moment phase n is over.", 12)
    p.text(20, 270, "wait(empty_bar, slot.parity ^ 1) on lap n: yes from the moment phase n - 1 is over: the stage was read on the lap before.", 12)
    p.text(20, 290, "On lap 0 it asks for parity 1 while the barrier is in phase 0: \"phase -1\" counts as over, and the wait passes at once.", 12)
    p.text(20, 310, "Two phases late, the answer is about another phase: phase 3 and phase 5 have the same parity.", 12)
    return p.svg()


def edge():
    p = Picture(860, 380, "Lesson 04: a box over the edge of the matrix, and the two counters of the mbarrier",
                "The box of 128 rows hangs over the matrix by 40 rows, which arrive as zeros and count as bytes. Below, the pending arrivals and "
                "the tx-count of the barrier: initialised to 1 and 0, after expect_tx 0 and 32768, then less with every copy, until both are 0.")
    p.text(20, 26, "Matrix A in global memory", 13, bold=True)
    p.box(30, 44, 190, 100, GREY, "")
    p.text(125, 66, "rows of A", 12, "middle")
    p.box(90, 84, 70, 92, "none", "")
    p.text(125, 108, "88 rows", 11, "middle")
    p.text(125, 162, "40 rows", 11, "middle")
    p.text(166, 166, "outside", 11)
    p.text(20, 200, "box: 128 rows x 64 columns", 12)
    p.arrow(230, 120, 330, 120, "copy engine")
    p.text(340, 26, "Tile in shared memory", 13, bold=True)
    p.box(350, 44, 130, 74, ENGINE, "88 rows of A")
    p.box(350, 118, 130, 34, PALE, "40 rows of zeros")
    p.text(340, 180, "16384 bytes landed,", 12)
    p.text(340, 197, "zeros included", 12)
    p.text(540, 26, "What the announcement must be", 13, bold=True)
    p.text(540, 52, "A: 128 x 64 x 2 = 16384 bytes", 12)
    p.text(540, 72, "B: 128 x 64 x 2 = 16384 bytes", 12)
    p.text(540, 92, "32768 bytes, at every edge", 12)
    p.text(20, 240, "full_bar, one phase", 13, bold=True)
    steps = [("init", 1, 0), ("arrive.expect_tx", 0, 32768), ("A has landed", 0, 16384), ("B has landed", 0, 0), ("next phase", 1, 0)]
    p.text(20, 286, "pending arrivals", 12)
    p.text(20, 322, "tx-count in bytes", 12)
    for i, (what, arrivals, count) in enumerate(steps):
        x = 150 + 140 * i
        p.text(x + 60, 258, what, 11, "middle")
        p.box(x, 268, 120, 26, PRODUCER if arrivals else PALE, str(arrivals))
        p.box(x, 304, 120, 26, ENGINE if count else PALE, str(count))
    p.text(20, 362, "The phase completes when both are zero. Two counters, never added: one counts threads, the other bytes.", 12)
    return p.svg()


def lanes():
    p = Picture(860, 420, "Lesson 08: from the lane to stmatrix to the chunk in the swizzled block",
                "stmatrix stores four 8 x 8 matrices. Lanes 0 to 7 name the rows of the upper left one, 8 to 15 of the lower left, 16 to 23 of the "
                "upper right, 24 to 31 of the lower right. Chunk c of row r is stored at position c XOR r mod 8 of its row.")
    p.text(20, 26, "One stmatrix: 16 rows x 16 columns, four matrices", 13, bold=True)
    names = [("matrix 0", 0, 0, "lanes 0 to 7"), ("matrix 1", 1, 0, "lanes 8 to 15"), ("matrix 2", 0, 1, "lanes 16 to 23"), ("matrix 3", 1, 1, "lanes 24 to 31")]
    for name, down, right, who in names:
        p.box(60 + 130 * right, 66 + 100 * down, 126, 96, [PALE, GREY][(down + right) % 2], name, 12, f"named by {who}")
    p.text(123, 58, "chunk 2i", 11, "middle")
    p.text(253, 58, "chunk 2i + 1", 11, "middle")
    p.text(52, 120, "rows", 11, "end")
    p.text(52, 134, "0 to 7", 11, "end")
    p.text(52, 220, "rows", 11, "end")
    p.text(52, 234, "8 to 15", 11, "end")
    p.text(20, 290, "A lane names the address of one row of one matrix, 16 bytes,", 12)
    p.text(20, 308, "and gives the registers of its own sums: of each matrix", 12)
    p.text(20, 326, "row lane / 4, columns 2 (lane mod 4) and + 1.", 12)
    p.arrow(325, 160, 400, 160)
    p.text(420, 26, "The block of 16 x 64 in shared memory, for i = 1", 13, bold=True)
    for position in range(8):
        p.text(485 + 40 * position, 44, str(position), 10, "middle")
    for row in range(16):
        p.text(458, 60 + 20 * row, f"row {row}", 10, "end")
        for position in range(8):
            chunk = position ^ row % 8
            lane = row + 16 * (chunk - 2) if chunk in (2, 3) else None
            p.box(466 + 40 * position, 49 + 20 * row, 38, 18, LIGHT if lane is not None else PALE, "" if lane is None else f"lane {lane}", 9)
    p.text(420, 392, "Blue: where the lanes of this stmatrix write. The eight rows of a matrix are in", 12)
    p.text(420, 409, "eight different positions, so in different banks.", 12)
    return p.svg()


def who_waits():
    p = Picture(860, 360, "Lesson 06: who waits for whom",
                "The producer waits on the empty barrier, announces bytes on the full barrier and starts the copies; the copy engine completes the "
                "full barrier; the consumers wait on it, multiply, and arrive on the empty barrier, one thread per warp.")
    p.text(20, 26, "Solid: makes it happen.  Dashed: waits for it.", 13, bold=True)
    p.box(30, 140, 150, 60, PRODUCER, "producer", 13, "one thread of warp 8")
    p.box(660, 80, 170, 50, CONSUMER, "consumer warpgroup 0", 12, "rows 0 to 63")
    p.box(660, 210, 170, 50, CONSUMER, "consumer warpgroup 1", 12, "rows 64 to 127")
    p.box(330, 140, 160, 60, GREY, "three stages", 13, "A 128 x 64, B 128 x 64")
    p.box(250, 72, 120, 40, ENGINE, "copy engine", 12)
    p.box(440, 50, 150, 50, BARRIER, "full_bar[stage]", 12, "1 arrival + 32768 bytes")
    p.box(340, 270, 150, 50, BARRIER, "empty_bar[stage]", 12, "8 arrivals: warps")
    p.arrow(130, 138, 248, 98)
    p.text(205, 136, "starts copies", 11)
    p.arrow(340, 114, 370, 138, "")
    p.text(374, 130, "fills", 11)
    p.arrow(372, 90, 438, 82, "bytes", dy=18)
    p.line(60, 138, 60, 48)
    p.arrow(60, 48, 438, 60)
    p.text(150, 66, "arrive.expect_tx", 11, "middle")
    p.arrow(658, 96, 592, 82, "", True)
    p.arrow(700, 208, 560, 102, "", True)
    p.text(650, 70, "wait", 11, "middle")
    p.arrow(492, 160, 658, 120, "")
    p.arrow(492, 180, 658, 226, "")
    p.text(560, 168, "wgmma reads", 11, "middle")
    p.arrow(745, 262, 492, 304, "arrive: one thread per warp", dy=24)
    p.arrow(710, 132, 492, 284, "")
    p.arrow(130, 202, 338, 296, "wait", True, dy=14)
    p.text(20, 348, "No arrow joins two threads of the same role, and none joins the two warpgroups.", 12)
    return p.svg()


PICTURES = {"01_thread_copy/descriptor.svg": descriptor, "03_mbarrier/parity.svg": parity, "04_tma_single_stage/edge.svg": edge,
            "06_warp_specialization/who_waits.svg": who_waits, "08_tma_store/lanes.svg": lanes}


def main():
    if sys.argv[1:] not in (["--write"], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    code = 0
    for name, draw in PICTURES.items():
        path = FOLDER / name
        if sys.argv[1] == "--write":
            path.write_text(draw())
        elif not path.exists() or path.read_text() != draw():
            print(f"lessons/{name} is not what pictures.py draws\n  try   python3 lessons/pictures.py --write", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
