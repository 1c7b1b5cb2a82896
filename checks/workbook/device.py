"""Which device runs the programs, and why."""

import ctypes
import os
from dataclasses import dataclass, field

from workbook.base import Stop


@dataclass
class Gpu:
    """What the driver says of a GPU; driver_cuda: the CUDA version it knows, as 12040 for 12.4."""
    index: int
    name: str
    capability: tuple
    driver_cuda: int

    def __str__(self):
        return f"{self.name} (capability {self.capability[0]}.{self.capability[1]})"


def probe():
    """Asks libcuda. Returns (the first Hopper GPU, else the first GPU, else None; why there is none)."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, "no NVIDIA driver is installed (libcuda.so.1 is not there)"
    result = cuda.cuInit(0)
    if result != 0:
        return None, f"the NVIDIA driver does not start (cuInit returned {result})"

    def number(call, *arguments):
        value = ctypes.c_int(0)
        call(ctypes.byref(value), *arguments)
        return value.value

    gpus = []
    for index in range(number(cuda.cuDeviceGetCount)):
        device, name = number(cuda.cuDeviceGet, index), ctypes.create_string_buffer(128)
        cuda.cuDeviceGetName(name, 128, device)
        # 75, 76: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
        capability = tuple(number(cuda.cuDeviceGetAttribute, attribute, device) for attribute in (75, 76))
        gpus.append(Gpu(index, name.value.decode(), capability, number(cuda.cuDriverGetVersion)))
    if not gpus:
        return None, "the NVIDIA driver sees no GPU"
    return ([g for g in gpus if g.capability == (9, 0)] or gpus)[0], ""


def usable(toolkit=None):
    """(Gpu or None, reason): a GPU on which programs run that nvcc of the major version `toolkit` has built."""
    gpu, reason = probe()
    if gpu is None:
        return None, reason
    if gpu.capability != (9, 0):
        return None, f"{gpu} is no Hopper GPU: TMA with wgmma needs capability 9.0"
    if toolkit and gpu.driver_cuda // 1000 < toolkit:
        return None, (f"the driver of {gpu.name} knows CUDA {gpu.driver_cuda // 1000}.{gpu.driver_cuda % 1000 // 10}, and the "
                      f"programs are built with CUDA {toolkit}: update the driver, or name an older nvcc with NVCC=")
    return gpu, "compute capability 9.0"


@dataclass
class Choice:
    """device: 'gpu' or 'emu'. name: for people. reason: why this one. environment: what its programs need."""
    device: str
    name: str
    reason: str
    environment: dict = field(default_factory=dict)

    def __str__(self):
        return f"device: {self.name}, because {self.reason}"


def asked():
    """What DEVICE asks for: 'gpu', 'emu', or ''."""
    wanted = os.environ.get("DEVICE", "")
    if wanted not in ("", "gpu", "emu"):
        raise Stop(f"DEVICE={wanted} is no device", ("try", "DEVICE=gpu or DEVICE=emu, or leave it out: the best one is taken"))
    return wanted


def choose(default="", toolkit=None):
    """The device that DEVICE asks for, else `default`, else the best one; Stop where it cannot be had."""
    wanted = asked() or default
    if wanted == "emu":
        return Choice("emu", "emulator (CPU)", "DEVICE=emu" if asked() else "it needs no GPU", {"DEVICE": "emu"})
    gpu, reason = usable(toolkit)
    if gpu is None and wanted == "gpu":
        raise Stop("no GPU here can run these programs", ("why", reason),
                   ("try", "make status, check, run and test need none: the emulator runs the same programs on the CPU"))
    if gpu is None:
        return Choice("emu", "emulator (CPU)", reason, {"DEVICE": "emu"})
    environment = {"DEVICE": "gpu"}
    if gpu.index != 0 and "CUDA_VISIBLE_DEVICES" not in os.environ:
        environment["CUDA_VISIBLE_DEVICES"] = str(gpu.index)
    return Choice("gpu", gpu.name, "DEVICE=gpu" if asked() else reason, environment)
