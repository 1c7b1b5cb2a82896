"""What things are called, in the words of reports."""

import re


def short(name):
    """The variable without its element: 'a' of 'a[2]' and of 'a[2]+64'; '' of an offset into a block, which names nothing."""
    return "" if re.fullmatch(r"\w*\+\d+|0x\w+", name) else re.sub(r"\[.*|\+.*", "", name)


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
