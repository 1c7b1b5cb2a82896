#!/bin/sh
# start.sh COMMAND...: the tool, run by a Python that is new enough; on a machine without one setup brings it in first.
here=$(dirname "$0")
python3 -B "$here" "$@"
code=$?
[ $code -eq 127 ] || [ $code -eq 86 ] || exit $code # 86: __main__.py finds this Python too old
sh "$here/setup.sh" "${BUILD_DIR:-build}" || exit
exec "$(sed -n 's/^PYTHON=//p' "${BUILD_DIR:-build}/tools.env")" -B "$here" "$@"
