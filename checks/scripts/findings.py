#!/usr/bin/env python3
"""Writes common/emulator/findings/FINDINGS.md, the reference of finding ids, from the table in findings/finding_ids.cpp.

  findings.py --write   writes the page
  findings.py --check   exit status 1 when the page is not that of the table, when a source of the emulator reports an
                        id that the table does not have, or when the table has an id that no source reports
"""

import re
import sys

from run_common import BAD_INPUT, OK, ROOT, WRONG, die

FOLDER = ROOT / "common" / "emulator"
TABLE, PAGE = FOLDER / "findings" / "finding_ids.cpp", FOLDER / "findings" / "FINDINGS.md"
TEXT = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'  # string literals side by side are one
HEAD = """# What the emulator reports

Written from [finding_ids.cpp](finding_ids.cpp) by `checks/scripts/findings.py --write`. The first word of a finding is its
id; it stays the same from version to version, in the text and in the `id` of the JSON that `EMU_JSON` asks for. An error
ends the program with exit status 1. *Advice* is about something that works and yet is better done otherwise; it never
fails a check. Sections are those of the PTX ISA, release 9; *measured* means recorded on an H200 (checks/recorded).
"""


def literal(text):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')


def rows():
    """[(id, heading, meaning, rule, source)] in the order of the table."""
    text = TABLE.read_text()
    groups = {name: literal(value) for name, value in re.findall(rf'\*?(k\w+) = {TEXT}', text)}
    found = re.findall(rf'\{{"([a-z-]+)", (k\w+),\s*{TEXT},\s*{TEXT},\s*{TEXT}\}}', text)
    if len(found) != len(re.findall(r'^ +\{"', text, re.M)) or not found:
        die(f"a row of {TABLE.relative_to(ROOT)} cannot be read", "try   {\"id\", kGroup, \"meaning\", \"rule\", \"source\"},")
    return [(i, groups[g], literal(m), literal(r), literal(s)) for i, g, m, r, s in found]


def reported():
    """{id: file} of every id that a source gives to a finding: id = "...", or the first text of a call that faults."""
    found = {}
    for path in sorted(FOLDER.rglob("*.[ch]pp")):
        if path.name.startswith("finding_ids"):
            continue
        text = path.read_text()
        statements = re.findall(r'\bid = ([^;]*);', text)
        calls = re.findall(r'\b(?:\w*fault|register_finding)\((?:[^;"]*?,\s*)?"([a-z]+(?:-[a-z]+)*)"\s*,', text)
        for name in [i for s in statements for i in re.findall(r'"([a-z]+(?:-[a-z]+)*)"', s)] + calls:
            found.setdefault(name, path.relative_to(ROOT))
    return found


def page():
    lines, heading = [HEAD], None
    for name, group, meaning, rule, source in rows():
        if group != heading:
            lines += [f"## {group}", "", "| id | what was seen | the rule | where it is stated |", "|---|---|---|---|"]
            heading = group
        lines.append(f"| `{name}` | {meaning} | {rule} | {source} |")
    text = "\n".join(lines) + "\n"
    return re.sub(r"\n## ", "\n\n## ", text).replace("\n\n\n", "\n\n")


def main():
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
        print(f"wrote {len(rows())} ids to {PAGE.relative_to(ROOT)}")
        return OK
    if sys.argv[1:] != ["--check"]:
        print(__doc__, file=sys.stderr)
        return BAD_INPUT
    known, used = [r[0] for r in rows()], reported()
    problems = [f"'{i}' is listed twice" for i in sorted({i for i in known if known.count(i) > 1})]
    problems += [f"{path} reports '{i}', which the table does not have" for i, path in used.items() if i not in known]
    problems += [f"no source reports '{i}'" for i in known if i not in used]
    if not PAGE.exists() or PAGE.read_text() != page():
        problems.append(f"{PAGE.relative_to(ROOT)} is not that of the table; try   findings.py --write")
    print("\n".join(problems) or f"{PAGE.relative_to(ROOT)} has the {len(known)} ids that the emulator reports")
    return WRONG if problems else OK


if __name__ == "__main__":
    sys.exit(main())
