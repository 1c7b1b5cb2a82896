"""The results of a class for machines: JSON, a spreadsheet's CSV, JUnit XML."""

import csv
import io
import json
import re
import xml.etree.ElementTree as xml

from workbook.base import load_text, save_text
from workbook.grading.handins import printable

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FORMAT = 2


def total(handin):
    return round(sum(r["points"] for r in handin["lessons"].values()), 1)


def most(handin):
    return round(sum(r["most"] for r in handin["lessons"].values()), 1)


def write(out, said):
    """All files of a class; said: what results.json holds."""
    from workbook.grading import page
    save_text(out / "results.json", json.dumps(said, indent=1) + "\n")
    save_text(out / "results.csv", spreadsheet(said))
    save_text(out / "junit.xml", junit(said))
    page.write(out, said)


def load(path):
    said = json.loads(load_text(path))
    if said.get("format") != FORMAT:
        raise ValueError(f"its format is {said.get('format')}, and this tool reads {FORMAT}")
    return said


def cell(text):
    """A cell that no spreadsheet takes for a formula."""
    text = printable(str(text))
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t") else text


def spreadsheet(said):
    sink = io.StringIO()
    rows = csv.writer(sink, lineterminator="\n")
    rows.writerow(["hand-in", "points", "of", *(word for name in said["lessons"] for word in (name, f"{name}: result", f"{name}: first finding"))])
    for handin in said["handins"]:
        cells = [cell(handin["title"]), total(handin), most(handin)]
        for name in said["lessons"]:
            r = handin["lessons"][name]
            cells += [r["points"], cell(r["what"]), cell(r["why"])]
        rows.writerow(cells)
    return sink.getvalue()


def junit(said):
    clean = lambda text: NOT_XML.sub("?", str(text))
    root = xml.Element("testsuites", name="hand-ins")
    for handin in said["handins"]:
        suite, count, failed = xml.SubElement(root, "testsuite", name=clean(handin["title"])), 0, 0
        for name, r in handin["lessons"].items():
            tests = [("blank " + b["number"], "" if b["state"] == "right" else f"{b['state']}: {b['why']}", b["lines"]) for b in r["blanks"]]
            tests += [(c["name"], "" if c["status"] == "passed" else c["message"] or c["status"], c["lines"]) for c in r["cases"]]
            tests += [] if r["cases"] else [("judged", f"{r['what']}: {r['why']}", r["lines"])]
            for test, why, lines in tests:
                case = xml.SubElement(suite, "testcase", classname=clean(f"{handin['title']}.{name}"), name=clean(test))
                count += 1
                if why:
                    failed += 1
                    xml.SubElement(case, "failure", message=clean(why)).text = clean("\n".join(lines))
        suite.set("tests", str(count))
        suite.set("failures", str(failed))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"
