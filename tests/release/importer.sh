#!/usr/bin/env bash
# importer.sh TARBALL: what Galaxy's importer says of it; an error or a warning fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
tarball=$(realpath "$1")
python=$PWD/build/venv-release/bin/python
work=build/importer

rm -rf $work
mkdir -p $work
cp "$tarball" $work
# It looks for kubernetes.core beside its copy of the collection, and in Python's path.
# shellcheck disable=SC2031
PYTHONPATH=$(python -c '
import pathlib, ansible_collections.kubernetes.core as core
print(pathlib.Path(list(core.__path__)[0]).parents[2])')
export PYTHONPATH
# ansible-lint runs with stricter settings in `make test`; the importer gives up on it after three minutes. ansible-test
# would run in a container, and runs in `make compatibility`.
export GALAXY_IMPORTER_RUN_ANSIBLE_LINT=false GALAXY_IMPORTER_RUN_ANSIBLE_TEST=false
export GALAXY_IMPORTER_CHECK_REQUIRED_TAGS=true
case $tarball in
*-rdma-0.*) ;;
*) export GALAXY_IMPORTER_REQUIRE_V1_OR_GREATER=true ;;
esac
cd $work
env -u ANSIBLE_CONFIG "$python" -m galaxy_importer.main "$(basename "$tarball")" | tee log
if grep -E '^(WARNING|ERROR)' log || ! grep -q '^Importer processing completed successfully' log; then
    exit 1
fi
