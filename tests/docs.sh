#!/usr/bin/env bash
# docs.sh: lints the documentation of all plugins, roles and modules.
set -euo pipefail
cd "$(dirname "$0")/.."
# The linter copies what git tracks. Of kubernetes.core, installed below this checkout, that would be nothing:
# git must not look above build/ for a repository.
GIT_CEILING_DIRECTORIES=$(pwd -P) antsibull-docs lint-collection-docs \
    --plugin-docs --skip-rstcheck --validate-collection-refs=self .
