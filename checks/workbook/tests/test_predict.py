"""Predictions: a window gives back what a tile, a step and a start cost; a large problem is more of the same."""

import unittest

from tree import Tree

from workbook import predict

# 128x128x64 tiles, two CTAs on an SM. Once 1000 cycles, 400 for a tile and 600 for a step; the tensor cores work for 512 of it.
PROGRAM = """#!/usr/bin/env python3
import json, os, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "--sms" in options and not PERSISTENT:
    sys.exit(2)
m, n, k = (int(options[f"--{d}"]) for d in "mnk")
sms = int(os.environ["EMU_SCHEDULE"].split(":")[1])
tiles, steps = m // 128 * (n // 128) / sms, k // 64
cycles = 1000 + tiles * (400 + 600 * steps)
json.dump({"timed": {"cluster": 1, "ctas_per_sm": 2, "sms": sms, "ctas": m // 128, "cycles": cycles, "overlaps": False,
                     "tensor_busy": tiles * steps * 512 / cycles, "waits_for_copies": tiles * steps * 60 / cycles}},
          open(os.environ["EMU_JSON"], "w"))
json.dump({"verdict": VERDICT, "variant": "", "stages": 3}, open(options["--json"], "w"))
"""


class Predict(Tree):
    def program(self, persistent=False, verdict="right"):
        return self.write("program", PROGRAM.replace("PERSISTENT", str(persistent)).replace("VERDICT", repr(verdict)), True)

    def window(self, **kind):
        return predict.window([self.program(**kind)], (128, 128, 64))

    def test_a_window_gives_back_what_a_tile_and_a_step_cost(self):
        for persistent in (False, True):
            seen = self.window(persistent=persistent)
            self.costs(seen.costs(predict.MHZ[0]), 1000, 400, 600, 0.1)
            self.assertAlmostEqual(seen.busy, 512)

    def costs(self, costs, start, per_tile, per_step, waits):
        for got, want in zip((costs.start, costs.per_tile, costs.per_step, costs.waits), (start, per_tile, per_step, waits)):
            self.assertAlmostEqual(got, want, places=6)

    def test_what_takes_time_takes_more_cycles_of_a_faster_clock(self):
        seen = predict.window([self.write("program", PROGRAM.replace("PERSISTENT", "False").replace("VERDICT", "'right'").replace(
            "600 * steps", "(512 + 100 * int(os.environ['EMU_MHZ']) // 10 / 100) * steps"), True)], (128, 128, 64))
        for mhz in (*predict.MHZ, 1500):
            self.assertAlmostEqual(seen.costs(mhz).per_step, 512 + mhz / 10)
        said = seen.at(4096, 4096, 4096)
        self.assertAlmostEqual(said.cycles, 1000 + 8 * (400 + 64 * (512 + said.mhz / 10)), delta=8 * 64)

    def test_a_large_problem_is_more_of_the_same(self):
        seen = self.window()
        self.assertEqual([seen.tiles(s, s) for s in (2048, 4096, 8192)], [2, 8, 32])
        said = seen.at(4096, 4096, 4096)
        self.assertEqual(said.cycles, 1000 + 8 * (400 + 64 * 600))
        self.assertAlmostEqual(said.ms, (said.cycles / said.mhz + predict.LAUNCH_US + predict.FIRST_TILES_US) / 1000)
        self.assertAlmostEqual(said.tflops, 2e-9 * 4096**3 / said.ms)

    def test_no_step_is_shorter_than_its_products(self):
        seen = predict.window([self.write("program", PROGRAM.replace("PERSISTENT", "False").replace("VERDICT", "'right'").replace(
            "600 * steps", "300 * steps"), True)], (128, 128, 64))
        self.assertAlmostEqual(seen.slow.per_step, 512)

    def own(self, grid_of, cluster=1, unit=None, least=1):
        """The window of a program of 128x256x64 tiles, as above, whose grid is grid_of(tiles, SMs); least: tiles of its units."""
        asked = []

        def timed_at(sms, m, n, k, first=False, mhz=predict.MHZ[0]):
            tiles, steps = -(-m // 128) * -(-n // 256), k // 64
            self.assertEqual(tiles % least, 0)
            asked.append(first)
            grid = grid_of(-(-tiles // cluster) * cluster, sms)
            each = -(-tiles // (grid if first else min(sms, grid)))
            cycles = 1000 + each * (400 + 600 * steps)
            return {"cluster": cluster, "ctas_per_sm": 1, "sms": sms, "ctas": grid, "cycles": cycles, "overlaps": False,
                    "tensor_busy": each * steps * 512 / cycles, "waits_for_copies": each * steps * 60 / cycles}

        seen = predict.own_window(timed_at, (128, 256, 64), unit)
        self.costs(seen.fast, 1000, 400, 600, 0.1)
        self.assertAlmostEqual(seen.busy, 512)
        return seen, asked

    def test_a_program_of_ones_own_is_seen_through_a_window_where_its_grid_follows_the_problem_or_the_machine(self):
        for grid_of in (lambda tiles, sms: tiles, lambda tiles, sms: sms, lambda tiles, sms: min(tiles, sms)):
            for cluster in (1, 2):
                seen, asked = self.own(grid_of if cluster == 1 else lambda tiles, sms: max(2, grid_of(tiles, sms)), cluster)
                self.assertEqual((seen.sms, asked[2:]), (132, [False] * 6))
        self.assertEqual(seen.tiles(4096, 4096), 4)

    def test_of_a_grid_that_is_always_the_same_the_first_ctas_run(self):
        seen, asked = self.own(lambda tiles, sms: 128, unit=(2048, 2048), least=128)
        self.assertEqual((seen.sms, asked), (128, [False] + [True] * 7))
        self.assertEqual([seen.tiles(s, s) for s in (2048, 4096, 8192)], [1, 4, 16])
        seen, asked = self.own(lambda tiles, sms: 132)
        self.assertEqual((seen.sms, asked[-1]), (132, True))

    def test_the_clock_falls_under_load(self):
        for state in predict.LEVELS:
            levels = [predict.clock(us, state) for us in (5, 30, 100, 200, 700, 1500, 10000)]
            self.assertEqual(levels, sorted(levels, reverse=True))
            self.assertEqual((levels[0], levels[-1]), (predict.LEVELS[state][0][1], predict.LEVELS[state][-1][1]))

    def test_a_wrong_program_has_no_prediction(self):
        with self.assertRaises(predict.NoPrediction):
            self.window(verdict="wrong")
        with self.assertRaises(predict.NoPrediction):
            predict.tile_of({"tile": "0x0x0"})


if __name__ == "__main__":
    unittest.main()
