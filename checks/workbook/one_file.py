"""Any program of one source file: compiled with the reader's own options, and run once under the checker."""

import os
import re
import shlex
from pathlib import Path

from workbook import build, compile_report, device, predict, program, report
from workbook.base import BUILD, OK, ROOT, WRONG, Stop, paragraph, save_text, shown
from workbook.check import TRY_LIMIT_S, arguments, print_own, schedule, show_run
from workbook.nvcc import allotted
from workbook.run import run

OF_CUDA = re.compile(r"(__)?cu(da)?[A-Z]\w+$")  # a call of the runtime or the driver
SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")
REFUSED = 2  # ptx_file does not understand what is asked
FOLDER_OPTIONS = ("-I", "-isystem", "-include", "-L")


def caller():
    """The folder that `make` was called from; with `make -C folder` it is not the checkout."""
    return Path(os.environ.get("CALLED_FROM") or ROOT)


def source_of(name, kinds=SOURCES):
    """The file that FILE= names: as seen from where make was called, else from the checkout."""
    given = Path(name).expanduser()
    places = list(dict.fromkeys(folder / given for folder in (caller(), ROOT)))
    source = next((p for p in places if p.exists()), None)
    if source is None:
        raise Stop(f"FILE={name} does not exist", ("where", "\n".join(map(str, places))))
    if source.is_dir() or source.suffix not in kinds:
        raise Stop(f"FILE={name} is no source of a program", ("why", "it is a folder" if source.is_dir() else
                   f"nvcc is given files that end in {', '.join(SOURCES)}"),
                   ("try", "the .cu file that has main()" + (", or a .ptx file" if ".ptx" in kinds else "") + "; README.md has one to start from, at \"A kernel of your own\""))
    return Path(os.path.abspath(source))


def options():
    """(for the compiler, for the linker) of FLAGS; a folder in them is seen from where make was called."""
    try:
        words = shlex.split(os.environ.get("FLAGS", ""))
    except ValueError as problem:
        raise Stop(f"FLAGS={os.environ['FLAGS']} cannot be taken apart", ("why", str(problem)))
    linked = next((w for w in words if re.fullmatch(r"-dc|--device-c|--?(rdc|relocatable-device-code)=true", w)), None)
    if linked:
        raise Stop(f"FLAGS={linked}: one file has nobody to be linked with", ("try", "leave it out; a program of several files is built "
                   "with the installed wrapper: make install PREFIX=folder"))
    absolute = []
    for word, before in zip(words, [""] + words):
        option = next((o for o in FOLDER_OPTIONS if word.startswith(o) and word != o), "")
        name = word[len(option):] if option else word
        is_path = option or before in FOLDER_OPTIONS or (not word.startswith("-") and word.endswith((".a", ".o", ".so")))
        absolute.append(option + os.path.join(caller(), name) if is_path and not name.startswith("=") else word)
    linker = [w for w in absolute if w.startswith(("-l", "-L", "-Wl,")) and w not in ("-lineinfo", "-lto") or w.endswith((".a", ".o", ".so"))]
    return [w for w in absolute if w not in linker], linker


def compiled(source, choice):
    """The program of the file. Raises DoesNotCompile."""
    if source.suffix == ".ptx":  # a program of the build launches its kernels
        build.prepare("check.ptx_file")
        return BUILD / "checks" / "ptx_file"
    out = BUILD / "try" / (source.stem + (".emu" if choice.device == "emu" else ""))
    more, libraries = options()
    compiling = more if "-DNDEBUG" in more else ["-UNDEBUG", *more]  # assert() is on, as in a build of one's own
    build.jobs()
    with build.locked():
        build.setup(again=False)
        build.build("emulator", "lab_host")
        try:
            return program.make(source, out, choice.device, more=compiling, libraries=libraries)
        except Stop as stop:
            if more:
                stop.lines = [(label, text) for label, text in stop.lines if label != "try"] + [("try", "look at FLAGS")]
            raise


def refusal(error, source):
    """Why there is no program. What the linker misses is named: it is another kind of mistake than the compiler's."""
    missing = list(dict.fromkeys(re.findall(r"undefined reference to [`']([^'\n]+)'", str(error))))
    if not missing or error.where:
        return compile_report.refusal(error, source)
    if missing == ["main"]:
        return [f"{shown(source)} has no main()", "",
                paragraph("why", "a whole program is run: its main() makes the inputs, launches the kernel and compares"),
                paragraph("try", "add one; README.md has a program to start from, at \"A kernel of your own\"")]
    calls = [name for name in missing if OF_CUDA.match(name)]
    if calls:
        return [f"the emulator does not have {', '.join(calls[:4])}" + (f" and {len(calls) - 4} more" if calls[4:] else ""), "",
                paragraph("why", "of the CUDA runtime and driver it has the calls that launches, memory, streams, events, modules and tensor "
                                 "maps need; textures, arrays, surfaces and graphs are not emulated (common/emulator/README.md)"),
                paragraph("try", "leave the call away where the kernel does not need it, or run the program on a Hopper GPU: DEVICE=gpu")]
    return [f"the linker does not find {missing[0]}" + (f" and {len(missing) - 1} more" if missing[1:] else ""), "",
            paragraph("why", "neither the file nor the emulator defines it. NVIDIA's libraries (cuBLAS and the like) hold machine code, "
                             "which the emulator cannot execute"),
            paragraph("try", "FLAGS=\"-lname\" or FLAGS=other.o where it is a library or object of the host; a program of several files "
                             "is built with the installed wrapper: make install PREFIX=folder")]


def name_files(finding, source):
    """The emulator names files as seen from where the program runs; here they are named in full. PTX text without lines of
    its own source has its own lines."""
    if source.suffix == ".ptx" and not finding.get("file"):
        finding.update(file=str(source), line=finding.get("ptx_line"))
    for part in [finding, *finding.get("chain", []), *finding.get("related", [])]:
        for key in ("file", "other_file"):
            if part.get(key):
                part[key] = os.path.normpath(os.path.join(caller(), part[key]))


def try_file(name):
    source, words, order = source_of(name, (*SOURCES, ".ptx")), arguments(), schedule()
    choice = device.choose("emu")
    ptx = source.suffix == ".ptx"
    if ptx and choice.device != "emu":
        raise Stop(f"FILE={name} runs on the emulator only", ("try", "leave DEVICE out"))
    try:
        out = compiled(source, choice)
    except program.DoesNotCompile as error:
        print("\n".join(refusal(error, source)))
        return WRONG
    done = run([out, *([source] if ptx else []), *words], TRY_LIMIT_S, cwd=caller(), EMU_SCHEDULE=order, EMU_TIME_LIMIT=TRY_LIMIT_S - 20, **choice.environment)
    if done.code:  # its exit codes have no meaning but this
        done.result = {"verdict": "error"}
    for finding in done.findings:
        name_files(finding, source)
    print(f"{shown(source)}  {order if choice.device == 'emu' else choice.name}\n")
    print_own(report.own_lines(done.output, done.findings))
    if ptx and not done.findings and done.code == REFUSED:  # it has said why
        return WRONG
    if ptx and not words and not done.findings:  # nothing was to be run
        print(paragraph("try", f"make try FILE={name} ARGS=\"--block 128 f32:1024 7\" launches a kernel, with an argument for each parameter"))
        return WRONG if done.code else OK
    return show_run(done, source, choice)


def sizes_of(name, least, text, example):
    """The numbers of TILE=128x256x64 and the like; None where it is not given."""
    if not text:
        return None
    found = re.fullmatch(r"(\d+)" + r"x(\d+)" * (least - 1), text)
    if not found or not all(int(part) for part in found.groups()):
        raise Stop(f"{name}={text} are no {least} sizes", ("try", f"{name}={example}"))
    return tuple(int(part) for part in found.groups())


def predict_file(name):
    """What the program of a file would take on an H200 at the usual sizes."""
    if device.asked() == "gpu":
        raise Stop("a prediction comes from the emulator", ("try", "leave DEVICE out"))
    source, words, choice = source_of(name), arguments(), device.choose("emu")
    tile = sizes_of("TILE", 3, os.environ.get("TILE", ""), "128x256x64")
    unit = sizes_of("UNIT", 2, os.environ.get("UNIT", ""), "2048x2048")
    if not tile:
        raise Stop("which tile of C does a CTA compute, and how much of K does a stage hold?",
                   ("try", f"make predict FILE={name} TILE=128x256x64 ARGS=\"--m {{m}} --n {{n}} --k {{k}}\""))
    if not all(any(f"{{{size}}}" in word for word in words) for size in "mnk"):
        raise Stop("ARGS does not say how the program is told M, N and K", ("why", "it is run at several small sizes; {m}, {n} and {k} stand for them"),
                   ("try", "ARGS=\"--m {m} --n {n} --k {k}\", or ARGS=\"{m} {n} {k}\""))
    try:
        out = compiled(source, choice)
    except program.DoesNotCompile as error:
        print("\n".join(refusal(error, source)))
        return WRONG
    registers = out.with_suffix(".registers")
    save_text(registers, "".join(f"{count} {kernel}\n" for kernel, count in allotted(program.assemble(out.with_suffix(".ptx")))))

    def timed_at(sms, m, n, k, first=False, mhz=predict.MHZ[0]):
        numbers = {"{m}": m, "{n}": n, "{k}": k}
        filled = [re.sub(r"\{[mnk]\}", lambda found: str(numbers[found[0]]), word) for word in words]
        known = {"EMU_REGISTERS": registers} if registers.stat().st_size else {}
        known.update({"EMU_WINDOW": "first"} if first else {})
        done = run([out, *filled], predict.OWN_LIMIT_S, cwd=caller(), EMU_SCHEDULE=f"timed:{sms}", EMU_MHZ=mhz, EMU_CHECK="off", **known)
        if "timed" not in done.emu or done.errors or done.code and not first:  # the first CTAs alone give no whole result
            print("\n".join(report.own_lines(done.output, done.findings)))
            raise Stop(f"no prediction: {shown(source)} with {' '.join(filled)} {done.ended()}",
                       ("try", f"make try FILE={name} ARGS=\"{' '.join(filled)}\"; UNIT=2048x2048 where M and N must be multiples of more than a tile"))
        if not done.emu["timed"]["tensor_busy"]:
            raise Stop(f"no prediction: the last kernel of {shown(source)} has no product of the tensor cores",
                       ("try", "end the program with a launch of the kernel that is to be predicted"))
        return done.emu["timed"]

    print(f"{shown(source)}: windows of tile {'x'.join(map(str, tile))} on the emulator's timed schedule", flush=True)
    predict.show_own(predict.own_window(timed_at, tile, unit))
    return OK
