#!/usr/bin/env bash
# step.sh NAME COMMAND...: one line for a step that works, its log as well for one that fails. The line has its time, and
# that of the processor, which is about the same whatever runs beside it.
set -uo pipefail
name=$1
shift
log=build/log/${name//[^a-zA-Z0-9.]/-}.log
mkdir -p build/log
printf '%-30s ' "$name"
SECONDS=0
TIMEFORMAT='%0U + %0S'
cpu=$( { time "$@" </dev/null >"$log" 2>&1; } 2>&1)
rc=$?
if [ $rc -eq 0 ]; then
    printf 'ok     %4d s, CPU %4d s\n' $SECONDS $((cpu))
else
    printf 'FAILED %4d s\n' $SECONDS
    tail -n 200 "$log" | sed 's/^/    /'
    echo "    (exit code $rc; whole log: $log)"
fi
exit $rc
