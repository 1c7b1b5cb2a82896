"""What a student reads of the compiler: its first complaint, at the line; and what the assembler's remarks mean."""

import re

from workbook.base import RED, YELLOW, colour, load_text, paragraph, shown
from workbook.nvcc import REMARK, REMARKS
from workbook.report import short, snippet


def refusal(error, source):
    """The first error of a source that does not compile."""
    mine = [w for w in error.where if w[0].endswith(source.name)] or error.where
    if not mine:
        return [colour("the linker or assembler refuses it", RED), "", *short(str(error)).splitlines()[-6:]]
    file, line, text = mine[0]
    file = source if file.endswith(source.name) else file
    out = [colour(text, RED), "", f"  {shown(file)}:{line}", *snippet(file, line)]
    return out + ([f"  and {len(error.where) - 1} more errors, which may follow from it"] if len(error.where) > 1 else [])


def remarks(said, source):
    """Right results, lost speed: what ptxas remarks of a student's kernel, with the line where it can be told."""
    refused = re.search(r"^ptxas .*?(?:error|fatal) *: *(.*)$", said, re.M)
    if refused:
        return [colour("right, but ptxas refuses the program for a GPU", YELLOW), "", paragraph("why", refused[1]),
                paragraph("try", "make it what the GPU's assembler takes: the emulator runs the PTX in front of it")]
    found = dict(REMARK.findall(said))
    if not found:
        return []
    code, text = next(iter(found.items()))
    calls = [i for i, line in enumerate(load_text(source).splitlines(), 1) if re.search(r"\b(printf|assert)\s*\(", line)]
    out = [colour(f"right, but {REMARKS[code]} (ptxas {code})", YELLOW), ""]
    if calls and code != "C7508":
        out += [f"  {shown(source)}:{calls[0]}", *snippet(source, calls[0], 0), ""]
        return out + [paragraph("why", "a call that is not inlined, such as printf, makes ptxas put a wait behind every wgmma"),
                      paragraph("try", "keep it while you look for a mistake, and take it out again")]
    hint = ("match setmaxnreg to the launch bounds" if code == "C7508" else
            "keep accumulators untouched between wgmma_fence and wgmma_wait_group")
    return out + [paragraph("why", text.replace("Potential Performance Loss: ", "")), paragraph("try", hint)]
