# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a user's ansible.cfg may say: the playbooks work, and what a person has to see is shown."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played


def plays() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(PLAYBOOKS.glob("*.yml")):
        for play in yaml.safe_load(path.read_text("utf-8")):
            if "hosts" in play:
                yield f"{path.name}: {play['name']}", play


@pytest.mark.parametrize("play", [pytest.param(play, id=name) for name, play in plays()])
def test_a_play_says_in_which_order_its_tasks_run(play: dict[str, Any]) -> None:
    # With `free`, a host would not wait for what others do first, and tasks with run_once would run for each host.
    assert play["strategy"] == "ansible.builtin.linear"


def test_texts_are_shown_by_an_action_that_is_always_heard() -> None:
    files = [*variables.ROLES.glob("*/tasks/*.yml"), *PLAYBOOKS.rglob("*.yml")]
    assert [path.name for path in files if "ansible.builtin.debug" in path.read_text("utf-8")] == []


@pytest.mark.parametrize("more", [{}, {"ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}])
def test_nothing_is_lost(more: dict[str, str], root_of: Callable[[str], Path], tmp_path: Path) -> None:
    hosts: dict[str, dict[str, Any]] = {}
    for number in (1, 2):
        shutil.copytree(root_of("v100-02"), tmp_path / f"n{number}", symlinks=True)
        hosts[f"n{number}"] = {"rdma_discover_root": str(tmp_path / f"n{number}")}
    fleet = {"rdma_cluster": "none", "rdma_strategy": "none", "rdma_links_subnet": "10.9.0.0/24"}
    reach = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(
        json.dumps({"all": {"children": {"f": {"hosts": hosts, "vars": {**fleet, **reach}}}}})
    )
    own = {"ANSIBLE_STRATEGY": "free", "ANSIBLE_DISPLAY_OK_HOSTS": "false", **more}
    run = played(tmp_path, "-i", "hosts.yml", str(PLAYBOOKS / "site.yml"), **own)
    assert run.returncode == 0, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    for text in ("2 of 2 nodes differ from the plan.", "f: 2 changed (n[1-2])"):
        assert lines.count(text) == 1, run.stdout
    assert any(line.split()[:2] == ["HOST", "GROUP"] for line in lines)
    assert "ok: [" not in run.stdout


def test_artifacts_go_where_the_user_says(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    """As for ansible-runner and AWX, which delete the working directory and keep custom statistics."""
    (tmp_path / "work").mkdir()
    hosts = {"v100-02": {"rdma_discover_root": str(root_of("v100-02"))}}
    fleet = {"rdma_cluster": "none", "rdma_strategy": "shared_device", "rdma_artifacts": str(tmp_path / "kept")}
    reach = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory = {"all": {"children": {"f": {"hosts": hosts, "vars": {**fleet, **reach}}}}}
    (tmp_path / "hosts.yml").write_text(json.dumps(inventory))
    limits = {"resources": {"limits": {"rdma/hca_shared_devices_a": 1}}}
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    pod["spec"] = {"containers": [{"name": "c", "image": "i", **limits}]}
    (tmp_path / "pod.yml").write_text(yaml.safe_dump(pod))
    files: dict[str, Any] = {"rdma_discover_json": "fleet.json", "rdma_discover_facts_dir": "facts"}
    files |= {"rdma_drift_json": "drift.json"}
    files |= {"rdma_migrate_manifests": [str(tmp_path / "pod.yml")], "rdma_migrate_directory": "rewritten"}
    # The last one fails, because the node differs.
    playbooks = [str(PLAYBOOKS / f"{name}.yml") for name in ("facts", "provision", "workloads", "migrate", "drift")]
    given = ["-i", "../hosts.yml", "-e", json.dumps(files), *playbooks]
    run = played(tmp_path / "work", *given, ANSIBLE_SHOW_CUSTOM_STATS="true")
    assert list((tmp_path / "work").iterdir()) == [], run.stdout
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert kept == {"facts", "fleet.json", "drift.json", "manifests", "rewritten", "workloads"}, run.stdout + run.stderr
    statistics = run.stdout.partition("CUSTOM STATS")[2]
    assert "zerocopy_rdma" in statistics
    # Of the form, for programs.
    assert re.search(r"\bversion: 1\b", statistics)
    for name in ("fleet.json", "drift.json"):
        assert json.loads((tmp_path / "kept" / name).read_text())["version"] == 1
    # Not shown as results.
    assert "ansible_stats" not in run.stdout
    assert run.stdout.count("1 of 1 node differs from the plan.") == 1
    for file in ("fleet.json", "facts", "drift.json", "workloads/"):
        assert str(tmp_path / "kept" / file) in statistics


def test_whatever_writes_reports_has_statistics() -> None:
    """ansible-runner and AWX keep nothing else; all roles and playbooks that write files which people read."""
    writing = ("zerocopy.rdma.report", "zerocopy.rdma.workloads", "zerocopy.rdma.workload_manifests")
    lists = [yaml.safe_load(path.read_text("utf-8")) for path in variables.ROLES.glob("*/tasks/*.yml")]
    lists = [[*tasks, *(inner for task in tasks for inner in task.get("block", []))] for tasks in lists if tasks]
    with_reports = [tasks for tasks in lists if any(name in task for task in tasks for name in writing)]
    assert len(with_reports) >= 7
    for tasks in with_reports:
        shown = [task["zerocopy.rdma.show"] for task in tasks if "zerocopy.rdma.show" in task]
        assert any(each.get("stats") for each in shown), tasks[0]["name"]


def test_no_name_in_the_inventory_leads_out_of_a_directory(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    work, names = tmp_path / "work", ["../../out", "a/b", "a_b"]
    work.mkdir()
    fleet = {"rdma_discover_root": str(root_of("v100-02")), "ansible_python_interpreter": sys.executable}
    hosts: dict[str, dict[str, Any]] = {name: {} for name in names}
    inventory = {"all": {"hosts": hosts, "vars": {**fleet, "ansible_connection": "local"}}}
    (work / "hosts.yml").write_text(json.dumps(inventory))
    files = {"rdma_artifacts": "kept", "rdma_discover_facts_dir": "facts"}
    run = played(work, "-i", "hosts.yml", "-e", json.dumps(files), str(PLAYBOOKS / "facts.yml"))
    assert run.returncode == 0, run.stdout + run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
    assert {path.name for path in work.iterdir()} == {"hosts.yml", "kept"}
    written = [path.name for path in (work / "kept" / "facts").iterdir()]
    assert len(written) == len(names)
    assert {name.partition("@")[0] for name in written} == {"a_b.json", "host"}
