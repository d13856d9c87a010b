# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Actions that run on the controller alone: their options are checked, and what is wrong becomes their message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible import constants
from ansible.errors import AnsibleActionFail

from ansible_collections.zerocopy.rdma.plugins.action import plan, verify
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _plan_files
from ansible_collections.zerocopy.rdma.tests.unit.action_options import acted, play

Answers = dict[str, dict[str, Any]]
HOSTS: dict[str, dict[str, Any]] = {"n1": {"inventory_hostname": "n1", "group_names": ["h100"]}}
NODE = {"name": "n1", "labels": {}, "unschedulable": False, "mark": None, "resources": {}, "users": [], "plugins": []}
ANSWERS: Answers = {
    "node_move_info": {"nodes": {"n1": {**NODE, "counters": {}, "broken": []}}, "plugins": []},
    "cluster_info": {"kinds": [], "daemon_sets": [], "objects": []},
    "resource_slice_info": {"slices": [], "kubernetes": "v1.36.3", "device_classes": []},
}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "missing required arguments: part"),
        ({"part": "all"}, "value of part must be one of: begin, plan"),
        ({"part": "begin", "kubeconfig": "x"}, "Unsupported parameters: kubeconfig"),
    ],
)
def test_wrong_options_are_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(AnsibleActionFail, match=said):
        acted(verify, play(HOSTS), **arguments)


def test_what_cannot_be_read_is_the_message() -> None:
    device = {"name": "gpu-0", "attributes": {"type": {}}}
    spec = {"driver": "gpu.nvidia.com", "pool": {"name": "n1"}, "nodeName": "n1", "devices": [device]}
    found = acted(verify, play(HOSTS), part="cluster", published={"slices": [{"kind": "ResourceSlice", "spec": spec}]})
    assert found["failed"] is True
    assert "no known value" in found["msg"]


class Modules:
    def __init__(self, failing: str = "") -> None:
        self.called: dict[str, dict[str, Any]] = {}
        self.failing = failing

    def __call__(self, name: str, module_args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        assert task_vars["inventory_hostname"] == "n1"
        module = name.removeprefix("zerocopy.rdma.")
        self.called[module] = module_args
        return {"failed": True, "msg": "no"} if module == self.failing else ANSWERS[module]


def test_a_move_looks_at_the_cluster_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    modules, variables = Modules(), play(HOSTS, ansible_play_batch=["n1"], rdma_audit_resources=["rdma/x"])
    found = acted(plan, variables, modules, parts=["move"], hosts=["n1"], context="lab")
    assert list(modules.called) == ["node_move_info", "cluster_info", "resource_slice_info"]
    assert {asked["context"] for asked in modules.called.values()} == {"lab"}
    assert "rdma/x" in modules.called["node_move_info"]["resources"]
    assert (found["waves"], found["finish"], found["nodes"]["n1"]["mark"]) == ([["n1"]], True, None)
    # A wave takes what the cluster has answered before.
    again = acted(plan, variables, parts=["moved"], plan=found["directory"])
    assert (list(again["labels"]), list(again["counters"]), again["status"]) == (["n1"], ["n1"], {})
    assert set(_plan_files.cluster_plan(again["directory"])) == {"sets", "requests"}


def test_a_cluster_that_does_not_answer_ends_the_plan() -> None:
    modules = Modules("cluster_info")
    found = acted(plan, play(HOSTS), modules, parts=["move"], hosts=["n1"])
    assert found == {"failed": True, "msg": "no"}
    assert "resource_slice_info" not in modules.called
