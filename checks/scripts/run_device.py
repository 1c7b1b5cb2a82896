"""Which device runs the programs, and why.

As a script, run_device.py [--default gpu|emu] prints the answer in one line, or a message and exit code 2.
"""

import ctypes
import os
import re
import subprocess
import sys

from run_common import die, tools


class Gpu:
    """What the driver says of the first Hopper GPU, or of device 0 if there is none."""

    def __init__(self, index, name, capability, driver_cuda):
        self.index, self.name, self.capability, self.driver_cuda = index, name, capability, driver_cuda


def probe():
    """Asks libcuda. Returns (Gpu or None, sentence why there is none)."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, "no NVIDIA driver is installed (libcuda.so.1 is not there)"
    result = cuda.cuInit(0)
    if result != 0:
        return None, f"the NVIDIA driver does not start (cuInit returned {result})"
    count, version = ctypes.c_int(0), ctypes.c_int(0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    cuda.cuDeviceGetCount(ctypes.byref(count))
    gpus = []
    for index in range(count.value):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        name = ctypes.create_string_buffer(128)
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetName(name, 128, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)  # COMPUTE_CAPABILITY_MAJOR
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)  # COMPUTE_CAPABILITY_MINOR
        gpus.append(Gpu(index, name.value.decode(), (major.value, minor.value), version.value))
    if not gpus:
        return None, "the NVIDIA driver sees no GPU"
    hopper = [g for g in gpus if g.capability == (9, 0)]
    return (hopper or gpus)[0], ""


def usable():
    """Returns (Gpu or None, reason). A Gpu is returned only if the programs built here run on it."""
    gpu, reason = probe()
    if gpu is None:
        return None, reason
    if gpu.capability != (9, 0):
        return None, (f"{gpu.name} has compute capability {gpu.capability[0]}.{gpu.capability[1]}, "
                      "and TMA with wgmma needs 9.0 (Hopper)")
    text = subprocess.run([tools()["NVCC"], "--version"], capture_output=True, text=True).stdout
    toolkit = int(re.search(r"release (\d+)\.", text).group(1))
    if gpu.driver_cuda // 1000 < toolkit:
        return None, (f"the driver of {gpu.name} knows CUDA {gpu.driver_cuda // 1000}.{gpu.driver_cuda % 1000 // 10}, "
                      f"and the programs are built with CUDA {toolkit}: update the driver, or name an older nvcc with NVCC=")
    return gpu, "compute capability 9.0"


def describe():
    """Two cells for `make doctor`: the driver, and the GPU; '' for what is not there."""
    gpu, _ = probe()
    if gpu is None:
        return "", ""
    major, minor = gpu.capability
    suits = "" if gpu.capability == (9, 0) else ", not Hopper"
    return (f"knows CUDA {gpu.driver_cuda // 1000}.{gpu.driver_cuda % 1000 // 10}",
            f"{gpu.name} (capability {major}.{minor}{suits})")


class Choice:
    """device: 'gpu' or 'emu'. name: for people. reason: why this one. environment: what its programs need."""

    def __init__(self, device, name, reason, environment):
        self.device, self.name, self.reason, self.environment = device, name, reason, environment


def choose(default=""):
    """The device that DEVICE asks for, else `default`, else the best one. Ends the script if it cannot be had."""
    asked = os.environ.get("DEVICE") or default
    if asked not in ("", "gpu", "emu"):
        die(f"DEVICE={asked} is no device", "try   DEVICE=gpu or DEVICE=emu, or leave it out: the best one is taken")
    if asked == "emu":
        return Choice("emu", "emulator (CPU)", "DEVICE=emu" if os.environ.get("DEVICE") else "it needs no GPU",
                      {"DEVICE": "emu"})
    gpu, reason = usable()
    if gpu is None and asked == "gpu":
        die("DEVICE=gpu, but no GPU here can run these programs", f"why   {reason}",
            "try   leave DEVICE out: the emulator runs the same programs on the CPU")
    if gpu is None:
        return Choice("emu", "emulator (CPU)", reason, {"DEVICE": "emu"})
    environment = {"DEVICE": "gpu"}
    if gpu.index != 0 and "CUDA_VISIBLE_DEVICES" not in os.environ:
        environment["CUDA_VISIBLE_DEVICES"] = str(gpu.index)
    return Choice("gpu", gpu.name, "DEVICE=gpu" if asked else reason, environment)


if __name__ == "__main__":
    choice = choose(default=sys.argv[2] if sys.argv[1:2] == ["--default"] else "")
    print(f"device: {choice.name}, because {choice.reason}")
