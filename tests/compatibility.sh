#!/usr/bin/env bash
# compatibility.sh [VERSION...]: ansible-test's sanity tests, import on every Python among them, with each ansible-core of
# tests/compatibility.yml, or those of these versions (2.20); the unit tests of nodes' code with the oldest and the newest.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
mapfile -t cores < <(python tests/compatibility.py --cores)
asked=("$@")
failed=()

wanted() {
    local version
    [ ${#asked[@]} -gt 0 ] || return 0
    for version in "${asked[@]}"; do
        [[ $1 != "$version"* ]] || return 0
    done
    return 1
}

# pylint of pre-releases may need a package that no index has, from an address that cannot be reached everywhere.
without_pylint() {
    local file address
    for file in build/"$1"/lib/python3*/site-packages/ansible_test/_data/requirements/sanity.pylint.txt; do
        address=$(sed -nE 's/^[^#]*@ *(https:[^# ]*).*/\1/p' "$file")
        [ -z "$address" ] || python -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=20)' \
            "$address" 2>/dev/null || { echo "$address" && return; }
    done
    return 1
}

for index in "${!cores[@]}"; do
    read -r core oldest <<<"${cores[index]}"
    wanted "$core" || continue
    venv=venv-core-$core
    if [ ! -e "build/$venv/ready" ]; then
        # The oldest here that is at least of this version.
        if ! read -r python < <(tests/pythons.sh "${oldest#3.}" 14 ensurepip); then
            echo "ansible-core $core needs Python $oldest or newer, which is not installed here."
            failed+=("$core")
            continue
        fi
        tests/step.sh "ansible-core $core" sh -c "'$python' -m venv --clear 'build/$venv' &&
            'build/$venv/bin/python' -m pip install --no-compile --disable-pip-version-check 'ansible-core==$core' &&
            touch 'build/$venv/ready'" || { failed+=("$core") && continue; }
    fi
    export ANSIBLE_TEST_VENV=$venv
    skipped=()
    if address=$(without_pylint "$venv"); then
        skipped=(--skip-test pylint)
        echo "Not tested with pylint of ansible-core $core: it needs $address."
    fi
    tests/step.sh "sanity $core" tests/ansible-test.sh sanity "${skipped[@]}" --venv || failed+=("sanity $core")
    if [ "$index" = 0 ] || [ "$index" = $((${#cores[@]} - 1)) ]; then
        tests/step.sh "units $core" tests/ansible-test.sh units tests/unit/plugins/ --venv || failed+=("units $core")
    fi
done
[ ${#failed[@]} = 0 ] || { printf 'failed: %s\n' "${failed[@]}" && exit 1; }
