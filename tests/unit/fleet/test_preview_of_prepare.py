# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``prepare --check --diff`` of nodes whose differences look alike."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Callable

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played


def test_what_is_written_to_one_node_only_is_shown(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    hosts: dict[str, dict[str, Any]] = {
        "f-01": {"rdma_links_mtu": 2044, "rdma_links_subnet": "10.9.0.0/24", "rdma_runtime_memlock": "unlimited"},
        "f-02": {"rdma_links_mtu": 4092, "rdma_links_subnet": "10.8.0.0/24", "rdma_runtime_memlock": "68719476736"},
    }
    hosts["f-01"]["rdma_kernel_modules"] = ["ib_uverbs", "rdma_ucm"]
    hosts["f-02"]["rdma_kernel_modules"] = ["ib_uverbs", "ib_umad"]
    for name, variables in hosts.items():
        shutil.copytree(root_of("v100-02"), tmp_path / name, symlinks=True)
        variables.update(rdma_discover_root=str(tmp_path / name), ansible_connection="local")
    fleet = {"rdma_cluster": "none", "rdma_strategy": "none", "ansible_python_interpreter": sys.executable}
    inventory = {"all": {"children": {"f": {"hosts": hosts, "vars": fleet}}}}
    (tmp_path / "hosts.yml").write_text(json.dumps(inventory))
    run = played(tmp_path, "-i", "hosts.yml", "--check", "--diff", str(PLAYBOOKS / "prepare.yml"))
    assert run.returncode == 0, run.stdout + run.stderr
    for value in ("+mtu=2044", "+mtu=4092", "+rdma_ucm", "+ib_umad", "10.9.0.1/24", "10.8.0.2/24", "68719476736"):
        assert value in run.stdout, f"{value}\n{run.stdout}"
    rows = [line.strip(' ",').split() for line in run.stdout.splitlines()]
    assert ["HOST", "GROUP", "NETDEV", "RAIL", "ADDRESS", "MTU"] in rows
    assert next(row[3:] for row in rows if row[:2] == ["f-02", "f"]) == ["0", "10.8.0.2/24", "4092"]
