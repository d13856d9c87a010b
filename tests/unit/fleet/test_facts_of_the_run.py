# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Playbooks plan with facts of the same run, also where a fact cache has those of an earlier one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Callable

import pytest
import yaml

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

HOST = "lab-01"


def gathered(playbooks: list[str], root: Path, tmp_path: Path) -> int:
    """How often these playbooks, as one run, gather the facts of a node. A cache keeps them for the next run."""
    own = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "rdma_discover_root": str(root),
        "rdma_links_subnet": "10.9.0.0/24",
        "rdma_cluster": "none",
        "rdma_strategy": "none",
        "rdma_manifests": str(tmp_path / "manifests"),
        "rdma_workloads_directory": str(tmp_path / "workloads"),
    }
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {HOST: own}}}))
    imports = [{"ansible.builtin.import_playbook": str(PLAYBOOKS / name)} for name in playbooks]
    (tmp_path / "run.yml").write_text(json.dumps(imports))
    environment = {
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_CACHE_PLUGIN": "ansible.builtin.jsonfile",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(tmp_path / "cache"),
    }
    done = played(tmp_path, "-i", "hosts.yml", "run.yml", **environment)
    start = done.stdout.find("{\n")
    assert start >= 0, done.stdout + done.stderr
    told = json.loads(done.stdout[start:])
    found = [task["hosts"][HOST] for play in told["plays"] for task in play["tasks"] if HOST in task["hosts"]]
    return sum("rdma" in one.get("ansible_facts", {}) for one in found)


# The last playbook of each run fails: the node differs, no manifest is given, no image is given.
@pytest.mark.parametrize(
    "playbooks", [["drift.yml"], ["migrate.yml"], ["provision.yml", "workloads.yml", "benchmark.yml"]]
)
def test_whatever_a_cache_has(playbooks: list[str], root_of: Callable[[str], Path], tmp_path: Path) -> None:
    assert gathered(["facts.yml", *playbooks], root_of(HOST), tmp_path) == 1
    (kept,) = (tmp_path / "cache").iterdir()
    assert "hcas" in kept.read_text()
    assert gathered(playbooks, root_of(HOST), tmp_path) == len(playbooks)


def test_every_playbook_asks_alike() -> None:
    """Also those that cannot be played without a cluster."""
    gathers = {
        path.name: task["when"]
        for path in PLAYBOOKS.glob("*.yml")
        for play in yaml.safe_load(path.read_text("utf-8"))
        for task in play.get("tasks", [])
        if task.get("ansible.builtin.import_role", {}).get("tasks_from") == "gather"
    }
    assert {"migrate_nodes.yml", "ofed.yml"} < set(gathers)
    for name, condition in gathers.items():
        first = condition[0] if isinstance(condition, list) else condition
        assert first.partition(" or ")[0] == "not __fresh", name
