#!/usr/bin/env bash
# pythons.sh FROM TO [MODULE]: for each version from 3.FROM to 3.TO, oldest first, the path of a Python that has the
# module: that of PATH, or else of pyenv.
set -uo pipefail
for minor in $(seq "$1" "$2"); do
    for python in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python"3.$minor"; do
        # A shim of pyenv is in PATH whether or not its version is installed.
        "$python" -c "import sys, ${3:-sys}; print(sys.executable)" 2>/dev/null && break
    done
done
exit 0
