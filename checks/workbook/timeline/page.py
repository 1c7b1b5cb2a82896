"""Makes the page: one file, opened from disk, that needs nothing else."""

import html
import json
import re
from pathlib import Path

from workbook.base import shown

from .read import Malformed
from .view import load

FOLDER = Path(__file__).resolve().parent / "page"
SCRIPTS = ("base.js", "scene.js", "lanes.js", "side.js", "predict.js", "app.js")


def embedded(views):
    """JSON that can stand inside a script element whatever texts are in it."""
    text = json.dumps(views, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def render(title, views, message):
    """The page of these runs; `message` is shown where there is none."""
    parts = {"TITLE": html.escape(title), "MESSAGE": html.escape(message), "RUNS": embedded(views),
             "STYLE": (FOLDER / "page.css").read_text(encoding="utf-8"), "SCRIPT": "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)}
    # One pass, so that nothing in a part is taken for the name of another.
    return re.sub(r"@([A-Z]+)@", lambda name: parts[name[1]], (FOLDER / "page.html").read_text(encoding="utf-8"))


def make_page(traces, out, title="A run, step by step"):
    """Writes the page of `traces`, [(path, name of the run)]. A trace that cannot be shown is said in the page, and raised as
    Malformed once the page is written."""
    views, problems = [], []
    for path, name in traces:
        try:
            views.append(load(path, name))
        except Malformed as problem:
            problems.append(str(problem))
    for view in views:
        for file in view["files"]:
            file["path"] = shown(file["path"])
    if not views:
        title = "No run can be shown"
    Path(out).write_text(render(title, views, "\n\n".join(problems)), encoding="utf-8")
    if problems:
        raise Malformed("\n".join(problems))
