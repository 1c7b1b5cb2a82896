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
find_cmake() {
  cmake=
  for candidate in cmake "$venv"/lib/python3*/site-packages/cmake/data/bin/cmake; do
    version=$(cmake_version "$candidate")
    if [ -n "$version" ] && version_at_least "$version" 3.24; then cmake=$(command -v "$candidate"); return 0; fi
  done
  return 1
}
find_doctest() {
  doctest=
  for candidate in /usr/include /usr/local/include "$build/_deps/doctest"; do
    if [ -e "$candidate/doctest/doctest.h" ]; then doctest=$candidate/doctest/doctest.h; return 0; fi
  done
  return 1
}
# Places of nvcc besides PATH and /usr/local/cuda, newest first, the local environment last.
other_nvcc() {
  ls -d /usr/local/cuda-*/bin/nvcc /opt/cuda/bin/nvcc 2>/dev/null | sort -rV
  ls -d "$venv"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc 2>/dev/null
}
