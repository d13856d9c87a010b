# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What filters take from the variables of a play, and what from the inventory."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVarsVars
from jinja2 import StrictUndefined

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory

MTU, DRIVERS = "rdma_links_mtu", "rdma_discover_drivers"
DEFAULT = variables.options_of()[DRIVERS]["default"]


def of_play(play: dict[str, Any], inventory: dict[str, Any]) -> dict[str, Any]:
    return _inventory.of_play({"inventory_hostname": "one", **play}, {"one": inventory, "two": {DRIVERS: ["ionic"]}})


@pytest.mark.parametrize(
    ("play", "inventory", "expected"),
    [
        ({MTU: 9000}, {}, {MTU: 9000}),
        ({MTU: 9000}, {MTU: 4092}, {MTU: 9000}),
        ({MTU: 9000}, {MTU: 9000}, {}),
        # A role's default is in the play's variables too, where it stands for nothing that anybody said.
        ({DRIVERS: DEFAULT}, {}, {}),
        ({DRIVERS: ["mlx5_core"]}, {}, {DRIVERS: ["mlx5_core"]}),
        # Said for this play alone.
        ({DRIVERS: DEFAULT}, {DRIVERS: ["mlx5_core"]}, {DRIVERS: DEFAULT}),
        ({"rdma_links_addresses": {0: "10.0.0.7/16"}, "rdma_hosts": "v100"}, {}, {}),
        # Of a playbook's variables, those that roles read.
        ({"rdma_strategy": "none", "rdma_wait": False}, {}, {"rdma_wait": False}),
        ({"ansible_user": "root"}, {}, {}),
        ({MTU: StrictUndefined(name="mtu")}, {}, {}),
    ],
)
def test_what_a_play_says(play: dict[str, Any], inventory: dict[str, Any], expected: dict[str, Any]) -> None:
    assert of_play(play, inventory) == expected


def test_a_host_that_the_inventory_does_not_have_says_nothing() -> None:
    assert _inventory.of_play({"inventory_hostname": "three", MTU: 9000, DRIVERS: DEFAULT}, {"one": {}}) == {MTU: 9000}


def test_a_host_has_its_own_values_and_those_of_the_play() -> None:
    host = {MTU: StrictUndefined(name="mtu"), DRIVERS: ("ionic",), "rdma_links_rails": "{{ rails }}", "other": 1}
    own, broken = _inventory.of_host(host, {"rdma_links_subnet": "10.0.0.0/16", "more": 2}, variables.ours)
    assert own == {DRIVERS: ["ionic"], "rdma_links_subnet": "10.0.0.0/16"}
    assert [f"{problem.variable} {problem.text}" for problem in broken] == [
        f"{MTU} cannot be worked out: 'mtu' is undefined",
        "rdma_links_rails cannot be worked out: something in '{{ rails }}' is undefined",
    ]


def test_results_of_earlier_tasks_are_no_variables_of_a_host() -> None:
    host = {"rdma_provision_plan": {"path": ""}, "rdma_provision_result": "{{ gone }}", "rdma_driver_enabled": False}
    assert _inventory.of_host(host, {}, variables.ours) == ({"rdma_driver_enabled": False}, [])


def test_one_host_has_the_variables_of_its_task() -> None:
    inventory = {
        "inventory_hostname": "one",
        MTU: 4092,
        "rdma_links_rails": 2,
        "rdma_provision_plan": {},
        "rdma_typo": 1,
    }
    context = {"inventory_hostname": "one", MTU: 9000, DRIVERS: ["ionic"], "rdma_links_rails": 2}

    def found(host: str, variables_of: Any) -> Any:
        return _inventory.of_task(dict(context, inventory_hostname=host), variables_of, variables.ours)

    of_play = HostVarsVars(inventory, loader=DataLoader(), host="one")
    assert found("one", of_play) == ("one", {MTU: 9000, DRIVERS: ["ionic"], "rdma_links_rails": 2})
    assert found("two", of_play) == ("one", {MTU: 4092, "rdma_links_rails": 2})
    assert found("one", inventory) == ("one", {MTU: 4092, "rdma_links_rails": 2})


def test_one_host_with_a_variable_that_cannot_be_worked_out_is_refused() -> None:
    host = {"inventory_hostname": "one", MTU: StrictUndefined(name="mtu"), DRIVERS: StrictUndefined(name="other")}
    with pytest.raises(AnsibleFilterError, match=f"one: {MTU} cannot be worked out: 'mtu' is undefined"):
        _inventory.of_task({}, host, lambda name: name == MTU)


def test_options_read_no_large_result() -> None:
    class Context(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            read.append(name)
            return super().__getitem__(name)

    read: list[str] = []
    found = _inventory.options(Context(rdma_set="mine", rdma_drift_result={"concerns": {}}))
    assert found["rdma_set"]["default"] == "mine"
    assert read == ["rdma_set"]


def test_facts_that_cannot_be_used_are_told_with_their_host() -> None:
    with pytest.raises(AnsibleFilterError, match=r"^n1: its RDMA facts cannot be used: hcas is 7, it must be a list"):
        _inventory.read_facts("n1", {"hcas": 7})
