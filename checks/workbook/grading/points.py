"""Points: what a file's blanks and cases are worth. The weights are those of checks/grading/weights.json."""

import json

from workbook import base
from workbook.base import Stop, load_text, shown
from workbook.lessons import lessons

KEYS = {"numbers", "point", "not_together", "lessons", "blanks"}


class Weights:
    def __init__(self, path=None):
        self.path = path or base.ROOT / "checks" / "grading" / "weights.json"
        try:
            said = json.loads(load_text(self.path))
            if set(said) != KEYS:
                raise ValueError("its keys are not " + ", ".join(sorted(KEYS)))
            self.numbers, self.point = self.number(said["numbers"]), self.number(said["point"])
            self.not_together = self.number(said["not_together"])
            self.lessons = {name: self.number(value) for name, value in said["lessons"].items()}
            self.blanks = {name: self.number(value) for name, value in said["blanks"].items()}
            if self.numbers + self.point <= 0 or self.not_together > 1:
                raise ValueError("numbers and point must give more than 0 together, and not_together is a share, 0 to 1")
            wrong = set(self.lessons) - {lesson.number for lesson in lessons()}
            if wrong:
                raise ValueError("there is no lesson " + ", ".join(sorted(wrong)))
        except (OSError, ValueError, TypeError, AttributeError) as problem:
            raise Stop("the weights cannot be used", ("where", shown(self.path)), ("why", str(problem)))

    @staticmethod
    def number(value):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
            raise ValueError(f"{value!r} is no weight")
        return value

    def most(self, lesson):
        return self.lessons.get(lesson.number, 100)

    def blank(self, said):
        """How far a blank is: the share of the cases that the worked program with this blank in it passes, 0 to 1."""
        return (self.numbers * said["numbers"] + self.point * said["point"]) / (self.numbers + self.point)

    def points(self, lesson, said):
        """The points of what was written down of a file."""
        blanks = said.get("blanks") or []
        total = sum(self.blanks.get(b["number"], 1) for b in blanks)
        if not total:
            return 0.0
        share = sum(self.blanks.get(b["number"], 1) * self.blank(b) for b in blanks) / total
        if said["what"] != "right" and share > 0.9999:
            share = self.not_together
        return round(self.most(lesson) * share, 1)
