"""What things are called, in the words of reports."""

import re


def short(name):
    """The variable without its element: 'a' of 'a[2]' and of 'a[2]+64'."""
    return re.sub(r"\[.*|\+.*", "", name)


def without_blocks(trace):
    """Takes from the events the names that tell no tile from another: of a block in which tiles of two matrices lie."""
    places = [(event, key) for event in trace["events"] for key in ("place", "a", "b") if key in event]
    holds = {}  # by name: the matrices of which it holds tiles
    for event, key in places:
        holds.setdefault(short(event[key]), set()).add((key, event.get("map")))
    for event, key in places:
        mine = holds[short(event[key])]
        if len({of for k, of in mine if k == "place"}) > 1 or len({k for k, _ in mine} & {"a", "b"}) > 1 or event[key].startswith("0x"):
            event[key] = ""


def tile_name(event, index=0):
    """What the place is called that a copy writes or, of a store, reads; else its map; else a letter."""
    return short(event.get("place", "")) or (f"map {event['map']}" if "map" in event else "AB"[index:index + 1])


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
