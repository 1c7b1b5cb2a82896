"""The timeline: a trace becomes steps, sentences, a figure and a page; what cannot be shown is said."""

import json
import unittest
import xml.etree.ElementTree as ElementTree

import traces
from workbook.timeline import Malformed, make_page, tiles, write_figure, write_tiles
from workbook.timeline.read import read
from workbook.timeline.view import load, view


class Steps(traces.Folder):
    def seen(self, **more):
        return view(read(traces.written(self.folder, "t.json", traces.trace(**more))), "a run")

    def test_what_happens_is_told_in_order(self):
        texts = [beat["text"] for beat in self.seen(steps=1)["beats"]]
        self.assertEqual(texts, [
            "Warp 0, lane 0 initialises full_bar for 1 arrival a phase.",
            "Warps 0 to 3 arrive at barrier 0 (__syncthreads) and wait there.",
            "All have arrived at barrier 0 (__syncthreads): warps 0 to 3 go on.",
            "Warp 0, lane 0 announces 2,048 bytes on full_bar and arrives: 0 arrivals and 2,048 bytes pending.",
            "Warp 0, lane 0 starts copy 0: box (0, 0) of 8 × 64 elements, 1,024 bytes to a, to complete on full_bar.",
            "Warp 0, lane 0 starts copy 1: box (0, 0) of 8 × 64 elements, 1,024 bytes to b, to complete on full_bar.",
            "Warps 0 to 3 wait for phase 0 of full_bar.",
            "Copy 0 lands: 1,024 bytes. full_bar: 0 arrivals and 1,024 bytes pending.",
            "Copy 1 lands: 1,024 bytes. full_bar: 0 arrivals and 0 bytes pending. Nothing is pending any more: phase 0 of full_bar is "
            "complete, and its phase bit flips to 1.",
            "Warps 0 to 3 go on: phase 0 of full_bar is complete.",
            "Warpgroup 0 starts product 0 on the tensor core: 4 wgmma m64n8k16.",
            "Product 0 of warpgroup 0 is complete.",
            "Warp 0 leaves the kernel."])

    def test_a_copy_in_im2col_mode_tells_its_offsets(self):
        made = traces.trace(steps=1)
        copy = next(event for event in made["events"] if event["e"] == "copy")
        copy["start"], copy["offset"] = [0, 3, 1, 2], [2, 0]
        made["maps"][copy["map"]]["box"] = [8, 64]  # channels, pixels
        texts = [beat["text"] for beat in view(read(traces.written(self.folder, "t.json", made)), "a run")["beats"]]
        self.assertIn("Warp 0, lane 0 starts copy 0: box (0, 3, 1, 2) + (2, 0) of 64 × 8 elements, 1,024 bytes to a, to complete on "
                      "full_bar.", texts)

    def test_the_bytes_are_0_exactly_when_the_phase_flips(self):
        state, counting = {}, False
        for beat in self.seen(steps=3)["beats"]:
            before = dict(state)
            state.update(beat["set"])
            counting = state.get("b0.announced", 0) > 0 or (counting and not beat["flips"])
            if beat["flips"]:
                self.assertEqual(state["b0.bytes"], 0)
                self.assertGreater(before["b0.bytes"], 0)
                self.assertEqual(state["b0.phase"], before["b0.phase"] + 1)
            elif state.get("b0.announced"):
                self.assertGreater(state["b0.bytes"], 0)

    def test_a_stage_is_filled_full_read_and_filled_again(self):
        states = [beat["set"]["s0.state"] for beat in self.seen(steps=2)["beats"] if "s0.state" in beat["set"]]
        self.assertEqual(states, ["filling", "full", "used", "read"] * 2)
        stage = self.seen()["stages"][0]
        self.assertEqual([t["name"] for t in stage["tiles"]], ["a", "b"])
        self.assertEqual(stage["full"], 0)

    def test_a_block_that_holds_tiles_of_both_matrices_names_none(self):
        def tiles(*places):
            made = traces.trace()
            for event in made["events"]:
                if "place" in event:
                    event["place"] = places[event["map"]]
                elif event["e"] == "product":
                    event["a"], event["b"] = places[0] + "+512", places[1]
            return [t["name"] for t in view(read(traces.written(self.folder, "t.json", made)), "a run")["stages"][0]["tiles"]]

        self.assertEqual(tiles("smem", "smem+1024"), ["map 0", "map 1"])
        self.assertEqual(tiles("a", "b"), ["a", "b"])
        self.assertEqual(tiles("tiles_a[1]", "tiles_b[1]"), ["tiles_a", "tiles_b"])

    def test_the_right_answer_of_a_question_is_the_flip(self):
        seen = self.seen(steps=2)
        self.assertEqual([q["phase"] for q in seen["questions"]], [0, 1])
        for question in seen["questions"]:
            self.assertEqual(seen["beats"][question["answer"]]["flips"], [0])
            right = [o for o in question["options"] if o["why"] == "Right."]
            self.assertEqual([o["beat"] for o in right], [question["answer"]])
            self.assertIn("Not yet: 1,024 bytes still to come.", [o["why"] for o in question["options"]])

    def test_a_finding_has_both_its_sides_and_half_of_the_tile_is_there(self):
        seen = self.seen(steps=1, waits=False)
        finding, = seen["findings"]
        self.assertEqual(seen["beats"][finding["at"]]["e"], "product")
        self.assertEqual(seen["beats"][finding["other"]]["e"], "copy")
        self.assertEqual(self.seen()["findings"], [])

    def test_under_a_schedule_with_time_steps_that_are_apart_stay_apart(self):
        together, apart = self.seen(), self.seen(unit="cycle")
        self.assertGreater(len(apart["beats"]), len(together["beats"]))
        self.assertEqual(apart["beats"][-1]["x"], apart["beats"][-1]["t"])
        made = traces.trace(unit="cycle")
        for event in made["events"]:
            event["t"] //= 10
        places = [beat["x"] for beat in view(read(traces.written(self.folder, "t.json", made)), "a run")["beats"]]
        self.assertTrue(all(a < b for a, b in zip(places, places[1:])), places)

    def test_what_was_left_out_is_said(self):
        self.assertEqual(self.seen()["left_out"], ["3 other CTAs (EMU_TRACE_CTAS=FIRST-LAST records them)"])


class Malformations(traces.Folder):
    def refused(self, part, **more):
        with self.assertRaises(Malformed) as raised:
            read(traces.written(self.folder, "t.json", traces.trace(**more)))
        self.assertIn(part, str(raised.exception))
        self.assertIn("record it again", str(raised.exception))

    def test_each_is_named(self):
        self.refused("it is no trace", format="other")
        self.refused("version 2", version=2)
        self.refused("neither step nor cycle", unit="second")
        self.refused("list of events", events=7)
        self.refused("no events", events=[])
        self.refused("names barrier 5", events=[dict(t=1, e="flip", barrier=5)])
        self.refused("event 0 is broken", events=[dict(e="flip")])
        self.refused("bytes is no number", events=[dict(t=1, e="land", bytes="many")])
        with self.assertRaises(Malformed):
            read(self.folder / "none.json")

    def test_a_trace_that_is_cut_off_anywhere_is_refused(self):
        text = json.dumps(traces.trace())
        for part in range(1, 20):
            path = self.folder / "cut.json"
            path.write_text(text[:len(text) * part // 20], encoding="utf-8")
            with self.assertRaises(Malformed):
                read(path)

    def test_whatever_stands_in_a_field_it_is_refused_or_shown(self):
        path = traces.written(self.folder, "t.json", traces.trace(waits=False))
        text, shown = path.read_text(encoding="utf-8"), 0
        for odd in (None, "x", -1, 10 ** 12, [], {}, [[]], 1.5, True):
            for at in range(1, len(json.loads(text)["events"])):
                made = json.loads(text)
                event = made["events"][at]
                key = sorted(event)[at % len(event)]
                event[key] = odd
                path.write_text(json.dumps(made), encoding="utf-8")
                try:
                    shown += bool(load(path, "a run")["beats"])
                except Malformed as problem:
                    self.assertIn("record it again", str(problem))
        self.assertGreater(shown, 10)

    def test_the_page_says_it_and_so_does_the_caller(self):
        (self.folder / "cut.json").write_text('{"format":', encoding="utf-8")
        with self.assertRaises(Malformed):
            make_page([(self.folder / "cut.json", "a run")], self.folder / "page.html")
        self.assertIn("ends too early or is no JSON", (self.folder / "page.html").read_text(encoding="utf-8"))


class Figure(traces.Folder):
    def test_the_same_trace_gives_the_same_figure(self):
        path = traces.written(self.folder, "t.json", traces.trace(waits=False))
        for name in ("1.svg", "2.svg"):
            write_figure([(path, "one <stage>")], self.folder / name, "A & B")
        first = (self.folder / "1.svg").read_bytes()
        self.assertEqual(first, (self.folder / "2.svg").read_bytes())
        root = ElementTree.fromstring(first)
        texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
        for text in ("one <stage>", "copy engine", "stage 0", "tensor core", "read-before-landed"):
            self.assertIn(text, texts)

    def tiles(self, **more):
        """Two tiles of C, of two K steps each, computed and stored by one CTA."""
        made = traces.trace(steps=4, unit="cycle", **more)
        for event in made["events"]:
            if event["e"] == "copy":
                event["start"][0] %= 128
        for number in (100, 101):
            made["end"] += 10
            made["events"] += [dict(t=made["end"], e="copy", cta=0, warp=0, lane=0, lanes=1, copy=number, kind="tensor_store", bytes=64,
                                    operations=1, map=0, line=6), dict(t=made["end"] + 5, e="done", cta=0, copy=number)]
        return made

    def test_a_tile_of_c_is_the_copies_until_k_begins_anew_and_as_many_products_and_stores(self):
        made = self.tiles()
        spans = tiles.of_sm(made)
        self.assertEqual(sorted(key for key in spans if key[1] is None), [(k, None, t) for k in ("copy", "store") for t in (0, 1)])
        self.assertEqual(sorted(key for key in spans if key[1] == 0), [("product", 0, 0), ("product", 0, 1)])
        starts = [e["t"] for e in made["events"] if e["e"] == "copy" and e["kind"] == "tensor_load"]
        ends = [e["t"] for e in made["events"] if e["e"] == "land"]
        self.assertEqual([spans["copy", None, tile] for tile in (0, 1)], [(starts[0], ends[3]), (starts[4], ends[7])])
        path = traces.written(self.folder, "t.json", made)
        write_tiles([(path, "stays"), (path, "again")], self.folder / "tiles.svg", "Tiles")
        texts = [e.text for e in ElementTree.parse(self.folder / "tiles.svg").iter("{http://www.w3.org/2000/svg}text")]
        for text in ("stays", "copies", "Warps 0 to 3", "stores", "tile 1"):
            self.assertIn(text, texts)

    def test_tiles_are_those_of_the_first_cta_of_each_cluster_one_after_the_other(self):
        made = self.tiles(cluster=[2, 1, 1], ctas=[dict(cta=c, index=[c, 0, 0], rank=c % 2, warps=4) for c in (0, 1, 2)])
        later = [dict(e, cta=2, t=e["t"] + 1000) for e in made["events"]]
        made["events"] += [dict(e, cta=1) for e in made["events"]] + later
        spans = tiles.of_sm(made)
        self.assertEqual([tile for kind, _, tile in sorted(spans) if kind == "copy"], [0, 1, 2, 3])
        self.assertEqual(spans["copy", None, 2][0], spans["copy", None, 0][0] + 1000)

    def test_a_run_that_knows_no_cycles_has_no_tiles(self):
        with self.assertRaises(Malformed):
            tiles.of_sm(traces.trace())


if __name__ == "__main__":
    unittest.main()
