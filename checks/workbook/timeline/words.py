"""A sentence for each beat: the text alternative of the animation, and what its panel says."""

from . import names
from .stages import STORES

ACCESS = {"load_global": ("read", "of global memory into registers"), "store_global": ("write", "from registers to global memory"),
          "load_shared": ("read", "of shared memory"), "store_shared": ("write", "from registers to shared memory"),
          "atomic_global": ("update", "of global memory atomically"), "atomic_shared": ("update", "of shared memory atomically")}


CLUSTER_BARRIER = 16  # the number after bar's 0 to 15


def thread_barrier(event):
    """What the threads of a CTA, or of a cluster, meet at."""
    number = event.get("bar")
    return "the cluster barrier" if number == CLUSTER_BARRIER else "barrier 0 (__syncthreads)" if number == 0 else f"barrier {number}"


class Words:
    def __init__(self, trace, barrier_names):
        self.trace, self.barriers = trace, barrier_names
        self.copies = {e["copy"]: e for e in trace["events"] if e["e"] == "copy" and "copy" in e}

    def who(self, beat):
        """'Warps 0 to 7', 'Warp 0, lane 0'."""
        event = beat.events[0]
        numbers = sorted({e["warp"] for e in beat.events if "warp" in e})
        if not numbers:
            return "Somebody"
        if len(numbers) == 1 and event.get("lanes") == 1:
            return f"Warp {numbers[0]}, lane {event.get('lane', 0)}"
        return names.warps(numbers)

    def verb(self, beat, one, many):
        return one if len({e["warp"] for e in beat.events if "warp" in e}) == 1 else many

    def barrier(self, event):
        name = self.barriers[event["barrier"]]
        cta = self.trace["barriers"][event["barrier"]]["cta"]
        return name if cta == event.get("cta") or len(self.trace["ctas"]) < 2 else f"{name} of CTA {cta}"

    def counters(self, event):
        return f"{names.count(event['pending'], 'arrival')} and {names.count(event['bytes'], 'byte')} pending"

    def flipped(self, beat):
        flip = beat.first("flip")
        if not flip:
            return ""
        return (f" Nothing is pending any more: phase {flip['completed']} of {self.barrier(flip)} is complete, "
                f"and its phase bit flips to {flip['phase'] % 2}.")

    def box(self, event):
        if not event.get("start"):
            return ""
        of_map = self.trace["maps"][event["map"]]
        box = " × ".join(str(n) for n in reversed(of_map["box"]))
        offset = f" + ({', '.join(map(str, event['offset']))})" if event.get("offset") else ""
        return f" box ({', '.join(map(str, event['start']))}){offset} of {box} elements,"

    def copy(self, beat):
        event = beat.events[0]
        size = names.count(sum(e.get("bytes", 0) for e in beat.events), "byte")
        if event.get("kind") == "cp_async":
            return f"{self.who(beat)} {self.verb(beat, 'starts', 'start')} asynchronous copies (cp.async) of {size}."
        if event.get("kind") in STORES:
            return f"{self.who(beat)} {self.verb(beat, 'asks', 'ask')} the engine to store {size}."
        target = names.tile_name(event)
        on = f", to complete on {self.barrier(event)}" if "barrier" in event else ""
        return f"{self.who(beat)} starts copy {event['copy']}:{self.box(event)} {size} to {target}{on}."

    def land(self, beat):
        event = beat.events[0]
        copy = self.copies.get(event.get("copy"), {})
        size = names.count(sum(e.get("bytes", 0) for e in beat.events if e["e"] == "land"), "byte")
        if copy.get("kind") in STORES:
            return f"The engine has written {size} to global memory: its stores are complete."
        if copy.get("kind") == "cp_async":
            return f"{size} of the asynchronous copies land in shared memory."
        text = f"Copy {event.get('copy', '?')} lands: {size}."
        counted = beat.first("complete_tx")
        if counted:
            text += f" {self.barrier(counted)}: {self.counters(counted)}."
        return text + self.flipped(beat)

    def awaited(self, beat):
        event = beat.events[0]
        if "barrier" in event:
            return f"phase {event['phase']} of {self.barrier(event)}"
        if "group" not in event:
            return event.get("for") or "something that is not known"
        most = event.get("newest", 0)
        left = "" if most == 0 else " but the newest" if most == 1 else f" but the {most} newest"
        return f"{self.verb(beat, 'its', 'their')} {event['group']} groups{left}"

    def wait(self, beat):
        read = " to have read their sources" if beat.events[0].get("read") else ""
        return f"{self.who(beat)} {self.verb(beat, 'waits', 'wait')} for {self.awaited(beat)}{read}."

    def go_on(self, beat):
        event = beat.events[0]
        goes = f"{self.who(beat)} {self.verb(beat, 'goes', 'go')} on"
        if "barrier" in event and event["phase"] < 0:
            return f"{goes} at once: before phase 0 of {self.barrier(event)}, the parity of a phase that is complete is asked for."
        if "barrier" in event:
            return f"{goes}{'' if 'wait' in event else ' at once'}: {self.awaited(beat)} is complete."
        if "group" not in event:
            return f"{goes}."
        return f"{goes}: {self.awaited(beat)} {'have read their sources' if event.get('read') else 'are complete'}."

    def finding(self, beat):
        finding = self.trace["findings"][beat.events[0]["finding"]]
        return f"{finding['severity'].capitalize()} {finding['id']}: {finding['title']}."

    def text(self, beat):
        event, kind = beat.events[0], beat.events[0]["e"]
        who, verb = self.who(beat), lambda one, many: self.verb(beat, one, many)
        if kind == "init":
            parts = [f"{self.barrier(e)} for {names.count(e['count'], 'arrival')} a phase" for e in beat.events]
            return f"{who} initialises " + (", ".join(parts[:-1]) + " and " if parts[1:] else "") + parts[-1] + "."
        if kind == "expect_tx":
            arrives = beat.first("arrive")
            text = f"{who} announces {names.count(event['amount'], 'byte')} on {self.barrier(event)}"
            last = arrives or event
            return text + (" and arrives" if arrives else "") + f": {self.counters(last)}." + self.flipped(beat)
        if kind == "arrive":
            last = [e for e in beat.events if e["e"] == "arrive"][-1]
            when = ", as their copies are complete" if event.get("after_copies") else ""
            return f"{who} {verb('arrives', 'arrive')} on {self.barrier(event)}{when}: {self.counters(last)}." + self.flipped(beat)
        if kind == "copy":
            return self.copy(beat)
        if kind in ("land", "complete_tx"):
            return self.land(beat)
        if kind == "wait":
            return self.wait(beat)
        if kind == "pass":
            return self.go_on(beat)
        if kind == "product":
            return (f"Warpgroup {event['warpgroup']} starts product {event['product']} on the tensor core: "
                    f"{event.get('count', 1)} wgmma {event.get('shape', '')}.")
        if kind == "product_done":
            return f"Product {event['product']} of warpgroup {event['warpgroup']} is complete."
        if kind in ACCESS:
            size = names.count(sum(e.get("bytes", 0) for e in beat.events), "byte")
            count = sum(e.get("instructions", 0) for e in beat.events)
            does, how = ACCESS[kind]
            return f"{who} {verb(does + 's', does)} {size} {how}, in {names.count(count, 'instruction')} of a warp."
        simple = {
            "bar_arrive": f"{who} {verb('arrives', 'arrive')} at {thread_barrier(event)} and {verb('waits', 'wait')} there.",
            "bar_leave": f"All have arrived at {thread_barrier(event)}: {who.lower()} {verb('goes', 'go')} on.",
            "fence": f"{who} {verb('executes', 'execute')} {event.get('kind')}.",
            "commit": f"{who} {verb('closes', 'close')} a {event.get('group')} group.",
            "arrive_later": f"{who} {verb('asks', 'ask')} for an arrival once {verb('its', 'their')} copies are complete.",
            "read": "The engine has read the source: it may be written again.",
            "done": "The group's copies are complete.",
            "registers": f"{who} {verb('has', 'have')} {event.get('registers')} registers a thread from now on (setmaxnreg).",
            "exit": f"{who} {verb('leaves', 'leave')} the kernel.",
            "inval": f"{who} ends the life of an mbarrier.",
            "grid_wait": f"{who} {verb('waits', 'wait')} for the grid in front.",
            "launch_dependents": f"{who} {verb('lets', 'let')} the next grid start.",
            "print": f"{who} prints: {event.get('text', '')}",
        }
        if kind == "finding":
            return self.finding(beat)
        return simple.get(kind, f"{who}: {kind}.")
