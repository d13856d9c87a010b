# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Playbooks plan with facts of the same run, also where a fact cache has those of an earlier one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

HOST, OTHER = "lab-01", "lab-02"
# What a play shows: the size of all that the role has left.
SIZES = """
{% set names = query('ansible.builtin.varnames', '^_*rdma_discover_') %}
{{ dict(names | zip(names | map('extract', hostvars[inventory_hostname]) | map('string') | map('length'))) }}
"""
SHOWS = {"hosts": HOST, "gather_facts": False, "tasks": [{"ansible.builtin.debug": {"msg": SIZES.strip()}}]}
# Two plays that take a fraction of the time of a playbook of ours.
ROLE = {"name": "zerocopy.rdma.rdma_discover", "tasks_from": "gather"}
GATHERS = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": ROLE}]}
FLEET = "{{ (ansible_play_hosts_all | zerocopy.rdma.fleet(hostvars)).rows }}"
KNOWN = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.debug": {"msg": FLEET}, "run_once": True}]}
NOWHERE = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}


def loses(module: str) -> dict[str, Any]:
    """A play of the site's own, in which this module fails on one host."""
    task = {f"ansible.builtin.{module}": {}, "when": f"inventory_hostname == '{OTHER}'"}
    return {"hosts": "all", "gather_facts": False, "tasks": [task]}


def run(
    plays: Sequence[str | dict[str, Any]], tmp_path: Path, hosts: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """The tasks of these playbooks and plays, as one run. A cache keeps the facts of the hosts for the next run."""
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
    every = [
        {"ansible.builtin.import_playbook": str(PLAYBOOKS / one)} if isinstance(one, str) else one for one in plays
    ]
    (tmp_path / "run.yml").write_text(json.dumps(every))
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


@pytest.fixture(name="fleet")
def make_fleet(root_of: Callable[[str], Path]) -> dict[str, dict[str, Any]]:
    return {name: {"rdma_discover_root": str(root_of(name))} for name in (HOST, OTHER)}


def labelled(tmp_path: Path) -> list[str]:
    """The hosts of whose facts provision knew in the last run."""
    labels = tmp_path / "manifests" / "node-labels.yml"
    found = [item["metadata"]["name"] for item in yaml.safe_load_all(labels.read_text())]
    labels.unlink()
    return found


def cached(tmp_path: Path) -> int:
    return sum("hcas" in kept.read_text() for kept in (tmp_path / "cache").iterdir())


def test_a_host_that_does_not_answer_has_no_facts_whatever_a_cache_has(
    fleet: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    run(["facts.yml", "provision_cluster.yml"], tmp_path, fleet)
    assert labelled(tmp_path) == [HOST, OTHER]
    fleet[OTHER].update(NOWHERE)
    tasks = run(["facts.yml", "provision_cluster.yml"], tmp_path, fleet)
    assert [task["task"]["name"] for task in tasks if task["hosts"].get(OTHER, {}).get("unreachable")] == [
        "zerocopy.rdma.rdma_discover : Gather RDMA facts"
    ]
    assert cached(tmp_path) == 2
    assert labelled(tmp_path) == [HOST]


def known(tasks: list[dict[str, Any]]) -> list[str]:
    """The hosts of whose facts the last task knew."""
    (shown,) = tasks[-1]["hosts"].values()
    return sorted({row["host"] for row in shown["msg"] if not row["note"].startswith("no facts")})


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (NOWHERE, r"unreachable: .*[Cc]onnect to host <host> port 1: Connection refused.*"),
        ({"ansible_python_interpreter": "/bin/{{ 'false' }}"}, r"failed: .+"),
        ({"rdma_discover_root": "/{{ '{{' }} 7 * 6 }}"}, r"failed: .*/\{\{ 7 \* 6 \}\}.*"),
    ],
)
def test_why_a_host_has_no_facts_is_in_its_row(
    own: dict[str, Any], said: str, fleet: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    fleet[OTHER].update(own)
    tasks = run([GATHERS, KNOWN], tmp_path, fleet)
    (shown,) = tasks[-1]["hosts"].values()
    (note,) = (row["note"] for row in shown["msg"] if row["host"] == OTHER)
    assert re.fullmatch(f"no facts: {said}", note), note


@pytest.mark.parametrize("lost", ["fail", "ping"])
def test_nor_has_a_host_that_was_lost_before_it_was_asked(
    lost: str, fleet: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    assert known(run([GATHERS, KNOWN], tmp_path, fleet)) == [HOST, OTHER]
    if lost == "ping":
        fleet[OTHER].update(NOWHERE)
    assert known(run([loses(lost), GATHERS, KNOWN], tmp_path, fleet)) == [HOST]
    assert cached(tmp_path) == 2


def test_a_host_that_is_lost_after_it_has_answered_keeps_its_facts(
    fleet: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    tasks = run([GATHERS, loses("fail"), GATHERS, SHOWS, KNOWN], tmp_path, fleet)
    gathers = [set(task["hosts"]) for task in tasks if task["task"]["name"].endswith(": Gather RDMA facts")]
    assert gathers == [{HOST, OTHER}, {HOST}]
    assert known(tasks) == [HOST, OTHER]
    # The facts themselves are nowhere else.
    names = tasks[-2]["hosts"][HOST]["msg"]
    assert "rdma_discover_asked" in names
    assert [name for name, size in names.items() if size > 1000] == []
