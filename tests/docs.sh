#!/usr/bin/env bash
# docs.sh: lints the documentation of all plugins, roles and modules.
set -euo pipefail
cd "$(dirname "$0")/.."
# Of a dependency inside a git checkout only its tracked files would be seen, and there are none.
dependencies=$(mktemp -d)
trap 'rm -rf "$dependencies"' EXIT
mkdir -p "$dependencies/ansible_collections/kubernetes"
cp -r build/venv/lib/python3*/site-packages/ansible_collections/kubernetes/core \
    "$dependencies/ansible_collections/kubernetes/"
ANSIBLE_COLLECTIONS_PATH=$dependencies antsibull-docs lint-collection-docs \
    --plugin-docs --skip-rstcheck --validate-collection-refs=self .
