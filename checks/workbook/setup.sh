#!/bin/sh
# setup.sh BUILD_DIR: finds the tools the workbook needs, brings in what is missing, and writes their places to
# BUILD_DIR/tools.env. Prints one line for each thing it installed; says nothing when nothing was missing.
#
#   system packages  with apt-get, as root or through sudo: g++ cmake doctest-dev python3 python3-venv
#   Python packages  into .venv, no root needed: requirements.txt, and nvcc or CMake where the system has none
#
# Environment: VENV_DIR (.venv), NVCC (a certain nvcc), CXX (a certain compiler). Exit: 0 ready, 2 something is missing.
set -u
build=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root" || exit 2

say() { echo "setup: $*"; }
die() { # die WHAT [LINE]...
  echo "error: $1" >&2
  shift
  for line in "$@"; do echo "  $line" >&2; done
  exit 2
}
. "$here/setup_find.sh"

# ---- where we may write
if ! mkdir -p "$build" 2>/dev/null || [ ! -w "$build" ]; then
  die "cannot write the build folder $build" \
      "why    the checkout is read-only, or belongs to somebody else" \
      "try    a folder of yours: make run BUILD_DIR=/tmp/workbook"
fi
build=$(cd "$build" && pwd)
log=$build/setup.log
find_venv

# ---- system packages: one apt-get call for everything that is missing
can_make_venv() { [ -n "${python:-}" ] && "$python" -c 'import venv, ensurepip' 2>/dev/null; }
have_venv() { [ -x "$venv/bin/python" ] && [ -e "$venv/bin/pip" ]; }

as_root=none
if have apt-get; then
  if [ "$(id -u)" = 0 ]; then as_root=
  elif have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then as_root=sudo
  fi
fi
wanted=
find_cxx || wanted="$wanted g++"
find_cmake || wanted="$wanted cmake"
find_doctest || wanted="$wanted doctest-dev"
find_python || wanted="$wanted python3"
have_venv || can_make_venv || wanted="$wanted python3-venv"
wanted=${wanted# }
if [ -n "$wanted" ] && [ "$as_root" != none ]; then
  say "installing the system packages: $wanted (log: $log)"
  apt() { ${as_root:+$as_root} env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >>"$log" 2>&1; }
  apt update || say "warning: apt-get update failed; trying with the package lists that are there"
  for package in $wanted; do
    if apt install --no-install-recommends "$package"; then
      say "installed $package (system package)"
    else
      say "warning: apt-get could not install $package: $(grep '^E:' "$log" | tail -n 1)"
    fi
  done
fi
too_old=
find_cxx || die "no C++ compiler" "try    sudo apt-get install g++" "       or name one: make run CXX=/path/to/g++"
find_python || die "no Python 3.8 or newer" "$too_old  why    it runs the commands and holds the packages the system lacks" \
                   "try    sudo apt-get install python3 python3-venv"

# ---- the local Python environment
make_venv() {
  have_venv && return 0
  if ! { can_make_venv && "$python" -m venv "$venv" >>"$log" 2>&1; }; then
    rm -rf "$venv"
    return 1
  fi
  say "made a Python environment: $venv"
}
# pip_install FILE WHAT: installs the packages of one requirements file, once for each content of that file.
pip_install() {
  stamp=$venv/.installed-$(basename "$1")
  cmp -s "$1" "$stamp" && return 0
  make_venv || return 1
  say "fetching $2 into $venv"
  # --no-compile: compiling all there is takes 8 s, and a script that draws imports a tenth of it.
  "$venv/bin/python" -m pip install -q --no-compile --disable-pip-version-check --retries 2 --timeout 30 -r "$1" >"$build/pip.log" 2>&1 || {
    could_not_fetch=$(sed -n 's/^\([a-z-]*==[0-9.]*\).*/\1/p' "$1" | paste -s -d ' ' -)
    return 1
  }
  cp "$1" "$stamp"
  names=$(sed -n 's/^\([a-z-]*\)==.*/\1/p' "$1" | sort -u | paste -s -d '|' -)
  say "installed $2: $("$venv/bin/python" -m pip list --format=freeze 2>/dev/null | grep -E "^($names)==" | paste -s -d ' ' -)"
}
why_no_pip() {
  if have_venv; then
    reason=$(sed -n "s/.*connection broken by '\(.*\)': .*/the package index cannot be reached: \1/p" "$build/pip.log" | tail -n 1)
    echo "why    could not fetch $could_not_fetch: ${reason:-$(grep -E '^ERROR|No space left' "$build/pip.log" | tail -n 1)}"
  else echo "why    $python can make no environment here: the module venv is missing (package python3-venv)"
  fi
}

if ! find_cmake; then
  [ -z "$too_old" ] || printf 'setup: CMake 3.24 or newer is needed:\n%s' "$too_old"
  pip_install "$here/setup_cmake.txt" "CMake" || die "no CMake 3.24 or newer" "$(why_no_pip)" "try    sudo apt-get install cmake python3-venv"
  find_cmake || die "CMake from the Python packages does not run" "try    $venv/bin/cmake --version"
fi
pip_install "$root/requirements.txt" "the Python packages of requirements.txt" ||
  say "warning: no figures and no format check, all else works
  $(why_no_pip)"

# ---- nvcc: 12.4 is the first release with every PTX form used here
# pick_nvcc PLACES: the first that is new enough and compiles with a host compiler of this machine.
pick_nvcc() {
  nvcc= too_old=
  while IFS= read -r place; do
    first_of 12.4 nvcc_version "$place" || continue
    for host in "$cxx" g++-15 g++-14 g++-13 g++-12; do
      have "$host" || continue
      if (cd "$build" && echo 'int main() {}' >probe.cu && "$found" -ccbin "$host" -c probe.cu -o probe.o) >>"$log" 2>&1 </dev/null; then
        nvcc=$found
        cuda_host=$(command -v "$host")
        rm -f "$build/probe.cu" "$build/probe.o"
        return 0
      fi
    done
    too_old="$too_old  $found is $version, and compiles with no host compiler here: $(tail -n 1 "$log")
"
  done <<END
$1
END
  return 1
}
# The trial compilation takes half a second, so an earlier answer that still holds is kept.
earlier=$(sed -n 's/^NVCC=//p' "$build/tools.env" 2>/dev/null)
too_old=
if [ -n "$earlier" ] && [ "${NVCC:-$earlier}" = "$earlier" ] && first_of 12.4 nvcc_version "$earlier"; then
  nvcc=$earlier
  cuda_host=$(sed -n 's/^CUDA_HOST=//p' "$build/tools.env")
elif [ -n "${NVCC:-}" ]; then
  pick_nvcc "$NVCC" || die "NVCC=$NVCC cannot be used" "why  ${too_old:-  it is no nvcc}" "try    another one, or leave NVCC unset: an nvcc is found or fetched"
elif ! pick_nvcc "$(places_of_nvcc)"; then
  [ -z "$too_old" ] || printf 'setup: no usable nvcc:\n%s' "$too_old"
  pip_install "$here/setup_cuda.txt" "the CUDA compiler (about 100 MB)" ||
    die "no CUDA compiler (nvcc 12.4 or newer), and its Python packages could not be installed" "$(why_no_pip)" \
        "try    connect this machine to the network, or install the CUDA toolkit and put nvcc on PATH"
  for home in "$venv"/lib/python3*/site-packages/nvidia/cu13; do
    [ -e "$home/lib64" ] || ln -s lib "$home/lib64" # nvcc looks for cudart in lib64, the packages put it in lib
  done
  pick_nvcc "$(places_of_nvcc)" || die "the CUDA compiler from the Python packages does not work" "why  ${too_old:-  no nvcc in $venv}" "try    make distclean, then make setup"
  say "using nvcc $(nvcc_version "$nvcc"): $nvcc"
fi

# ---- the answer
# A doctest that appears or goes makes CMake start afresh; the one it fetched itself does not.
find_doctest || doctest=
case $doctest in "$build"/*) doctest= ;; esac
# Without the packages of requirements.txt the system's Python does as well, and may have them.
[ -e "$venv/.installed-requirements.txt" ] && python=$venv/bin/python
# Ninja ends a name at an apostrophe when it reads what a file depends on, and then builds everything each time.
generator="Unix Makefiles"
case $root$build in *"'"*) ;; *) have ninja && generator=Ninja ;; esac
new=$build/tools.env.new
cat >"$new" <<END || die "cannot write $new" "why    the disk may be full"
# Written by setup.sh: the tools this build folder uses, and what was asked of it.
CMAKE=$cmake
CTEST=${cmake%/*}/ctest
GENERATOR=$generator
CXX_COMPILER=$cxx
NVCC=$nvcc
CUDA_HOST=$cuda_host
DOCTEST=$doctest
PYTHON=$python
VENV=$venv
ASKED_NVCC=${NVCC:-}
ASKED_CXX=${CXX:-}
ASKED_VENV_DIR=${VENV_DIR:-}
END
if cmp -s "$new" "$build/tools.env"; then rm -f "$new"; else mv "$new" "$build/tools.env"; fi
