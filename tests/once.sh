#!/usr/bin/env bash
# once.sh [VARIABLE=VALUE...] COMMAND...: runs it so that what Ansible sends to recorded nodes, and what it loads of a
# collection, is built and compiled once, and not in each run and process.
tests=$(cd "$(dirname "$0")" && pwd)
exec env "PYTHONPATH=$tests/compiled" "ANSIBLE_CALLBACK_PLUGINS=$tests/callbacks" ANSIBLE_CALLBACKS_ENABLED=built "$@"
