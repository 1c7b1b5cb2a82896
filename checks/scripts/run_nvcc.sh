#!/bin/sh
# Compiler launcher for nvcc: run_nvcc.sh nvcc ARGS...
#
# Asks ptxas for its resource report, keeps it as <object>.ptxas (registers per thread for `make run`), and shows
# every other line. Three ptxas remarks end the build, because the program would be right and slow:
#   C7508  setmaxnreg is ignored        C7510, C7515  wgmma instructions are serialised
object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
case $object in
  *.o) ;;
  *) exec "$@" ;; # not a compilation: nothing to report
esac

report=$object.ptxas
"$@" -Xptxas -v >"$report" 2>&1
status=$?
grep -v -E '^ptxas info +: (Compiling entry function|Function properties|Used [0-9]+ registers|[0-9]+ bytes gmem|Compile time)|^ +[0-9]+ bytes stack frame|^$' "$report" >&2
if [ $status -eq 0 ] && grep -q -E 'C75(08|10|15)' "$report"; then
  rm -f "$object"
  echo "error: ptxas reported C7508, C7510 or C7515 (above) for $object." >&2
  echo "  why  registers are not moved, or wgmma instructions wait for each other: right results, lost speed" >&2
  echo "  try  keep accumulators untouched between wgmma_fence and wgmma_wait_group; match setmaxnreg to the launch bounds" >&2
  exit 1
fi
exit $status
