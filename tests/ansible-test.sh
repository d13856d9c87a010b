#!/usr/bin/env bash
# ansible-test.sh ARGUMENTS...: ansible-test on a copy of this checkout, for instance `units --venv --python 3.8`. It is
# that of the environment ANSIBLE_TEST_VENV below build/, by default of the one that all other checks use.
set -euo pipefail
cd "$(dirname "$0")/.."
used=${ANSIBLE_TEST_VENV:-venv}
venv=$PWD/build/$used/bin
work=$PWD/build/ansible-test${used#venv}
home=$work/home
tree=$work/ansible_collections/zerocopy/rdma

# It insists on this directory name, resolves links, and asks git for the files. What it left in tests/output stays.
[ ! -d "$tree/.git" ] || (cd "$tree" && git ls-files -z | xargs -0 rm -f)
mkdir -p "$tree" "$home"/{.config/pip,.ansible/test/cache,wheel}
git ls-files -coz --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$tree"
git -C "$tree" init -q
git -C "$tree" add --all

# The collection that ours depends on.
mkdir -p "$tree/../../kubernetes"
[ -d "$tree/../../kubernetes/core" ] ||
    cp -r "$PWD"/build/venv/lib/python3*/site-packages/ansible_collections/kubernetes/core "$tree/../../kubernetes/"

# It drops the environment, so pip's settings must reach it as a file.
(
    umask 077
    echo '[global]'
    "$venv/pip" config list | sed -nE "s/^(:env:\.|global\.)([^=]+)='(.*)'\$/\2 = \3/p" | awk -F= '!seen[$1]++'
    [ -z "${https_proxy:-}" ] || echo "proxy = $https_proxy"
) >"$home/.config/pip/pip.conf"

# It would download pip's installer from a host of its own; the wheel from the package index does the same.
pip_version=$("$venv/python" -c '
import types, ansible_test._internal.python_requirements as requirements
print(requirements.get_venv_packages(types.SimpleNamespace(version="3.13"))["pip"])')
wheel=$home/wheel/pip-$pip_version-py3-none-any.whl
[ -e "$wheel" ] || "$venv/pip" download -q --no-deps -d "$home/wheel" "pip==$pip_version"
cat >"$home/.ansible/test/cache/get_pip_${pip_version//./_}.py" <<PYTHON
import runpy, sys
sys.path.insert(0, "$wheel")
sys.argv = ["pip", "install"] + [a for a in sys.argv[1:] if a not in ("--no-setuptools", "--no-wheel")]
runpy.run_module("pip", run_name="__main__")
PYTHON

# It strips the variable that tells pyenv's shims which version to run, so the versions themselves go first.
PATH=$venv:$(printf '%s:' "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin)$PATH
if [ "${CI:-}" = true ] && ! python3.8 -c pass; then
    echo 'Nodes are promised to work with Python 3.8, and CI has to prove it: install one, for instance with pyenv.' >&2
    exit 1
fi
cd "$tree"
HOME=$home exec ansible-test "$@"
