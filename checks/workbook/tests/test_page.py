"""The page in a browser: it moves, counts, asks, shows what is wrong, and asks nobody for anything."""

import sys
import time
import unittest

import browser
import traces
from workbook.timeline import Malformed, make_page

LIMIT_BYTES = 1_000_000
SKIPPED = 77


class Page(traces.Folder):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser(sharpness=0.25)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def made(self, *runs):
        """The file of a page of these runs, [(name, trace)]."""
        paths = [(traces.written(self.folder, f"{i}.json", made), name) for i, (name, made) in enumerate(runs)]
        out = self.folder / "page.html"
        make_page(paths, out, "A title")
        self.assertLess(out.stat().st_size, LIMIT_BYTES)
        return out

    def page(self, *runs, fragment="", width=1400, **look):
        out = self.made(*runs)
        self.browser.look(width, **look)
        self.browser.open(out, fragment)
        return self.browser

    def quiet(self):
        self.assertEqual(self.browser.requests(), [])
        self.assertEqual(self.browser.errors(), [])

    def at(self):
        return self.browser.value("player.shown.map((part) => part.run.at)")

    def test_it_steps_to_the_end_and_back_without_an_error_or_a_request(self):
        b = self.page(("a run", traces.trace(steps=1)), still=True)
        last, seen = b.value("player.shown[0].run.last"), "[player.shown[0].run.at, document.getElementById('live').textContent]"
        texts = b.value("player.shown[0].run.beats.map((beat) => beat.text)")
        for i in range(1, last + 1):
            b.press("ArrowRight")
            self.assertEqual(b.value(seen), [i, texts[i]])
        b.press("ArrowRight")
        self.assertEqual(self.at(), [last])
        for i in reversed(range(last)):
            b.press("ArrowLeft")
            self.assertEqual(b.value(seen), [i, texts[i]])
        b.press("End")
        self.assertEqual(self.at(), [last])
        b.press("Home")
        self.assertEqual(self.at(), [0])
        self.quiet()

    def test_the_byte_counter_is_0_when_the_phase_flips_and_never_before(self):
        b = self.page(("a run", traces.trace(steps=2)), still=True)
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
        self.assertEqual(seen, [1, 2])

    def test_it_plays_and_pauses(self):
        b = self.page(("a run", traces.trace(steps=1)))
        b.value("document.getElementById('speed').value = '8', document.getElementById('speed').dispatchEvent(new Event('change'))")
        b.press(" ")
        b.until("player.playing && player.shown[0].run.at > 2")
        b.press(" ")
        self.assertFalse(b.value("player.playing"))
        at = self.at()
        time.sleep(0.3)
        self.assertEqual(self.at(), at)
        b.value("player.speed = 40")
        b.press(" ")
        b.until("!player.playing && player.shown[0].run.at === player.shown[0].run.last")
        self.quiet()

    def test_two_runs_move_together(self):
        b = self.page(("long", traces.trace(steps=2)), ("short", traces.trace(steps=1)), fragment="pair", still=True)
        self.assertEqual(b.value("document.querySelectorAll('.run').length"), 2)
        for _ in range(4):
            b.press("ArrowRight")
        self.assertEqual(self.at(), [4, 4])
        b.press("End")
        self.assertEqual(self.at(), b.value("player.shown.map((part) => part.run.last)"))
        b.press("Home")
        b.value("player.speed = 40")
        b.press(" ")
        b.until("!player.playing && player.shown[0].run.at === player.shown[0].run.last")
        self.quiet()

    def test_a_prediction_is_asked_marked_played_and_judged(self):
        b = self.page(("a run", traces.trace(steps=2)), still=True)
        b.value("player.speed = 40")
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
        b = self.page(("bug", traces.trace(waits=False)), ("cure", traces.trace()), still=True)
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
        out = self.made(("a run", traces.trace()))
        whole = out.read_text(encoding="utf-8")
        at = whole.index('"beats":[') + 200
        out.write_text(whole[:at] + whole[at + 50:], encoding="utf-8")
        self.browser.open(out)
        self.assertIn("This run cannot be shown", self.browser.value("document.body.innerText"))
        self.assertNotIn("This run cannot be shown", text.split("<script")[0])

    def test_it_fits_a_phone_and_needs_no_pointer(self):
        for width in (1400, 820, 360):
            b = self.page(("a run", traces.trace()), width=width, still=True)
            for dark in (False, True):
                b.look(width, dark=dark, still=True)
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
    if not browser.find():
        print("SKIPPED: no Chromium is installed, so the page of a run was not tried; try: apt-get install chromium")
        sys.exit(SKIPPED)
    unittest.main()
