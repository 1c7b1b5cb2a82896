# setup_find.sh: finds tools and their versions, for setup.sh and doctor.sh. Expects $root and $build;
# installs nothing.
# The find_* functions answer in a variable of that name and return 1 when there is none.

have() { command -v "$1" >/dev/null 2>&1; }

# version_at_least HAVE WANT: both as MAJOR.MINOR[.PATCH]
version_at_least() {
  [ "${1%%.*}" -gt "${2%%.*}" ] && return 0
  [ "${1%%.*}" -eq "${2%%.*}" ] || return 1
  a=${1#*.} b=${2#*.}
  [ "${a%%.*}" -ge "${b%%.*}" ]
}
cmake_version() { "$1" --version 2>/dev/null | sed -n 's/^cmake version \([0-9][0-9.]*\).*/\1/p'; }
nvcc_version() { "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9][0-9.]*\),.*/\1/p'; }

python_version() { "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null; }

# first_of AT_LEAST VERSION_OF CANDIDATE...: puts the first candidate that is new enough into `found`, and names those that
# are too old in `too_old`.
first_of() {
  found= at_least=$1 version_of=$2
  shift 2
  for candidate in "$@"; do
    candidate=$(command -v "$candidate" 2>/dev/null) || continue
    version=$($version_of "$candidate")
    [ -n "$version" ] || continue
    if version_at_least "$version" "$at_least"; then found=$candidate; return 0; fi
    too_old="$too_old  $candidate is $version, older than $at_least: not used
"
  done
  return 1
}
too_old=

# The Python environment, there or yet to be made: VENV_DIR, else .venv, else one in the build folder. One that somebody
# else prepared is used as it is, if it is complete.
find_venv() {
  venv=${VENV_DIR:-$root/.venv}
  if [ -d "$venv" ]; then
    [ -w "$venv" ] || cmp -s "$root/requirements.txt" "$venv/.installed-requirements.txt" || venv=$build/venv
  else
    [ -w "$(dirname "$venv")" ] || venv=$build/venv
  fi
  case $venv in /*) ;; *) venv=$root/$venv ;; esac
}

find_cxx() {
  cxx=
  for candidate in ${CXX:-c++ g++ clang++}; do
    if have "$candidate"; then cxx=$(command -v "$candidate"); return 0; fi
  done
  return 1
}
find_cmake() { first_of 3.24 cmake_version cmake /usr/local/bin/cmake /usr/bin/cmake "$venv"/lib/python3*/site-packages/cmake/data/bin/cmake && cmake=$found; }
find_python() { first_of 3.8 python_version python3 python3.13 python3.12 python3.11 python3.10 python3.9 && python=$found; }
find_doctest() {
  doctest=
  for candidate in /usr/include /usr/local/include "$build/_deps/doctest"; do
    if [ -e "$candidate/doctest/doctest.h" ]; then doctest=$candidate/doctest/doctest.h; return 0; fi
  done
  return 1
}
# Places of nvcc, a line each: PATH, the usual folder, others from the newest on, the local environment.
places_of_nvcc() {
  printf '%s\n' nvcc /usr/local/cuda/bin/nvcc
  ls -d /usr/local/cuda-*/bin/nvcc /opt/cuda/bin/nvcc 2>/dev/null | sort -rV
  ls -d "$venv"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc 2>/dev/null
}
