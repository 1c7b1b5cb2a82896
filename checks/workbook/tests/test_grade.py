"""Grading without a sandbox: what is taken from a hand-in, its blanks, points, and the files of results."""

import contextlib
import csv
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml
import zipfile
from pathlib import Path
from unittest import mock

from tree import ASKED, TOOL, Tree

from workbook import base, lessons, pages
from workbook.grading import blanks, command, examples, handins, handout, judge, points, results
from workbook.grading.sandbox import Unjudged

NAME = "04_tma_single_stage"
LESSON = lessons.lessons("04")[0]
WORKED = base.load_text(LESSON.solution)


def result(what="right", why="", share=1.0, count=2, lines=()):
    """What is written down of a file with `count` blanks, each of which is so far."""
    parts = [{"number": f"04.{k}", "sentence": "S.", "state": "right" if share == 1 else "wrong", "why": why, "lines": list(lines), "numbers": share,
              "point": share, "share": share} for k in range(1, count + 1)]
    return {"what": what, "why": why, "lines": list(lines), "cases": [{"name": "a", "status": "passed", "point": False, "message": "", "lines": []}],
            "blanks": parts, "remarks": []}


class HandIns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="workbook.")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def put(self, path, data=b"text"):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())

    def only(self):
        found, self.others = handins.collect(self.root)
        self.assertEqual(len(found), 1)
        handins.read(found[0])
        return found[0]

    def test_lesson_files_are_taken_and_the_rest_is_listed(self):
        self.put(f"anna/lessons/{NAME}/{NAME}.cu", "one\r\ntwo")
        self.put("anna/checks/workbook/check.py")
        self.put("grades.xlsx")
        found = self.only()
        self.assertEqual(found.files[NAME].text, "one\ntwo")
        self.assertEqual((found.ignored, self.others), (["checks/workbook/check.py"], ["grades.xlsx"]))

    def test_of_two_the_one_that_is_less_deep_is_taken(self):
        self.put(f"anna/old/backup/{NAME}.cu", "old")
        self.put(f"anna/{NAME}.cu", "new")
        found = self.only()
        self.assertEqual((found.files[NAME].text, found.ignored), ("new", [f"old/backup/{NAME}.cu"]))

    def why(self, make):
        (self.root / "anna").mkdir()
        make(self.root / "anna" / f"{NAME}.cu")
        return self.only().files[NAME].why

    def test_links_are_not_followed(self):
        self.assertIn("links are not followed", self.why(lambda p: p.symlink_to(LESSON.solution)))

    def test_a_folder_full_of_solutions_is_not_reached_by_a_link(self):
        (self.root / "anna").mkdir()
        (self.root / "anna" / "lessons").symlink_to(base.ROOT / "solutions")
        self.assertEqual(self.only().files, {})

    def test_a_pipe_is_not_waited_for(self):
        self.assertIn("it is no file", self.why(os.mkfifo))

    def test_a_folder_is_no_file(self):
        self.assertIn("it is no file", self.why(Path.mkdir))

    def test_a_long_file_is_not_read(self):
        self.assertIn("1,073,741,824 bytes", self.why(lambda p: (p.touch(), os.truncate(p, 1 << 30))))

    def test_what_is_no_text(self):
        self.assertIn("byte 3 is 0xe4", self.why(lambda p: p.write_bytes(b"//\xe4")))

    def test_a_zero_byte(self):
        self.assertIn("byte 3 is zero", self.why(lambda p: p.write_bytes(b"//\0")))

    def test_what_other_systems_write(self):
        self.put(f"anna/{NAME.upper()}.CU", b"\xef\xbb\xbfone\r\ntwo\x0c\xe2\x80\xa8three\r\n")
        self.assertEqual(self.only().files[NAME].text, "one\ntwo  three\n")
        self.put(f"anna/{NAME}.cu", "as the lesson is spelled")
        self.assertEqual(self.only().files[NAME].text, "as the lesson is spelled")
        self.put(f"anna/{NAME}.cu", "text".encode("utf-16"))
        self.assertEqual(self.only().files[NAME].why, "it is UTF-16 text; save it as UTF-8")
        self.put(f"anna/{NAME}.cu", b"\xef\xbb\xbf\xff")
        self.assertIn("byte 4 is 0xff", self.only().files[NAME].why)

    def test_an_archive_of_another_kind_is_a_hand_in_that_cannot_be_read(self):
        for name in ("anna.7z", "ben.tar.zst", "cleo.RAR"):
            self.put(name, b"7z\xbc\xaf")
        found = {h.name: h for h in handins.collect(self.root)[0]}
        self.assertEqual(sorted(found), ["anna", "ben", "cleo"])
        for each in found.values():
            handins.read(each)
            self.assertIn("an archive of this kind is not read; hand in one of .zip, ", each.why)

    def test_a_long_archive_is_not_read(self):
        self.put("anna.zip", b"PK")
        os.truncate(self.root / "anna.zip", handins.PACKED + 1)
        self.assertIn("it has more than 256 MiB", self.only().why)

    def test_a_file_of_nearly_the_right_name_is_told(self):
        self.put(f"anna/x/{NAME} (1).cu")
        self.put(f"anna/{NAME}/README.md")
        self.assertEqual(handins.alike(self.only(), LESSON), f", but x/{NAME} (1).cu")

    @unittest.skipIf(os.getuid() == 0, "nothing is unreadable for the superuser")
    def test_an_unreadable_file(self):
        self.assertIn("Permission denied", self.why(lambda p: (p.write_text("x"), p.chmod(0))))

    def archive(self, name, members):
        with (zipfile.ZipFile if name.endswith("zip") else tarfile.open)(self.root / name, "w") as archive:
            for path, data in members:
                if name.endswith("zip"):
                    archive.writestr(path, data)
                else:
                    info = tarfile.TarInfo(path)
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))

    def test_archives_are_read_and_not_unpacked(self):
        for name in ("anna.zip", "ben.tar"):
            self.archive(name, [(f"..{'/' if name.endswith('tar') else chr(92)}{NAME}.cu", b"text"), ("other", b"")])
        for found in handins.collect(self.root)[0]:
            handins.read(found)
            self.assertEqual((found.files[NAME].text, found.ignored), ("text", ["other"]))
        self.assertEqual(sorted(os.listdir(self.root)), ["anna.zip", "ben.tar"])

    def test_an_archive_that_unpacks_without_end_or_is_none(self):
        self.archive("anna.tar", [("a", b"\0" * (handins.UNPACKED + 1))])
        self.assertIn("unpacks to more than 64 MiB", self.only().why)
        (self.root / "anna.tar").unlink()
        self.put("anna.zip", b"PK no archive")
        self.assertIn("cannot be read", self.only().why)

    def test_a_zip_bomb_is_read_to_the_longest_file_only(self):
        with zipfile.ZipFile(self.root / "anna.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{NAME}.cu", b" " * (32 << 20))
        self.assertIn("more than 100,000 bytes", self.only().files[NAME].why)

    def test_a_link_in_an_archive(self):
        with tarfile.open(self.root / "anna.tar", "w") as archive:
            info = tarfile.TarInfo(f"{NAME}.cu")
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
        with zipfile.ZipFile(self.root / "ben.zip", "w") as archive:
            info = zipfile.ZipInfo(f"{NAME}.cu")
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
        for found in handins.collect(self.root)[0]:
            handins.read(found)
            self.assertIn("links are not followed", found.files[NAME].why)

    def test_what_an_archive_may_hold_beside_files(self):
        kinds = {"hard": (tarfile.LNKTYPE, "links are not followed"), "device": (tarfile.CHRTYPE, "it is no file"), "block": (tarfile.BLKTYPE, "it is no file"),
                 "pipe": (tarfile.FIFOTYPE, "it is no file"), "folder": (tarfile.DIRTYPE, "it is no file")}
        for name, (kind, _) in kinds.items():
            with tarfile.open(self.root / f"{name}.tar", "w") as archive:
                info = tarfile.TarInfo(f"/etc/{NAME}.cu")
                info.type, info.linkname, info.devmajor, info.devminor = kind, "/etc/passwd", 1, 5
                archive.addfile(info)
        for found in handins.collect(self.root)[0]:
            handins.read(found)
            self.assertIn(kinds[found.name][1], found.files[NAME].why)

    def test_a_damaged_archive_is_said_to_be_unreadable(self):
        self.archive("good.zip", [(f"{NAME}.cu", b"text" * 100)])
        with zipfile.ZipFile(self.root / "packed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{NAME}.cu", os.urandom(9000))
        data = bytearray((self.root / "packed.zip").read_bytes())
        data[60:90] = b"\xff" * 30
        (self.root / "packed.zip").write_bytes(data)
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w:gz") as archive:
            archive.add(__file__, f"{NAME}.cu")
        cut = bytearray(tar.getvalue())
        cut[200:260] = b"\0" * 60
        (self.root / "cut.tar.gz").write_bytes(cut)
        (self.root / "empty.tar").write_bytes(b"")
        for found in handins.collect(self.root)[0]:
            handins.read(found)
            self.assertEqual("cannot be read" in found.why, found.name != "good", (found.name, found.why))

    def test_reading_takes_no_longer_than_it_may(self):
        began = time.process_time()
        with self.assertRaisesRegex(ValueError, "takes more than 0.05 s"):
            with handins.at_most(0.05):
                while True:
                    pass
        self.assertLess(time.process_time() - began, 1)

    def test_two_of_one_name_empty_and_nested_ones(self):
        self.put(f"anna/{NAME}.cu", "a folder")
        self.archive("anna.zip", [(f"{NAME}.cu", b"an archive")])
        (self.root / "empty").mkdir()
        self.put(f"nested/a/b/c/lessons/{NAME}/{NAME}.cu", "deep")
        self.put("nested/inner.zip", b"PK")
        found = {h.name: h for h in handins.collect(self.root)[0]}
        for each in found.values():
            handins.read(each)
        self.assertEqual({name: h.files[NAME].text for name, h in found.items() if h.files}, {"anna": "a folder", "anna.zip": "an archive", "nested": "deep"})
        self.assertEqual((sorted(found), found["nested"].ignored, len({h.slug for h in found.values()})),
                         (["anna", "anna.zip", "empty", "nested"], ["inner.zip"], 4))

    def test_names_are_shown_on_one_line_and_kept_apart_in_files(self):
        for name in ("a b", "a\nb", "a_b", "-", "ü"):
            self.put(f"{name}/{NAME}.cu")
        os.mkdir(os.fsencode(str(self.root)) + b"/no\xfftext")
        found = handins.collect(self.root)[0]
        self.assertEqual([h.title for h in found], ["-", "a\\nb", "a b", "a_b", "no\\xdcfftext", "ü"])
        self.assertEqual(len({h.slug for h in found}), 6)
        for h in found:
            self.assertRegex(h.slug, r"^[A-Za-z0-9._-]+$")


class Blanks(unittest.TestCase):
    def states(self, text):
        return [b.state for b in blanks.blanks(LESSON, text)]

    def test_open_right_and_filled(self):
        self.assertEqual(self.states(WORKED), ["right"] * 3)
        self.assertEqual(self.states(lessons.exercise_text(LESSON)), ["open"] * 3)
        self.assertEqual(self.states(WORKED.replace("kTileBytes);", "kTileBytes) ;  // so")), ["right"] * 3)
        self.assertEqual(self.states(WORKED.replace("kTileBytes);", "1);")), ["right", "filled", "right"])

    def test_texts_that_are_made_to_take_long_do_not(self):
        began = time.monotonic()
        for text in ("/*" * 49_000, 'R"(' * 33_000, "\n" * 2000, " " * 99_000, "'" * 99_000, '"' * 99_000, "#include <\n" * 1999, "}\n" * 1999,
                     "// [todo 04.1]\n" * 1999):
            blanks.host_text(text)
            [b.state for b in blanks.blanks(LESSON, text)]
            blanks.around(LESSON, text)
        self.assertLess(time.monotonic() - began, 60)

    def test_without_comments(self):
        for text, left in (("a /* b */ c", "a   c"), ("a // b\n  c", "a\nc"), ('"/*" x', '"/*" x'), ("a /* b", "a"), ("'\\'' // x", "'\\''")):
            self.assertEqual(blanks.without_comments(text), left)
        self.assertNotEqual(blanks.without_comments('R"(a)"'), blanks.without_comments('R"(b)"'))
        self.assertEqual(blanks.without_comments(WORKED.replace("// ", "//")), blanks.without_comments(WORKED))

    def test_a_line_that_goes_on_may_be_a_comment(self):
        self.assertEqual(self.states(WORKED.replace("      ptx::mbarrier_arrive_expect", "      // \\\n      ptx::mbarrier_arrive_expect"))[1], "filled")

    def test_without_markers_they_are_found_by_what_is_around_them(self):
        text = "\n".join(line for line in WORKED.splitlines() if not lessons.MARKER.match(line))
        self.assertEqual(self.states(text), ["right"] * 3)
        self.assertEqual(self.states("int main() {}\n"), ["lost"] * 3)

    def test_one_alone_is_the_worked_program_with_it(self):
        changed = WORKED.replace("kTileBytes);", "1);").replace("t % 2", "0")
        second = blanks.blanks(LESSON, changed)[1]
        self.assertEqual(blanks.alone(LESSON, second), WORKED.replace("kTileBytes);", "1);"))
        self.assertEqual(blanks.others_worked(LESSON, "// own\n" + changed, blanks.blanks(LESSON, "// own\n" + changed)[1]),
                         "// own\n" + WORKED.replace("kTileBytes);", "1);"))

    def test_changes_around_the_blanks(self):
        self.assertEqual(blanks.around(LESSON, WORKED.replace("kTileBytes);", "1);")), ([], 0))
        self.assertEqual(blanks.around(LESSON, WORKED.replace("kThreads = 256;", "kThreads = 128;"))[1], 1)

    def test_a_report_on_one_alone_shows_no_answer_to_another(self):
        text = lessons.exercise_text(LESSON)
        blank = blanks.blanks(LESSON, text.replace('TODO_OPEN("04.2"', 'wrong("'))[1]
        one = blanks.alone(LESSON, blank)
        at = next(i for i, line in enumerate(one.splitlines(), 1) if "multiply_tile" in line)
        own = next(i for i, line in enumerate(one.splitlines(), 1) if 'wrong("' in line)
        said = judge.Verdict("wrong", "data-race: x", [f"  > {at:4} |   {one.splitlines()[at - 1]}", f"  > {own:4} |  y", f"  {NAME}.cu:{own}"])
        why, lines = judge.as_handed_in(said, NAME, one, text.replace('TODO_OPEN("04.2"', 'wrong("'), blank)
        self.assertEqual((why, lines[0]), ("data-race: x", "  >   -- | (in another blank)"))
        self.assertIn(f"{blank.first} |  y", lines[1])
        self.assertEqual(lines[2], f"  {NAME}.cu:{blank.first}")
        printed = judge.Verdict("wrong", "wrong numbers: 1 of 2", ["wrong numbers: 1 of 2", "  what a kernel printed"])
        self.assertEqual(judge.as_handed_in(printed, NAME, one, text, blank)[1], printed.lines)
        self.assertEqual(judge.as_handed_in(printed, NAME, one, "printf" + text, blank), ("wrong numbers", []))
        refused = judge.Verdict("does not compile", "kTileBytes", [f"  {NAME}.cu:{at}"])
        self.assertEqual(judge.as_handed_in(refused, NAME, one, text, blank)[1], [])


class Findings(unittest.TestCase):
    def test_only_the_hand_in_and_common_are_shown(self):
        source = Path("/somewhere/04_tma_single_stage.cu")
        said = {"findings": [{"file": "/etc/passwd", "other_file": f"/workbook/common/../solutions/{NAME}.cu", "title": "x",
                              "chain": [{"file": f"/hand-in/{NAME}.cu", "line": 1}], "related": [{"file": "/workbook/common/ptx/wgmma.cuh"}]}]}
        judge.own(said, source)
        found = said["findings"][0]
        self.assertEqual((found["file"], found["other_file"]), ("", ""))
        self.assertEqual(found["chain"][0]["file"], str(source))
        self.assertEqual(found["related"][0]["file"], str(base.ROOT / "common/ptx/wgmma.cuh"))

    def test_what_host_code_hands_over_is_compared_field_by_field(self):
        right = {"grid": "1", "block": "2", "sharedMemory": 3, "parameters": [{"globalAddress": "A", "boxDim": "{64, 128}"}, "C", 7]}
        say = lambda **change: judge.differences(json.dumps(right), json.dumps(dict(right, **change)))
        self.assertEqual(say(), [])
        self.assertEqual(say(grid="9"), ["the grid is 9, and the worked program's 1"])
        self.assertEqual(say(parameters=[{"globalAddress": "A", "boxDim": "{64, 64}"}, "C", 7]),
                         ["tensor map of A: boxDim is {64, 64}, and the worked program's {64, 128}"])
        self.assertEqual(say(grid="9\n<b>"), ["the grid is something else, and the worked program's 1"])
        self.assertIn("there is none", say(parameters=["no tensor map", "C", 7])[0])
        for forged in (None, "", "[]", "{}", '{"parameters": 1}', '{"grid": "1", "block": "2", "sharedMemory": 3, "parameters": []}'):
            self.assertTrue(judge.differences(json.dumps(right), forged), forged)


class Summed(unittest.TestCase):
    """What a file is, from its cases."""

    def what(self, *cases):
        return judge.summed_up([judge.Case(f"case {at}", status, point, message) for at, (status, point, message) in enumerate(cases)]).what

    def test_the_point_is_missed_only_where_all_numbers_are_right(self):
        passed, claim = ("passed", False, ""), ("failed", True, "right numbers at M=1 N=8 K=8, but no copy runs ahead")
        self.assertEqual(self.what(passed, ("passed", True, "")), "right")
        self.assertEqual(self.what(passed, claim), "point missed")
        host = judge.Case(judge.HOST_CASE, "failed", False, "the grid is 1 x 1 x 1, and the worked program's 2 x 1 x 1")
        self.assertEqual(judge.summed_up([judge.Case("a", *claim), host]).what, "point missed")
        self.assertEqual(self.what(passed, claim, ("failed", True, "wrong numbers at M=520 N=776 K=136")), "wrong")
        self.assertEqual(self.what(("failed", False, "wrong numbers at M=1 N=8 K=8"), claim), "wrong")
        self.assertEqual(self.what(("failed", False, "TODO 04.2 is still open: x"), claim), "TODO open")
        self.assertEqual(self.what(passed, ("not run", True, "")), "wrong")

    def test_host_code_that_is_right_earns_nothing_by_itself(self):
        found = judge.Verdict("wrong", cases=[judge.Case("a", "failed"), judge.Case(judge.HOST_CASE, "passed")])
        self.assertEqual(found.share(False), 0)

    def test_what_a_text_is_tried_with_follows_from_it_alone(self):
        drawn = [judge.Drawn.of(f"text {n}") for n in range(200)]
        self.assertEqual(drawn, [judge.Drawn.of(f"text {n}") for n in range(200)])
        self.assertGreater(len(set(drawn)), 195)
        for one in drawn:
            self.assertTrue(1 <= one.m <= 400 and 8 <= one.n <= 400 and 8 <= one.k <= 400 and one.n % 8 == one.k % 8 == 0, one)


    def test_what_a_text_draws_cannot_be_sought_without_the_key_of_the_class(self):
        text = "{128, 128, 64}, {1, 8, 8}, {136, 120, 72}\n"
        one = examples.sought(text)
        size = lambda drawn: (drawn.m, drawn.n, drawn.k)
        self.assertIn(size(judge.Drawn.of(one)), {(128, 128, 64), (1, 8, 8), (136, 120, 72)})
        self.assertNotEqual(size(judge.Drawn.of(one, "key")), size(judge.Drawn.of(one)))

    def test_a_class_has_one_key(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = [command.key_in(Path(folder)) for _ in range(2)]
            self.assertEqual((keys[0], len(keys[0]), os.listdir(folder)), (keys[1], 32, ["key"]))
            self.assertEqual(stat.S_IMODE(Path(folder, "key").stat().st_mode), 0o600)


class Points(unittest.TestCase):
    def setUp(self):
        self.weights = points.Weights()

    def test_full_half_and_none(self):
        self.assertEqual(self.weights.points(LESSON, result()), 100)
        half = result("TODO open")
        half["blanks"][1].update(numbers=0, point=0)
        self.assertEqual(self.weights.points(LESSON, half), 50)
        self.assertEqual(self.weights.points(LESSON, result("wrong", share=0.0)), 0)
        self.assertEqual(self.weights.points(LESSON, command.nothing("missing", "")), 0)

    def test_the_lessons_point_and_what_is_right_only_blank_by_blank(self):
        missed = result("point missed")
        for blank in missed["blanks"]:
            blank["point"] = 0.0
        self.assertEqual(self.weights.points(LESSON, missed), 60)
        self.assertEqual(self.weights.points(LESSON, result("wrong")), 80)

    def test_a_weights_file_that_cannot_be_used_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "weights.json")
            for change in ({"numbers": -1}, {"point": "x"}, {"lessons": {"99": 1}}, {"more": 1}, {"not_together": 2}):
                path.write_text(json.dumps(dict(json.loads(base.load_text(self.weights.path)), **change)))
                self.assertRaises(base.Stop, points.Weights, path)


EVIL = "<script>alert(1)</script>&\"'"


def a_class(title="=anna", shard=(1, 1), **change):
    """What results.json holds of a class of one."""
    found = dict(result("wrong", EVIL + "\0\x1b", 0.5, lines=[EVIL, "]]>"]), points=50.0, most=100)
    handin = {"name": title, "title": title, "slug": f"slug-{title[-1]}", "ignored": [EVIL], "more": 0, "lessons": {NAME: found}}
    return dict({"format": results.FORMAT, "key": "k", "commit": "0" * 40, "identity": "i", "sandbox": "s", "interrupted": False, "complete": True, "shard": list(shard), "lessons": [NAME],
                 "others": [EVIL], "weights": {"numbers": 60, "point": 40}, "handins": [handin]}, **change)


class Results(unittest.TestCase):
    def test_nothing_of_a_hand_in_is_taken_for_markup_or_a_formula(self):
        with tempfile.TemporaryDirectory() as folder:
            results.write(Path(folder), a_class(title="=<b>anna"))
            for page in Path(folder).rglob("*.html"):
                text = page.read_text()
                self.assertNotIn("<script", text)
                self.assertNotIn("<b>anna", text)
                self.assertIn("&lt;b&gt;anna", text)
            tree = xml.parse(Path(folder, "junit.xml")).getroot()
            self.assertEqual(tree.find("testsuite").get("tests"), "3")
            self.assertEqual(tree.find("testsuite").get("failures"), "2")
            rows = list(csv.reader(io.StringIO(Path(folder, "results.csv").read_text())))
            self.assertEqual(rows[1][:4], ["'=<b>anna", "50.0", "100", "50.0"])
            self.assertEqual(results.load(Path(folder, "results.json"))["handins"][0]["title"], "=<b>anna")


class InProcess(Tree):
    """Commands of a small checkout, without a process for each of them."""

    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, base, "ROOT", base.ROOT)
        base.ROOT = self.root

    def refused(self, call, *words, **environment):
        """What a command says that stops."""
        with mock.patch.dict(os.environ, dict({name: "" for name in ASKED}, CALLED_FROM=str(self.root), **environment)):
            with self.assertRaises(base.Stop) as stop, contextlib.redirect_stdout(io.StringIO()):
                call(list(words))
        return str(stop.exception)


class Merge(InProcess):
    def shards(self, *parts):
        for at, part in enumerate(parts):
            self.write(f"shard-{at}/results.json", json.dumps(part))
        return [f"shard-{at}" for at in range(len(parts))]

    def test_shards_make_one_class(self):
        code, said = self.tool("grade-merge", ARGS=" ".join(self.shards(a_class("ben", (2, 2)), a_class("anna", (1, 2)))), OUT="whole")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"anna +50[^\n]*\n +ben")
        self.assertIn("anna", (self.root / "whole/class.html").read_text())

    def test_one_hand_in_that_could_not_be_graded_holds_up_no_class(self):
        left = a_class("ben", (2, 2), complete=False)
        left["handins"][0]["lessons"][NAME]["what"] = "not graded"
        said = io.StringIO()
        with mock.patch.dict(os.environ, OUT=str(self.root / "whole"), CALLED_FROM=str(self.root)), contextlib.redirect_stdout(said):
            self.assertEqual(command.merge(self.shards(a_class("anna", (1, 2)), left)), base.BAD_INPUT)
        self.assertIn(f"not graded: ben, {NAME}", said.getvalue())
        self.assertIn("Not all has been graded", (self.root / "whole/class.html").read_text())

    def test_what_does_not_belong_together_is_refused(self):
        for other, why in ((a_class("b", (2, 3)), "shards 3 are missing"), (a_class("b", (1, 2)), "shards 2 are missing"),
                           (a_class("b", (2, 2), identity="j"), "another build"), (a_class("b", (2, 2), key="l"), "another key"),
                           (a_class("b", (2, 2), interrupted=True), "not complete")):
            self.assertIn(why, self.refused(command.merge, *self.shards(a_class("anna", (1, 2) if other["shard"][1] == 2 else (1, 3)), other)))


class Options(InProcess):
    def test_what_grading_refuses_before_anything_is_built(self):
        (self.root / "class/anna").mkdir(parents=True)
        self.write("checks/grading/weights.json", base.load_text(TOOL.parents[1] / "checks/grading/weights.json"))
        for words, environment, why in (((), {"SUBMISSIONS": ""}, "which hand-ins?"), ((), {"SUBMISSIONS": "nowhere"}, "is no folder"),
                                        ((), {"SHARD": "3/2"}, "is no shard"), ((), {"LESSONS": "99"}, "no lesson '99'"),
                                        (("--fast",), {}, "does not know"), (("--deadline", "never"), {}, "is no time"),
                                        ((), {}, "cannot be compared with its commit")):
            self.assertIn(why, self.refused(command.grade, *words, **dict({"SUBMISSIONS": "class"}, **environment)))


class HandOut(unittest.TestCase):
    """The folder for students: no answer, no bug, no history, and the commands that it can run."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="workbook.")
        cls.out = handout.write(Path(cls.folder.name, "course"), lessons.lessons("04"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def tool(self, *words):
        done = subprocess.run([sys.executable, "-B", str(self.out / "checks/workbook"), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, env={k: v for k, v in os.environ.items() if k != "BUILD_DIR"})
        return done.returncode, done.stdout

    def test_it_holds_no_answer(self):
        answers = handout.answer_lines(lessons.lessons("04"))
        self.assertGreater(len(answers), 8)
        for path in self.out.rglob("*"):
            if path.is_file() and path.suffix in (".cu", ".cuh", ".md", ".hpp", ".cpp", ".py", ".patch", "") and path.name != "hints.md":
                text = "".join(pages.plain(line) for line in base.load_text(path).splitlines())
                self.assertEqual([a for a in answers if a in text], [], path)

    def test_what_it_has_and_lacks(self):
        self.assertEqual(sorted(p.name for p in (self.out / "lessons").iterdir()), [NAME, "CMakeLists.txt", "words.md"])
        for gone in (".git", "checks/bugs", "checks/grading", "checks/workbook/grading", "solutions/04b_bulk_copy.cu"):
            self.assertFalse((self.out / gone).exists(), gone)
        self.assertNotIn("<summary>Answer", base.load_text(self.out / "lessons" / NAME / "README.md"))
        self.assertEqual(base.load_text(self.out / "solutions" / f"{NAME}.cu"), lessons.exercise_text(LESSON))

    def test_a_students_commands_that_need_no_build(self):
        code, said = self.tool("next")
        self.assertEqual((code, "make check-04" in said), (0, True), said)
        for _ in range(3):
            code, said = self.tool("hint", "04")
        self.assertEqual((code, "ask your instructor" in said), (0, True), said)
        code, said = self.tool("run", "04")
        self.assertEqual((code, "a student's copy of the workbook has no `run`" in said), (2, True), said)
        self.assertNotIn("make break", base.load_text(self.out / "Makefile"))

    def test_a_folder_with_other_things_is_left_alone(self):
        other = Path(self.folder.name, "mine")
        other.mkdir()
        (other / "notes").write_text("x")
        self.assertRaisesRegex(base.Stop, "is no handout", handout.write, other, lessons.lessons("04"))


class Late(Tree):
    """What is zero without being judged, and why."""

    def setUp(self):
        super().setUp()
        self.run_of = command.Class.__new__(command.Class)
        self.run_of.late, self.run_of.until, self.run_of.asked = {}, None, command.options(["--deadline", "2026-12-01 18:00"])

    def found(self, **files):
        said = self.run_of.without(handins.HandIn("anna", None, files), LESSON)
        return said and (said["what"], said["why"])

    def test_missing_late_and_in_time(self):
        there = {NAME: handins.File("text", changed=command.deadline("2026-12-01 18:01"))}
        self.assertEqual(self.found(), ("missing", f"there is no {NAME}.cu"))
        self.assertIsNone(self.found(**there))
        self.run_of.until = command.deadline(self.run_of.asked.deadline)
        self.assertEqual(self.found(**there), ("late", "changed at 2026-12-01 18:01, after 2026-12-01 18:00"))
        self.run_of.until = command.deadline("2026-12-02")
        self.assertIsNone(self.found(**there))
        self.run_of.late = {"anna": "by two days"}
        self.assertEqual(self.found(**there), ("late", "by two days"))

    def test_the_class_list(self):
        path = self.write("class.csv", "\ufeffname,mail,late\nanna,a@b,\n ben ,,by a day\n")
        self.assertEqual(command.roster(path), {"anna": "", "ben": "by a day"})
        self.assertRaisesRegex(base.Stop, "cannot be read", command.roster, self.root / "nowhere.csv")


class Sandboxed:
    """In a sandbox's place."""
    stopping = False
    __str__ = lambda self: "a sandbox"


class Memory(unittest.TestCase):
    """What has been judged is not judged again, unless it was cut short or something in it has changed."""

    def test_a_verdict_is_kept_by_its_text_and_the_harness(self):
        with tempfile.TemporaryDirectory() as folder:
            one, calls = judge.Judge(Sandboxed(), Path(folder), "harness"), []
            one.judge = lambda lesson, text: (calls.append(text), judge.Verdict("right", cases=[judge.Case("a", "passed")]))[1]
            first = one.verdict(LESSON, "text")
            self.assertEqual((one.verdict(LESSON, "text"), calls), (first, ["text"]))
            one.verdict(LESSON, "another text")
            next(Path(folder).iterdir()).write_text("{cut sho")
            one.harness = "another"
            one.verdict(LESSON, "text")
            self.assertEqual(calls, ["text", "another text", "text"])
            one.sandbox.stopping = True
            one.verdict(LESSON, "interrupted")
            self.assertEqual(len(list(Path(folder).iterdir())), 3)


class Running(unittest.TestCase):
    """A class of three, judged by a stand-in."""

    def graded(self, stand_in):
        run = command.Class.__new__(command.Class)
        run.chosen, run.late, run.until, run.found, run.failed, run.done = [LESSON], {}, None, {}, [], 0
        run.weights, run.sandbox, run.judge = points.Weights(), Sandboxed(), None
        run.handins = [handins.HandIn(name, None, {NAME: handins.File(name)}) for name in ("anna", "ben", "cleo")]
        self.addCleanup(setattr, command, "judge_file", command.judge_file)
        command.judge_file = stand_in
        before, os.environ["JOBS"] = os.environ.get("JOBS"), "1"
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                whole = run.run()
        finally:
            os.environ.pop("JOBS") if before is None else os.environ.update(JOBS=before)
        return whole, {handin: found["what"] for (handin, _), found in run.found.items()}, run.failed

    def names(self, found):
        return {slug[:-9]: what for slug, what in found.items()}

    def test_an_interruption_keeps_what_is_done(self):
        def judged(_, lesson, text):
            if text == "ben":
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.3)
            return result()

        whole, found, _ = self.graded(judged)
        self.assertFalse(whole)
        self.assertEqual(self.names(found)["anna"], "right")
        self.assertNotIn("cleo", self.names(found))

    def test_what_goes_wrong_here_is_no_verdict_and_ends_nothing(self):
        def judged(_, lesson, text):
            if text == "ben":
                raise ValueError("a defect of the tool")
            return result()

        whole, found, failed = self.graded(judged)
        self.assertEqual((whole, self.names(found)), (True, {"anna": "right", "ben": "not graded", "cleo": "right"}))
        self.assertIn("a defect of the tool", failed[0])

    def test_what_the_machine_was_too_busy_for_is_judged_again(self):
        tries = []

        def judged(_, lesson, text):
            tries.append(text)
            if text == "cleo" or tries == ["anna"]:
                raise Unjudged("stopped after 9 s")
            return result()

        whole, found, failed = self.graded(judged)
        self.assertEqual(tries, ["anna", "ben", "cleo", "anna", "cleo"])
        self.assertEqual((whole, self.names(found)), (True, {"anna": "right", "ben": "right", "cleo": "not graded"}))
        self.assertEqual(failed, [f"cleo, {NAME}: error: stopped after 9 s"])


class Recipes(unittest.TestCase):
    def test_every_recipe_can_be_read_and_made(self):
        made = examples.recipes()
        self.assertGreaterEqual(len(made), 25)
        with tempfile.TemporaryDirectory() as folder:
            for example in made:
                example.make(Path(folder))
            self.assertEqual(len(handins.collect(folder)[0]), len(made))


if __name__ == "__main__":
    unittest.main()
