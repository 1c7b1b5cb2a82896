"""What things are called: as reports call them, or, where a report knows only an offset into a block of shared memory, by the
name that the source line gives them."""

import re


def plain(name):
    """A name that a reader has written, not an offset or address."""
    return bool(name) and "+" not in name and not name.startswith("0x")


def source_text(trace, line):
    """The text of a row of trace['lines']; '' where it is not known."""
    if line is None or line < 0:
        return ""
    row = trace["lines"][line]
    if row["file"] < 0:
        return ""
    return next((text for number, text in trace["files"][row["file"]]["lines"] if number == row["line"]), "")


def argument(text):
    """The name of the first argument of the first call with a memory operand: 'full_bar' of 'init(&smem.full_bar[s], 1);'."""
    found = re.search(r"\w\(\s*&?\s*([A-Za-z_][\w.]*(?:->\w+)*)\s*[\[,+)]", re.sub(r"<[^<>]*>", "", text))
    return re.split(r"\.|->", found[1])[-1] if found else ""


def barrier_names(trace):
    """A name for each barrier. Of those that one line initialises the names are numbered by address."""
    names, of_line = [], {}
    for barrier in trace["barriers"]:
        of_line.setdefault((barrier["cta"], barrier.get("line", -1)), []).append(barrier["address"])
    for barrier in trace["barriers"]:
        name, line = barrier["name"], barrier.get("line", -1)
        word = argument(source_text(trace, line))
        if not plain(name) and word:
            together = sorted(of_line[barrier["cta"], line])
            name = f"{word}[{together.index(barrier['address'])}]" if len(together) > 1 else word
        names.append(name)
    return names


def tile_name(trace, event, index):
    """What the copy's source line calls its destination; else its map, else a letter."""
    return argument(source_text(trace, event.get("line"))) or (f"map {event['map']}" if "map" in event else "AB"[index:index + 1])


def listed(numbers):
    """'0 to 3, 7' for [0, 1, 2, 3, 7]."""
    parts, numbers = [], sorted(set(numbers))
    while numbers:
        end = 0
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        parts.append(str(numbers[0]) if end == 0 else f"{numbers[0]} and {numbers[1]}" if end == 1 else
                     f"{numbers[0]} to {numbers[end]}")
        numbers = numbers[end + 1:]
    return ", ".join(parts)


def warps(numbers, start=True):
    """'Warp 3' or 'Warps 0 to 7'."""
    word = "warps " if len(set(numbers)) > 1 else "warp "
    text = word + listed(numbers)
    return text[0].upper() + text[1:] if start else text


def count(number, what):
    """'1 arrival', '32,768 bytes'."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")
