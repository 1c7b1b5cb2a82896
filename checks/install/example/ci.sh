#!/bin/sh
# What continuous integration runs, in an image that has nvcc, CMake and a C++ compiler, and no GPU.
# EMULATOR: a checkout of the workbook, or a folder into which `make install PREFIX=folder` has put the emulator.
set -e
cd "$(dirname "$0")"
emulator=${EMULATOR:?the checkout of the workbook, or where the emulator is installed}
if [ ! -e "$emulator/lib/libcuda_emulator.a" ]; then
  make -C "$emulator" install PREFIX="$PWD/build/emulator"
  emulator=$PWD/build/emulator
fi
cmake -S . -B build -DCMAKE_PREFIX_PATH="$emulator" -DCMAKE_BUILD_TYPE=Release
cmake --build build
ctest --test-dir build --output-on-failure
