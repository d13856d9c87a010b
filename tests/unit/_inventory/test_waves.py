# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""In which waves nodes that differ are changed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import waves as plan_waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.waves import WaveMember
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._waves import of_hosts as waves


def members(count: int, group: str = "h100", at_most: int = 0) -> list[WaveMember]:
    return [WaveMember(f"{group}-{number:03}", group, at_most) for number in range(1, count + 1)]


def test_one_first_then_a_tenth_then_a_quarter() -> None:
    found = plan_waves.waves(members(400))
    assert list(map(len, found)) == [1, 40, 100, 100, 100, 59]
    assert [host for wave in found for host in wave] == [member.host for member in members(400)]
    assert list(map(len, plan_waves.waves(members(3)))) == [1, 1, 1]
    assert plan_waves.waves([]) == []
    assert list(map(len, plan_waves.waves(members(5), ["100%"]))) == [5]
    assert list(map(len, plan_waves.waves(members(5), [2]))) == [2, 2, 1]


def test_a_group_limits_its_share_of_a_wave() -> None:
    mixed = [*members(6, "h100", 2), *members(4, "v100")]
    found = plan_waves.waves(mixed, ["100%"])
    assert [Counter(host[:4] for host in wave) for wave in found] == [
        {"h100": 2, "v100": 4},
        {"h100": 2},
        {"h100": 2},
    ]
    assert sorted(host for wave in found for host in wave) == sorted(member.host for member in mixed)


def result(**changed: bool) -> dict[str, Any]:
    return {"concerns": {name: {"changed": value, "error": None} for name, value in changed.items()}}


def test_only_nodes_that_differ() -> None:
    hostvars: dict[str, dict[str, Any]] = {
        f"h100-{number}": {"group_names": ["h100"], "rdma_serial_max": "50%"} for number in range(1, 5)
    }
    hostvars["h100-1"]["rdma_drift_result"] = result(kernel=False, links=False, runtime=False)
    hostvars["h100-2"]["rdma_drift_result"] = result(kernel=False, links=True)
    hostvars["h100-3"]["rdma_drift_result"] = result(images=True)
    hostvars["h100-4"]["rdma_drift_result"] = result(packages=True)
    assert waves(list(hostvars), hostvars, ["100%"]) == [["h100-2", "h100-4"]]
    hostvars["h100-4"]["rdma_serial_max"] = 1
    assert waves(list(hostvars), hostvars, "100%") == [["h100-2"], ["h100-4"]]
    hostvars["h100-1"]["rdma_drift_result"]["concerns"]["links"]["error"] = "no port"
    assert waves(list(hostvars), hostvars, 5) == [["h100-1"], ["h100-2"], ["h100-4"]]
    assert waves([], hostvars) == []


def test_a_run_plans_its_waves_once() -> None:
    # Ansible works out hosts, serial and variables of a play again for every wave.
    playbook = Path(__file__).resolve().parents[3] / "playbooks" / "prepare_nodes.yml"
    tasks = []
    for play in yaml.safe_load(playbook.read_text("utf-8")):
        tasks += [task for task in play.get("tasks", []) if "zerocopy.rdma.plan" in task]
    assert [(task["run_once"], task["zerocopy.rdma.plan"]["parts"]) for task in tasks] == [(True, ["waves"])]
