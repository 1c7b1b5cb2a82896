"""The results of a class as pages: one for the class, one for each hand-in. All that comes from a hand-in is escaped."""

import html
from collections import Counter

from workbook.base import save_text
from workbook.grading.results import most, total

STYLE = """
:root { --ink: #1c2430; --dim: #667085; --line: #d9dee7; --right: #1a7f4b; --part: #b7791f; --wrong: #b42318; --none: #98a2b3; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); margin: 2rem auto; padding: 0 1rem; max-width: 72rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
p { margin: .3rem 0 } .dim { color: var(--dim) } a { color: #1d4ed8; text-decoration: none } a:hover { text-decoration: underline }
table { border-collapse: collapse; margin: .8rem 0 } th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top } th { font-weight: 600; color: var(--dim) } td.far { white-space: nowrap } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
.wide { overflow-x: auto } .name { max-width: 22rem; overflow-wrap: anywhere }
.wide td, .wide th { white-space: nowrap } .wide th:first-child, .wide td.name { position: sticky; left: 0; background: #fff; min-width: 8rem;
  white-space: normal; box-shadow: inset 0 -1px var(--line) }
td.right, td.part, td.wrong, td.none { white-space: nowrap }
.right { color: var(--right) } .part { color: var(--part) } .wrong { color: var(--wrong) } .none { color: var(--none) }
pre { background: #f6f7f9; border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem; overflow-x: auto; font-size: 13px;
  line-height: 1.45 } section { border-top: 2px solid var(--line); margin-top: 1.6rem; padding-top: .2rem }
.bar { display: inline-block; width: 7rem; height: .6rem; background: #e8ebf0; border-radius: 3px; overflow: hidden; vertical-align: middle }
.bar i { display: block; height: 100%; background: var(--right) }
@media (max-width: 40rem) { .bar { display: none } th, td { padding: .3rem .25rem } td { overflow-wrap: anywhere }
  pre { white-space: pre-wrap; overflow-wrap: anywhere } }
summary { cursor: pointer; color: var(--dim) } .big { font-size: 1.25rem; font-weight: 600 }
"""
e = html.escape


def document(title, body):
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">'
            f'<meta name="viewport" content="width=device-width"><title>{e(title)}</title><style>{STYLE}</style></head>\n<body>\n'
            + "\n".join(body) + "\n</body></html>\n")


def number(value):
    return f"{value:g}"


def colour(r):
    if r["points"] >= r["most"]:
        return "right"
    if r["points"] > 0:
        return "part"
    return "none" if r["what"] in ("missing", "late", "TODO open", "not graded") else "wrong"


def shown_points(r):
    """The points of a file; a dash where there was none to judge."""
    return "–" if r["what"] in ("missing", "late") else number(r["points"])


def write(out, said):
    save_text(out / "class.html", class_page(said))
    for handin in said["handins"]:
        save_text(out / "handins" / f"{handin['slug']}.html", handin_page(said, handin))


def head(said):
    done = "" if said["complete"] else '<p class="wrong">Not all has been graded: the run was interrupted, or something failed.</p>'
    return [f'<p class="dim">{e(said["sandbox"])}. Harness: commit {e(said["commit"][:12] + said["commit"][40:])}.</p>', done]


def class_page(said):
    names, handins = said["lessons"], said["handins"]
    body = ["<h1>The class</h1>", *head(said), '<div class="wide"><table><tr><th>hand-in</th><th class="n">points</th>'
            + "".join(f'<th class="n" title="{e(n)}">{e(n[:2])}</th>' for n in names) + "</tr>"]
    for handin in handins:
        cells = "".join(f'<td class="n"><a class="{colour(r)}" href="handins/{e(handin["slug"])}.html#{e(n)}" title="{e(r["what"])}: {e(r["why"])}">'
                        f'{shown_points(r)}</a></td>' for n, r in handin["lessons"].items())
        body.append(f'<tr><td class="name"><a href="handins/{e(handin["slug"])}.html">{e(handin["title"])}</a></td>'
                    f'<td class="n"><b>{number(total(handin))}</b></td>{cells}</tr>')
    counts = lambda name: sum(h["lessons"][name]["what"] == "right" for h in handins)
    mean = lambda name: sum(h["lessons"][name]["points"] for h in handins) / max(len(handins), 1)
    body += ['<tr><th>right</th><td></td>' + "".join(f'<td class="n">{counts(n)}</td>' for n in names) + "</tr>",
             '<tr><th>mean</th><td></td>' + "".join(f'<td class="n">{mean(n):.1f}</td>' for n in names) + "</tr></table></div>"]
    if handins:
        body.append(f'<p class="dim">{len(handins)} hand-ins; a lesson counts {", ".join(sorted({number(r["most"]) for r in handins[0]["lessons"].values()}))} '
                    "points.</p>")
    body.append("<h2>What was found most</h2><table><tr><th>lesson</th><th class=\"n\">hand-ins</th><th>first finding</th></tr>")
    for name in names:
        found = Counter(h["lessons"][name]["why"] for h in handins if h["lessons"][name]["what"] not in ("right", "missing", "late"))
        for why, count in found.most_common(5):
            body.append(f'<tr><td>{e(name[:2])}</td><td class="n">{count}</td><td>{e(why)}</td></tr>')
    body.append("</table>")
    if said.get("others"):
        body.append(f'<p class="dim">No hand-ins, and left alone: {e(", ".join(said["others"][:30]))}</p>')
    return document("The class", body)


def bar(share):
    return f'<span class="bar"><i style="width:{share * 100:.0f}%"></i></span>'


def handin_page(said, handin):
    body = [f'<p><a href="../class.html">The class</a></p><h1 class="name">{e(handin["title"])}</h1>', *head(said),
            f'<p class="big">{number(total(handin))} of {number(most(handin))} points</p>']
    if handin["ignored"]:
        more = f" and {handin['more']} more" if handin["more"] else ""
        body.append(f'<p class="dim">No lesson files, and left alone: {e(", ".join(handin["ignored"]))}{more}</p>')
    for name, r in handin["lessons"].items():
        body.append(f'<section id="{e(name)}"><h2>{e(name)}: <span class="{colour(r)}">{number(r["points"])}</span> of {number(r["most"])}, {e(r["what"])}</h2>')
        if r["why"] and not r["lines"]:
            body.append(f"<p>{e(r['why'])}</p>")
        if r["lines"]:
            body.append(f"<pre>{e(chr(10).join(r['lines']))}</pre>")
        body += [f'<pre class="part">{e(text)}</pre>' if "\n" in text else f'<p class="part">{e(text)}</p>' for text in r["remarks"]]
        body += blanks(r) + cases(r) + ["</section>"]
    return document(handin["title"], body)


def blanks(r):
    if not r["blanks"]:
        return []
    rows = ['<table><tr><th>blank</th><th>how far</th><th></th><th></th></tr>']
    for b in r["blanks"]:
        share = b["share"]
        kind = "right" if share >= 1 else "part" if share > 0 else "none" if b["state"] == "open" else "wrong"
        lines = "" if b["lines"] == r["lines"] or not b["lines"] else f"<details><summary>this blank alone</summary><pre>{e(chr(10).join(b['lines']))}</pre></details>"
        why = f'<span class="dim">{e(b["sentence"])}</span>' + (f"<br>{e(b['why'])}" if b["why"] not in ("", "open") else "") + lines
        rows.append(f'<tr><td>{e(b["number"])}</td><td class="far">{bar(share)} {share * 100:.0f} %</td><td class="{kind}">{e(b["state"])}</td><td>{why}</td></tr>')
    return rows + ["</table>"]


def cases(r):
    if not r["cases"]:
        return []
    passed = sum(c["status"] == "passed" for c in r["cases"])
    rows = [f"<details><summary>{passed} of {len(r['cases'])} cases passed</summary><table>"]
    for c in r["cases"]:
        kind = {"passed": "right", "failed": "wrong"}.get(c["status"], "none")
        rows.append(f'<tr><td class="{kind}">{e(c["status"])}</td><td>{e(c["name"])}{" (the lesson&#39;s point)" if c["point"] else ""}'
                    + (f'<br><span class="dim">{e(c["message"])}</span>' if c["message"] else "")
                    + (f'<pre>{e(chr(10).join(c["lines"]))}</pre>' if c["lines"] and c["lines"] != r["lines"] else "") + "</td></tr>")
    return rows + ["</table></details>"]
