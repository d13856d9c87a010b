# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Playbooks plan with facts of the same run, also where a fact cache has those of an earlier one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

HOST, OTHER = "lab-01", "lab-02"
NOWHERE = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}


def run(playbooks: list[str], tmp_path: Path, hosts: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks of these playbooks, as one run. A cache keeps the facts of the hosts for the next run."""
    own = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "rdma_links_subnet": "10.9.0.0/24",
        "rdma_cluster": "none",
        "rdma_manifests": str(tmp_path / "manifests"),
        "rdma_migrate_manifests": ["missing"],
        "rdma_workloads_directory": str(tmp_path / "workloads"),
    }
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"children": {"lab": {"hosts": hosts, "vars": own}}}}))
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
    return [task for play in json.loads(done.stdout[start:])["plays"] for task in play["tasks"]]


def gathered(playbooks: list[str], root: Path, tmp_path: Path) -> int:
    """How often these playbooks, as one run, gather the facts of a node."""
    tasks = run(playbooks, tmp_path, {HOST: {"rdma_discover_root": str(root), "rdma_strategy": "shared_device"}})
    found = [task["hosts"][HOST] for task in tasks if HOST in task["hosts"]]
    return sum("rdma" in one.get("ansible_facts", {}) for one in found)


# The last playbook of each run fails: the node differs, the manifest is missing, no image is given.
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


def test_a_host_that_does_not_answer_has_no_facts_whatever_a_cache_has(
    root_of: Callable[[str], Path], tmp_path: Path
) -> None:
    hosts: dict[str, dict[str, Any]] = {name: {"rdma_discover_root": str(root_of(name))} for name in (HOST, OTHER)}
    labels = tmp_path / "manifests" / "node-labels.yml"

    def labelled() -> list[str]:
        return [item["metadata"]["name"] for item in yaml.safe_load_all(labels.read_text())]

    run(["facts.yml", "provision_cluster.yml"], tmp_path, hosts)
    assert labelled() == [HOST, OTHER]
    labels.unlink()
    hosts[OTHER].update(NOWHERE)
    tasks = run(["facts.yml", "provision_cluster.yml"], tmp_path, hosts)
    assert [task["task"]["name"] for task in tasks if task["hosts"].get(OTHER, {}).get("unreachable")] == [
        "zerocopy.rdma.rdma_discover : Gather RDMA facts"
    ]
    assert sum("hcas" in kept.read_text() for kept in (tmp_path / "cache").iterdir()) == 2
    assert labelled() == [HOST]


@pytest.mark.parametrize(
    ("answer", "silent", "known"),
    [
        # Nobody has asked: a role that is used on its own, maybe with facts of a cache.
        (None, None, True),
        ({"ansible_facts": {}}, None, True),
        ({"skipped": True}, [], True),
        ({"unreachable": True}, None, False),
        ({"failed": True}, None, False),
        # All hosts but unreachable ones get what discover registers.
        ({"failed": True}, [HOST], False),
        # It answered first, and not any more after its change.
        ({"unreachable": True}, [OTHER], True),
    ],
)
def test_whose_facts_are_of_the_run(
    answer: dict[str, Any] | None, silent: list[str] | None, known: bool, facts_of: Callable[[str], dict[str, Any]]
) -> None:
    host: dict[str, Any] = {"inventory_hostname": HOST, "ansible_facts": {"rdma": facts_of(HOST)}}
    if answer:
        host["rdma_discover_answer"] = answer
    if silent is not None:
        groups = [{"name": "a100", "silent": []}, {"name": "lab", "silent": silent}]
        host["rdma_discover_fleet"] = {"results": [{"item": {"groups": groups}}]}
    facts, malformed = _inventory.facts_of(host)
    assert (facts is not None, malformed) == (known, "")
