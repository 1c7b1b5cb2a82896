"""The emulator's rooms: a file includes nothing from a room that comes after its own, and no files include one another in a circle."""

import pathlib
import re
import unittest

EMULATOR = pathlib.Path(__file__).resolve().parents[3] / "common" / "emulator"
README = EMULATOR / "README.md"


def rooms():
    """In the order that the README states."""
    sentence = re.search(r"a room uses those it needs of the ones named before it, (.*?), and none after it", README.read_text(), re.S)
    return re.findall(r"`(\w+)/`", sentence.group(1))


def included():
    """{file: the files that it includes}, by their places in the emulator."""
    return {str(path.relative_to(EMULATOR)): re.findall(r'^#include "emulator/([^"]+)"', path.read_text(), re.M)
            for room in rooms() for path in sorted((EMULATOR / room).glob("*.[ch]pp"))}


def up(files, order):
    """Includes of a room that comes later, or of none."""
    place = {room: number for number, room in enumerate(order)}
    room = lambda name: place.get(name.split("/")[0], len(place))
    return [f"{name} includes {other}" for name, others in files.items() for other in others if room(other) > room(name)]


def circle(files):
    """A way from a file back to itself; [] when there is none."""
    done, way = set(), []

    def visit(name):
        if name in way:
            return way[way.index(name):] + [name]
        if name in done:
            return []
        way.append(name)
        for other in files.get(name, []):
            if found := visit(other):
                return found
        way.pop()
        done.add(name)
        return []

    for name in files:
        if found := visit(name):
            return found
    return []


class Rooms(unittest.TestCase):
    def test_no_file_includes_a_room_after_its_own(self):
        self.assertGreater(len(included()), 100)
        self.assertEqual(up(included(), rooms()), [])

    def test_no_files_include_one_another_in_a_circle(self):
        self.assertEqual(circle(included()), [])

    def test_every_room_is_in_the_order(self):
        self.assertEqual({path.parent.name for path in EMULATOR.glob("*/*.[ch]pp")}, set(rooms()))

    def test_what_would_be_found(self):
        files = {"ptx/a.hpp": ["findings/b.hpp"], "findings/b.hpp": []}
        self.assertEqual(up(files, ["findings", "ptx"]), [])
        self.assertEqual(up(files, ["ptx", "findings"]), ["ptx/a.hpp includes findings/b.hpp"])
        self.assertEqual(up({"ptx/a.hpp": ["cellar/b.hpp"]}, ["ptx"]), ["ptx/a.hpp includes cellar/b.hpp"])
        self.assertEqual(circle(files), [])
        files["findings/b.hpp"] = ["findings/c.hpp"]
        files["findings/c.hpp"] = ["findings/b.hpp"]
        self.assertEqual(circle(files), ["findings/b.hpp", "findings/c.hpp", "findings/b.hpp"])


if __name__ == "__main__":
    unittest.main()
