"""What things are called, in the words of reports."""

import re


OFFSET = re.compile(r"(\w+)\+\d+|0x\w+")


def without_offsets(trace):
    """Takes from the events what names no place: offsets into a block of shared memory, and the block's own name."""
    places = [(event, key) for event in trace["events"] for key in ("place", "a", "b") if key in event]
    offsets = [OFFSET.fullmatch(event[key]) for event, key in places]
    blocks = {found[1] for found in offsets if found}
    for (event, key), offset in zip(places, offsets):
        if offset or event[key] in blocks:
            event[key] = ""


def short(name):
    """The variable without its element: 'a' of 'a[2]' and of 'a[2]+64'."""
    return re.sub(r"\[.*|\+.*", "", name)


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
