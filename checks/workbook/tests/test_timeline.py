"""The timeline: a trace becomes steps, sentences, a figure and a page; what cannot be shown is said."""

import json
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import browser
import traces
import tree  # puts the tool on the path
from workbook.timeline import Malformed, make_page, write_figure
from workbook.timeline.read import read
from workbook.timeline.view import view

LIMIT_BYTES = 1_000_000


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="timeline.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def seen(self, **more):
        return view(read(traces.written(self.folder, "t.json", traces.trace(**more))), "a run")


class Steps(Folder):
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


class Malformations(Folder):
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

    def test_the_page_says_it_and_so_does_the_caller(self):
        (self.folder / "cut.json").write_text('{"format":', encoding="utf-8")
        with self.assertRaises(Malformed):
            make_page([(self.folder / "cut.json", "a run")], self.folder / "page.html")
        self.assertIn("ends too early or is no JSON", (self.folder / "page.html").read_text(encoding="utf-8"))


class Figure(Folder):
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


@unittest.skipUnless(browser.find(), "no Chromium is installed: the page is not tried")
class Page(Folder):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def page(self, *runs, fragment="", width=1400, **look):
        paths = [(traces.written(self.folder, f"{i}.json", made), name) for i, (name, made) in enumerate(runs)]
        out = self.folder / "page.html"
        make_page(paths, out, "A title")
        self.assertLess(out.stat().st_size, LIMIT_BYTES)
        self.browser.look(width, **look)
        self.browser.open(out, fragment)
        return self.browser

    def quiet(self):
        self.assertEqual(self.browser.requests(), [])
        self.assertEqual(self.browser.errors(), [])

    def at(self):
        return self.browser.value("player.shown.map((part) => part.run.at)")

    def test_it_steps_to_the_end_and_back_without_an_error_or_a_request(self):
        b = self.page(("a run", traces.trace()))
        last = b.value("player.shown[0].run.last")
        for i in range(1, last + 1):
            b.press("ArrowRight")
            self.assertEqual(self.at(), [i])
            self.assertEqual(b.value("document.getElementById('live').textContent"), b.value("player.shown[0].run.beat.text"))
        b.press("ArrowRight")
        self.assertEqual(self.at(), [last])
        for i in reversed(range(last)):
            b.press("ArrowLeft")
            self.assertEqual(self.at(), [i])
        b.press("End")
        self.assertEqual(self.at(), [last])
        b.press("Home")
        self.assertEqual(self.at(), [0])
        self.quiet()

    def test_the_byte_counter_is_0_when_the_phase_flips_and_never_before(self):
        b = self.page(("a run", traces.trace(steps=3)), still=True)
        phase, seen = 0, []
        for _ in range(b.value("player.shown[0].run.last")):
            b.press("ArrowRight")
            shown = b.value("""(() => { const box = document.querySelector('[data-barrier="0"]');
                return [...box.querySelectorAll('dd')].map((d) => d.firstChild.textContent).concat(box.dataset.phase, player.shown[0].run.state['b0.announced'] || 0); })()""")
            arrivals, waiting, bit, now, announced = [int(str(text).replace(",", "")) for text in shown]
            self.assertEqual(bit, now % 2)
            if now != phase:
                self.assertEqual((now, waiting), (phase + 1, 0))
                seen.append(now)
            elif announced:
                self.assertGreater(waiting, 0)
            phase = now
        self.assertEqual(seen, [1, 2, 3])

    def test_it_plays_and_pauses(self):
        b = self.page(("a run", traces.trace()))
        b.value("document.getElementById('speed').value = '8', document.getElementById('speed').dispatchEvent(new Event('change'))")
        b.press(" ")
        b.until("player.playing && player.shown[0].run.at > 2")
        b.press(" ")
        self.assertFalse(b.value("player.playing"))
        at = self.at()
        time.sleep(0.3)
        self.assertEqual(self.at(), at)
        b.press(" ")
        b.until("!player.playing && player.shown[0].run.at === player.shown[0].run.last")
        self.quiet()

    def test_two_runs_move_together(self):
        b = self.page(("long", traces.trace(steps=3)), ("short", traces.trace(steps=1)), fragment="pair")
        self.assertEqual(b.value("document.querySelectorAll('.run').length"), 2)
        for _ in range(4):
            b.press("ArrowRight")
        self.assertEqual(self.at(), [4, 4])
        b.press("End")
        self.assertEqual(self.at(), b.value("player.shown.map((part) => part.run.last)"))
        b.press("Home")
        b.value("player.speed = 8")
        b.press(" ")
        b.until("!player.playing && player.shown[0].run.at === player.shown[0].run.last")
        self.quiet()

    def test_a_prediction_is_asked_marked_played_and_judged(self):
        b = self.page(("a run", traces.trace(steps=2)))
        b.value("player.speed = 8")
        for key, verdict, score in (("5", "Right", "1 of 1 right"), ("4", "Not yet: 1,024 bytes still to come.", "1 of 2 right")):
            if key == "5":
                b.press("p")
            else:
                b.value("[...document.querySelectorAll('.ask .go button')][0].click()")
            self.assertIn("does the phase flip?", b.value("document.querySelector('.ask').textContent"))
            self.assertTrue(b.value("document.querySelector('.asking') !== null"))
            b.press(key)
            b.until("document.querySelector('.ask .verdict') !== null")
            self.assertIn(verdict, b.value("document.querySelector('.ask .verdict').textContent"))
            self.assertIn(score, b.value("document.querySelector('.ask').textContent"))
            self.assertNotEqual(b.value("player.shown[0].run.beat.flips"), [])
        b.press("p")
        self.assertFalse(b.value("document.querySelector('.asking') !== null"))
        self.quiet()

    def test_a_finding_is_shown_where_it_happens_with_both_sides(self):
        b = self.page(("bug", traces.trace(waits=False)), ("cure", traces.trace()))
        self.assertTrue(b.value("document.querySelector('.finding').hidden"))
        b.press("f")
        self.assertIn("read-before-landed", b.value("document.querySelector('.finding:not([hidden])').textContent"))
        self.assertGreater(b.value("document.querySelectorAll('.fault').length"), 0)
        self.assertEqual(b.value("document.querySelectorAll('.tile.short').length"), 2)
        self.assertEqual(b.value("[...document.querySelectorAll('.code tr.lit')].map((r) => r.className + r.cells[0].textContent)"),
                         ["lit other6", "lit8"])
        b.value("[...document.querySelectorAll('.finding .go button')].find((e) => /other side/.test(e.textContent)).click()")
        self.assertEqual(b.value("player.shown[0].run.beat.e"), "copy")
        self.quiet()

    def test_a_look_into_a_tile_shows_where_the_swizzle_puts_a_chunk(self):
        b = self.page(("a run", traces.trace()), fragment="10")
        b.value("document.querySelector('.tile').click()")
        b.value("[...document.querySelectorAll('.inspector .cells button')][8 * 5 + 3].click()")
        self.assertIn("3 XOR 5 = 6", b.value("document.querySelector('.inspector .place').textContent"))

    def test_text_of_the_program_stays_text(self):
        made = traces.trace(kernel="gemm<script>window.bad = 1</script>")
        made["barriers"][0]["name"] = "</script><img src=x onerror='window.bad = 1'>"
        made["files"][0]["lines"].append([99, "<b>bold</b> \u2028 @RUNS@ @TITLE@"])
        made["lines"].append(dict(file=0, line=99, inlined="", instruction="<i>"))
        made["events"].append(dict(t=999, e="print", cta=0, warp=0, line=len(made["lines"]) - 1, text="<img src=x onerror='window.bad = 1'>"))
        made["barriers"][0]["line"] = -1
        b = self.page(("<u>run</u>", made))
        b.press("End")
        self.assertIsNone(b.value("window.bad || null"))
        self.assertEqual(b.value("document.querySelectorAll('main img, main b:not(.tile b), main u').length"), 0)
        self.assertIn("<img", b.value("document.getElementById('live').textContent"))
        self.quiet()

    def test_a_broken_trace_is_a_message_and_no_blank_page(self):
        (self.folder / "cut.json").write_text('{"format":', encoding="utf-8")
        with self.assertRaises(Malformed):
            make_page([(self.folder / "cut.json", "a run")], self.folder / "page.html")
        self.browser.open(self.folder / "page.html")
        self.assertIn("ends too early", self.browser.value("document.body.innerText"))
        text = (self.folder / "page.html").read_text(encoding="utf-8")
        self.page(("a run", traces.trace()))
        whole = (self.folder / "page.html").read_text(encoding="utf-8")
        at = whole.index('"beats":[') + 200
        (self.folder / "page.html").write_text(whole[:at] + whole[at + 50:], encoding="utf-8")
        self.browser.open(self.folder / "page.html")
        self.assertIn("This run cannot be shown", self.browser.value("document.body.innerText"))
        self.assertNotIn("This run cannot be shown", text.split("<script")[0])

    def test_it_fits_a_phone_and_needs_no_pointer(self):
        for width in (360, 390, 820, 1400):
            for dark in (False, True):
                b = self.page(("a run", traces.trace()), width=width, dark=dark, still=True)
                self.assertLessEqual(b.value("document.documentElement.scrollWidth"), width)
        for _ in range(3):
            b.press("Tab")
        self.assertTrue(b.value("document.activeElement !== document.body"))
        b.value("document.querySelector('details.words').open = true")
        b.value("document.querySelectorAll('.words li button')[3].click()")
        self.assertEqual(self.at(), [3])
        self.assertEqual(b.value("document.querySelector('.words [aria-current]').textContent.slice(0, 1)"), "4")
        self.quiet()


if __name__ == "__main__":
    unittest.main()
