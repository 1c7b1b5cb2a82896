"""What all figures share: how a rung is told from the others, labels at the ends of lines, and the SVG's title and description."""

import re
from statistics import median

# By rung: colour, marker, line. Told apart on white by colour-blind readers: neighbours differ in lightness, and no two
# rungs share colour and marker. Copies by threads are orange and brown, TMA blue, warp roles green, the last rungs red.
RUNGS = {"01": ("#8C8C8C", "o", "-"), "02": ("#E69F00", "s", "-"), "03": ("#8A5A00", "D", "--"), "04": ("#56B4E9", "^", "-"),
         "05": ("#0072B2", "v", "-"), "06": ("#5DBB63", "<", "-"), "07": ("#00694E", ">", "--"), "08": ("#CC79A7", "p", "-"),
         "09": ("#7B3294", "X", "--"), "10": ("#F0746E", "h", "-"), "11": ("#B2182B", "*", "-")}
CUBLAS = {"color": "black", "linestyle": (0, (1, 1.2)), "linewidth": 2}
BAR = "#0072B2"
NOTE = "#555555"


def of(lesson):
    colour, marker, line = RUNGS[lesson[:2]]
    return {"color": colour, "marker": marker, "linestyle": line, "linewidth": 1.4, "markersize": 5}


def short(lesson):
    return lesson.replace("_", "\n")


def spread(ax, x, groups, **style):
    """Medians of the groups of values, with bars from the lowest to the highest."""
    y = [median(g) for g in groups]
    ax.errorbar(x, y, yerr=[[m - min(g) for m, g in zip(y, groups)], [max(g) - m for m, g in zip(y, groups)]], **style)


def apart(values, gap):
    """The sorted values, moved as little as need be for neighbours to lie `gap` apart."""
    groups = []  # [first wanted value, count]: members lie gap apart around the mean of what they wanted
    for value in values:
        groups.append([value, 1])
        while len(groups) > 1:
            (a, n), (b, m) = groups[-2:]
            if a + (n - 1) * gap / 2 + gap <= b - (m - 1) * gap / 2:
                break
            groups[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    return [middle + (i - (count - 1) / 2) * gap for middle, count in groups for i in range(count)]


def label_ends(ax, ends, gap):
    """Writes each line's name beside its last point. ends: [(x, y, text, colour)]; gap: the least distance in y of two names."""
    ends = sorted(ends, key=lambda e: e[1])
    for (x, y, text, colour), at in zip(ends, apart([e[1] for e in ends], gap)):
        ax.annotate(text, (x, y), xytext=(1.03, at), textcoords=("axes fraction", "data"), fontsize=7, color=colour, va="center",
                    annotation_clip=False, arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3})


def legend_beside(ax):
    ax.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def describe_svg(path, title, description):
    """Gives an SVG file a title and a description, which screen readers read."""
    def escape(text):
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    text = path.read_text()
    head = re.search(r"<svg [^>]*>", text)
    opened = head[0].replace("<svg ", '<svg role="img" aria-labelledby="title desc" ', 1)
    words = f'\n <title id="title">{escape(title)}</title>\n <desc id="desc">{escape(description)}</desc>'
    path.write_text(text[:head.start()] + opened + words + text[head.end():])
