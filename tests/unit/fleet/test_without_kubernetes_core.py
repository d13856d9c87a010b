# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Without a cluster, nothing needs kubernetes.core: Ansible resolves a static task's action whatever its ``when``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

VARIABLES = {
    "rdma_cluster": "none",
    "rdma_strategy": "none",
    "rdma_operator_network": True,
    "rdma_operator_network_version": "26.4.0",
    "ansible_connection": "local",
    "ansible_python_interpreter": sys.executable,
}


@pytest.mark.parametrize(
    ("playbook", "tags", "done"),
    [("teardown", "driver", "Operators"), ("operators", "operators", "The cluster needs these Helm releases")],
)
def test_a_playbook_ends_without_it(playbook: str, tags: str, done: str, tmp_path: Path) -> None:
    known = {**VARIABLES, "rdma_discover_root": str(tmp_path)}
    arguments = ["-i", "n1,", "--tags", tags, "-e", json.dumps(known), str(PLAYBOOKS / f"{playbook}.yml")]
    # That of the wheel `ansible` is in site-packages.
    empty = {"ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "False", "HOME": str(tmp_path)}
    run = played(tmp_path, *arguments, **empty)
    assert run.returncode == 0, run.stdout + run.stderr
    assert done in " ".join(run.stdout.split())
    assert "kubernetes.core" not in run.stdout + run.stderr
