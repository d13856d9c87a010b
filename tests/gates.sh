#!/usr/bin/env bash
# gates.sh [REGEX [COMMAND]]: every gate, or those whose name matches, whatever failed before; the count comes last.
# COMMAND runs as soon as none with a deadline is left, unless one has failed; the others only have what it leaves idle.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# Temporary files are in memory where root runs this: nodes' code syncs what it writes, and its tests wait for the disk
# twice as long as they take.
if [ "$EUID" = 0 ] && [ -z "${IN_MEMORY:-}" ] && [[ $PWD != /tmp/* ]] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016  # expanded by the inner shell
    IN_MEMORY=/proc/$PPID/ns/mnt exec unshare --mount bash -c 'mount -t tmpfs tmpfs /tmp && exec "$@"' - tests/gates.sh "$@"
fi
only=${1:-}
command=${2:-}
idle=()
outside=()
# Namespaces that the lab makes have to be seen by what comes after it.
[ -z "${IN_MEMORY:-}" ] || outside=(nsenter "--mount=$IN_MEMORY" "--wdns=$PWD")
export NO_COLOR=1
results=build/gates
rm -rf $results
mkdir -p $results
touch $results/{passed,failed}
# What an earlier run has left would count as run.
rm -f build/log/pytest.xml build/ansible-test/ansible_collections/zerocopy/rdma/tests/output/junit/*-units.xml

gate() {
    [[ $1 =~ $only ]] || return
    if "${idle[@]}" tests/step.sh "$@"; then
        echo "$1" >>$results/passed
    else
        echo "$1" >>$results/failed
    fi
}

# Three parts of about the same time, the first two beside this, in process groups that end with it: the units of
# ansible-test, and tests that wait for daemons more than they compute.
set -m
{
    # What runs on nodes, on every Python; pytest has the rest.
    gate 'ansible-test units' tests/ansible-test.sh units tests/unit/plugins/ --venv
} >$results/ansible-test 2>&1 &
beside=($!)
{
    # A user's `make test` needs no root; CI has it.
    if [ -n "${CI:-}" ] || { [ "$EUID" = 0 ] && command -v mmdebstrap >/dev/null; }; then
        gate 'network manager' pytest -q --numprocesses=auto --maxprocesses=4 tests/network_manager
        gate 'cabling' pytest -q tests/cabling
    else
        echo 'Not tested with NetworkManager, ibsim and lldpd: this needs root, and mmdebstrap (tests/lab/lab.py deps --install).'
    fi
    # Prometheus and Alertmanager are downloaded as Debian's packages, and only unpacked.
    if command -v apt-get >/dev/null; then
        gate 'monitoring' pytest -q tests/monitoring
    else
        echo 'Not tested with Prometheus and Alertmanager: this needs apt-get.'
    fi
} >$results/services 2>&1 &
beside+=($!)
set +m
trap 'kill -- "${beside[@]/#/-}" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

collection=build/collections/ansible_collections/zerocopy/rdma
gate 'format' ruff format --check .
gate 'lint' ruff check .
mapfile -t scripts < <(git ls-files -- '*.sh')
gate 'shellcheck' shellcheck .ci/run "${scripts[@]}"
gate 'yamllint' yamllint --strict .
gate 'types' mypy $collection/plugins $collection/tests
gate 'docs' tests/docs.sh
# What `make site` tests besides is among the unit tests.
gate 'site' python tests/docsite/build.py build/site
gate 'changelog' antsibull-changelog lint
gate 'licences' build/venv-release/bin/reuse lint
# Without what ansible-test runs.
gate 'pytest' tests/once.sh pytest -q --numprocesses=auto --maxprocesses=8 --ignore=tests/unit/plugins \
    --junit-xml=build/log/pytest.xml tests/unit
# The oldest Python of nodes plays the recorded ones, where there is one.
gate 'molecule default' tests/once.sh RDMA_FLEET_PYTHON="$(tests/pythons.sh 8 8)" molecule test -s default
wait "${beside[@]}"
cat $results/{ansible-test,services}
if grep -qx 'pytest' $results/passed && grep -qx 'ansible-test units' $results/passed; then
    gate 'every test ran' python tests/every_test_ran.py
fi

# What has no deadline, in two parts beside COMMAND.
[ ! -s $results/failed ] || command=
[ -z "$command" ] || idle=(nice -n 19)
set -m
{
    # Without tests, which are not shipped, and took half of pylint's time: ruff and mypy check them, and
    # `make compatibility`. Imports on the oldest and the newest Python of nodes here, as each takes a minute: on those
    # between the units import what runs on nodes.
    # Paths come first: what follows --venv is dropped, and everything would run.
    gate 'ansible-test sanity' tests/ansible-test.sh sanity --exclude tests/ --skip-test import --venv
    for python in $(tests/pythons.sh 8 13 | sed -n '1p;$p' | uniq); do
        version=${python##*/python}
        gate "ansible-test import $version" tests/ansible-test.sh sanity --test import --python "$version" --venv
    done
} >$results/sanity 2>&1 &
beside=($!)
{
    gate 'ansible-lint' tests/once.sh ansible-lint --offline
    gate 'installed collection' tests/once.sh make --no-print-directory installed
} >$results/installed 2>&1 &
beside+=($!)
set +m
if [ -n "$command" ]; then
    # Niceness counts among the processes of one session only (autogroups of sched(7)), and each guest has its own.
    { echo 19 >/proc/self/autogroup; } 2>/dev/null
    setsid "${outside[@]}" bash -c "$command" &
    beside+=($!)
    wait $! || echo "$command" >>$results/failed
    { echo 0 >/proc/self/autogroup; } 2>/dev/null
fi
wait "${beside[@]}"
cat $results/{sanity,installed}

units=build/log/ansible-test-units.log
missing=$([ ! -e $units ] || sed -nE 's/.*unit tests on Python ([0-9.]+) .*not be found.*/\1/p' $units)
[ -z "$missing" ] || echo "Not tested with Python ${missing//$'\n'/, }: not installed here."
grep -h '^Not tested' build/log/installed-collection.log 2>/dev/null
sed 's/^/failed: /' $results/failed
echo "gates: $(wc -l <$results/passed) passed, $(wc -l <$results/failed) failed"
[ ! -s $results/failed ]
