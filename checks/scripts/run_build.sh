#!/bin/sh
# run_build.sh BUILD_DIR JOBS [TARGET...]: configures when needed, then builds the targets (all of them by default).
# Needs BUILD_DIR/tools.env from setup.sh. Exit: that of CMake.
build=$1
jobs=$2
shift 2
unset MAKEFLAGS MFLAGS MAKELEVEL # the make that called this is none of the build's business
. "$build/tools.env"

# Other tools than last time: CMake keeps its compilers for good, so it starts afresh.
if [ ! -e "$build/CMakeCache.txt" ] || ! cmp -s "$build/tools.env" "$build/tools.configured"; then
  "$CMAKE" --fresh -S . -B "$build" -G "$GENERATOR" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$CXX_COMPILER" \
    -DCMAKE_CUDA_COMPILER="$NVCC" -DCMAKE_CUDA_HOST_COMPILER="$CUDA_HOST" -DPython3_EXECUTABLE="$PYTHON" \
    ${CMAKE_FLAGS:-} >"$build/configure.log" 2>&1 || {
    cat "$build/configure.log" >&2
    echo "build: CMake could not configure; the message is above (log: $build/configure.log)" >&2
    exit 2
  }
  grep 'doctest' "$build/configure.log" # says when doctest had to be fetched
  cp "$build/tools.env" "$build/tools.configured"
  echo "build: compiling; the first time takes a few minutes (nvcc $("$NVCC" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p'), $jobs jobs)"
fi
# The build's output, without the lines that say that nothing was to do.
status=$build/build.status
{
  "$CMAKE" --build "$build" -j "$jobs" ${*:+--target} "$@"
  echo $? >"$status"
} 2>&1 | grep --line-buffered -v -E '^\[0/[0-9]+\] Re-checking|^ninja: no work|Built target|^Consolidate compiler|^-- '
exit "$(cat "$status")"
