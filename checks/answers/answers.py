"""Plausible wrong answers to the blanks of the lessons, and what the first message must say of each.

checks/answers/NN_name.txt holds the answers to solutions/NN_name.cu, in blocks with an empty line between them:

  answer  its name
  about   the blank, and what is wrong with the answer
  - OLD   lines of the solution; blanks around a line do not count, nor what comes after OLD on it. They occur once.
  + NEW   what stands there instead
  expect  ID at "TEXT" | ID at "TEXT" ...: the one error has such an id at a source line that holds TEXT; 'advice' in front of
          it: right numbers and no error, and this advice, which fails a lesson's check; 'numbers' or 'numbers KIND': no
          error, and wrong numbers, of that kind
  says    "WORDS" | "WORDS": some of these occur in what is said of it; several 'says' must all hold
  with    "TEXT": a line that takes part in the finding holds TEXT
  run     arguments of the program; optional
  more    alone on its line: only with ALL=1
  cure    followed by - and +: what the 'try' line asks for, as an edit of the wrong program. It is then right.

Commands: test NN [NAME]   those of one lesson, or one of them
          rate             all lessons: how many are named, and how many lines a check prints of one
          show NN NAME     what is said of one
"""

import os
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from workbook import bugs, report  # noqa: E402
from workbook.base import BUILD, OK, ROOT, WRONG, Stop, load_text, save_text, shown  # noqa: E402
from workbook.program import DoesNotCompile, make  # noqa: E402

FOLDER = Path(__file__).resolve().parent
KEYS = ("answer", "about", "expect", "says", "with", "run", "more", "cure")
SCHEDULES = ("in-order", "late")
AROUND = 8  # lines of `make check-NN` around a report: the file, the command that runs it again, the cases


@dataclass
class Answer:
    program: bugs.Program
    name: str
    about: str = ""
    edits: list = field(default_factory=list)  # ([old lines], [new lines])
    cure: list = field(default_factory=list)
    expect: str = ""
    says: list = field(default_factory=list)
    lines: list = field(default_factory=list)  # of others that take part
    run: str = ""
    more: bool = False

    @property
    def label(self):
        return f"{self.program.label}/{self.name}"


def read(path):
    program = bugs.find(path.stem)
    found, edits, last = [], None, ""
    for number, line in enumerate(load_text(path).splitlines(), 1):
        key, _, value = line.partition(" ")
        value = value.strip()
        if not line.strip():
            continue
        if key == "answer":
            found.append(Answer(program, value, run=program.runs[0]))
            edits = found[-1].edits
        elif key in "-+" and found:
            if key == "-" and last != "-":
                edits.append(([], []))
            edits[-1][key == "+"].append(value)
        elif key not in KEYS or not found:
            raise Stop("this line of an answer cannot be read", ("where", f"{shown(path)}:{number}: {line}"), ("try", ", ".join(KEYS)))
        elif key == "cure":
            edits = found[-1].cure
        elif key == "more":
            found[-1].more = True
        elif key == "says":
            found[-1].says.append(re.findall(r'"([^"]+)"', value))
        elif key == "with":
            found[-1].lines += re.findall(r'"([^"]+)"', value)
        else:
            setattr(found[-1], key, value)
        last = key
    for a in found:
        if not (a.about and a.edits and a.expect):
            raise Stop(f"{a.label} lacks about, an edit or expect", ("where", shown(path)))
    return found


def edited(text, edits, label):
    for old, new in edits:
        pattern = r"[^\n]*\n\s*".join(re.escape(line) for line in old)
        places = list(re.finditer(pattern, text))
        if len(places) != 1:
            raise Stop(f"{label}: the old text occurs {len(places)} times", ("where", "\n".join(old)), code=WRONG)
        text = text[:places[0].start()] + "\n".join(new) + text[places[0].end():]
    return text


def built(answer, text, name):
    source = BUILD / "answers" / answer.program.name / f"{name}.cu"
    if not source.exists() or load_text(source) != text:
        save_text(source, text)
    return make(source, source.with_suffix(".emu"), "emu", (answer.program.source, answer.program.built), text)


def told(answer, done):
    """The findings that count: errors, or the advice that is expected."""
    return done.findings if answer.expect.startswith("advice ") and not done.errors else done.errors


def words_of(findings, done):
    """What a person reads of the finding, without what its rule says in general."""
    if not findings:
        return done.output
    f = findings[0]
    related = [r["what"] for r in f.get("related", [])]
    return "\n".join([f["title"], f["where"], f["state"], f["why"], f["try"], *related])


def lines_of(finding):
    parts = [(finding["other_file"], finding["other_line"])] + [(r["file"], r["line"]) for r in finding.get("related", [])]
    return [bugs.source_line({"file": file, "line": line}) for file, line in parts if file]


def missing(answer, done):
    """What is not as the table asks for; '' where the cause is named."""
    findings = told(answer, done)
    if answer.expect.startswith("numbers"):
        kind = answer.expect[8:]
        if done.errors or done.verdict != "wrong" or (kind and bugs.kind_of_numbers(done) != kind):
            return f"expected {answer.expect}, came out {bugs.describe(done)}"
    else:
        places = [p for p in answer.expect.replace("advice ", "").split(" | ") if p != "numbers"]
        met = [bugs.parse_expectation(answer.name, p).meets(findings[0]) for p in places] if findings else []
        numbers = "numbers" in answer.expect.split(" | ") and not done.errors and done.verdict == "wrong"
        if not any(met) and not numbers:
            return f"expected {answer.expect}, came out {bugs.describe(done)}"
    said = words_of(findings, done)
    for choices in answer.says:
        if not any(words in said for words in choices):
            return "it does not say " + " or ".join(f'"{w}"' for w in choices)
    for text in answer.lines if findings else []:
        if not any(text in line for line in lines_of(findings[0])):
            return f'no line with "{text}" takes part'
    return ""


def judge(answer):
    """'' or what is wrong, and the run that showed it."""
    wrong = edited(load_text(answer.program.source), answer.edits, answer.label)
    try:
        executable = built(answer, wrong, answer.name)
    except DoesNotCompile as problem:
        return f"does not compile: {problem}", None
    for schedule in SCHEDULES:
        done = bugs.execute(executable, answer.run, schedule)
        said = missing(answer, done)
        if said:
            return f"{schedule}: {said}", done
    if answer.cure:
        cured = bugs.execute(built(answer, edited(wrong, answer.cure, answer.label), f"{answer.name}.cured"), answer.run, "late")
        if bugs.deviation(None, cured):
            return f"cured as the message asks: {bugs.describe(cured)}", cured
    return "", done


def chosen(wanted, name, every):
    files = sorted(FOLDER.glob("[0-9][0-9]*.txt"))
    files = [f for f in files if not wanted or f.stem == bugs.find(wanted).name]
    return [a for f in files for a in read(f) if (a.name == name if name else every or not a.more)]


def main(words):
    command, wanted, name = [*words, "", "", ""][:3]
    if command not in ("test", "rate", "show") or (command != "rate" and not wanted):
        raise Stop("unknown command", ("try", "test NN [NAME], rate, show NN NAME"))
    every = command == "rate" or bool(os.environ.get("ALL")) or bool(name)
    answers = chosen(wanted, name, every)
    if not answers:
        raise Stop("there is no such answer", ("where", f"{wanted} {name}"))
    named, lines = 0, []
    for answer in answers:
        said, done = judge(answer)
        named += not said
        source = BUILD / "answers" / answer.program.name / f"{answer.name}.cu"
        printed = "\n".join(report.body(done, source)) if done else ""
        lines.append(AROUND + printed.count("\n") + 1)
        print(f"{answer.label:<40} {'named' if not said else said}")
        if command == "show" and done:
            print(printed or done.output)
        sys.stdout.flush()
    print(f"{named} of {len(answers)} answers have their cause named, {sum(bool(a.cure) for a in answers)} with a cure that is right")
    print(f"a check prints {statistics.median(lines):g} lines of one in the middle, at most {max(lines)}")
    return OK if named == len(answers) or command != "test" else WRONG


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as problem:
        print(problem, file=sys.stderr)
        sys.exit(problem.code)
