#!/bin/sh
# What this machine has and lacks for the workbook: each thing, the version needed, and why; what to type for what is
# missing. Installs nothing. Exit: 0 if `make run` and `make test` would work as the machine is, 1 if not.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD_DIR:-$root/build}
cd "$root" || exit 1
. "$here/setup_find.sh"
find_venv

missing=0
advice=
# report WHAT FOUND NEEDED WHY: FOUND is empty for what is not there. need: the same, and run and test stop without it.
report() { printf '  %-14s %-44s %-16s %s\n' "$1" "$(echo "${2:--}" | sed "s|$root/||")" "$3" "$4"; }
need() {
  report "$@"
  if [ -z "$2" ]; then missing=$((missing + 1)); fi
}
advise() { advice="$advice
  $1: $2"; }

report thing found needed "what for"
report -------------- -------------------------------------------- ---------------- --------

cxx=
find_cxx && cxx="$("$cxx" -dumpfullversion -dumpversion 2>/dev/null | head -n 1) ($cxx)"
need "C++ compiler" "$cxx" "C++17" "the emulator, the host side"
[ -n "$cxx" ] || advise "C++ compiler" "sudo apt-get install g++   (make setup does it as root or with sudo)"

cmake=
find_cmake && found="$(cmake_version "$cmake") ($cmake)" || found=
need CMake "$found" ">= 3.24" "the build"
[ -n "$found" ] || advise CMake "make setup   (system package, or into .venv)"

found=
have ninja && found="$(ninja --version) ($(command -v ninja))"
report Ninja "$found" "optional" "a faster build; else make"

find_python && found="$(python_version "$python") ($python)" || found=
need Python "$found" ">= 3.8" "the commands"
[ -n "$found" ] || advise Python "sudo apt-get install python3 python3-venv   (make setup does it as root or with sudo)"

found=
if find_doctest; then
  found="$(sed -n 's/^#define DOCTEST_VERSION_[MP][A-Z]* //p' "$doctest" | paste -s -d . -) ($doctest)"
fi
need doctest "$found" "2.4" "the checks"
[ -n "$found" ] || advise doctest "sudo apt-get install doctest-dev, or nothing: the build fetches it where there is a network"

found=
[ -x "$venv/bin/python" ] && found=$("$venv/bin/python" -m pip list --format=freeze 2>/dev/null | sed -n 's/^matplotlib==//p')
report matplotlib "${found:+$found ($venv)}" "requirements.txt" "figures only"
[ -n "$found" ] || advise matplotlib "make setup   (into .venv)"

nvcc=
while IFS= read -r place; do
  [ -n "$nvcc" ] || { first_of 12.4 nvcc_version "$place" && nvcc="$(nvcc_version "$found") ($found)"; }
done <<END
${NVCC:-$(places_of_nvcc)}
END
need nvcc "$nvcc" ">= 12.4" "the programs; 12.4 is the first with every PTX form used"
[ -n "$nvcc" ] || advise nvcc "make setup   (brings one into .venv, no root needed), or install the CUDA toolkit"

gpu=
[ -z "${python:-}" ] || gpu=$("$python" -B "$here" device 2>/dev/null)
tab=$(printf '\t')
report "NVIDIA driver" "${gpu%%"$tab"*}" "optional" "DEVICE=gpu: CUDA at least as new as nvcc's major version"
report "Hopper GPU" "${gpu#*"$tab"}" "optional, 9.0" "times; without one the emulator runs everything"

echo
[ -z "$too_old" ] || printf 'too old:\n%s\n' "$too_old"
if [ -n "$advice" ]; then
  echo "what to type:$advice"
  echo
fi
if [ $missing -gt 0 ]; then
  echo "$missing needed thing(s) missing: 'make run' and 'make test' try to bring them in first"
  exit 1
fi
echo "make run and make test work here"
