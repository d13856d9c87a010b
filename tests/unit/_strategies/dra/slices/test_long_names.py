# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""NICs whose PCI name is longer than an attribute may be: known before the driver is deployed, and left out."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import long_names, predict, versions
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan


def hosts(facts_of: Facts, version: str, *places: int, ids: str = "15b3:a2df") -> dict[str, Any]:
    """A node some of whose HCAs are of another model."""
    facts = copy.deepcopy(facts_of("v100-01"))
    for place in places:
        facts["hcas"][place]["pci"]["vendor_id"], facts["hcas"][place]["pci"]["device_id"] = ids.split(":")
    own = {"rdma_driver_dranet_version": version, "inventory_hostname": "n1", "group_names": ["bf4"]}
    return {"n1": {**own, "ansible_facts": {"rdma": facts}}}


def planned(hostvars: dict[str, Any]) -> dict[str, Any]:
    return strategy_plan({}, list(hostvars), hostvars, "dra")


def filters(found: dict[str, Any]) -> list[str]:
    every = [item for one in found["sets"] for item in one["objects"] if item["kind"] == "DaemonSet"]
    arguments = [text for item in every for text in item["spec"]["template"]["spec"]["containers"][0]["args"]]
    return [text for text in arguments if text.startswith("--filter=")]


@pytest.mark.parametrize("ids", ["15b3:a2df", "14e4:16df", "15b3:1004", "8086:0d58"])
def test_it_is_left_out_so_that_others_are_published(facts_of: Facts, ids: str) -> None:
    hostvars = hosts(facts_of, "1.4.0", 1, ids=ids)
    address = hostvars["n1"]["ansible_facts"]["rdma"]["hcas"][1]["pci"]["address"]
    found = planned(hostvars)
    assert found["problems"] == []
    (text,) = filters(found)
    assert address in text
    (warning,) = [text for text in found["warnings"] if "64 bytes" in text]
    assert "publish no device of the node. It is left out: pods get it with a DRANET newer than 1.4.0" in warning
    facts = read.facts(hostvars["n1"]["ansible_facts"]["rdma"])
    assert "64 bytes" in predict.left_out(facts, [address])[address]


def test_a_later_version_cuts_it(facts_of: Facts) -> None:
    hostvars = hosts(facts_of, "1.5.0", 1)
    facts = read.facts(hostvars["n1"]["ansible_facts"]["rdma"])
    address = facts.placed[1][1].address
    assert long_names.of_group([facts], versions.dranet("1.4.0")) == [address]
    assert long_names.of_group([facts], versions.dranet("1.5.0")) == []
    assert not [text for text in planned(hostvars)["warnings"] if "64 bytes" in text]


def test_a_node_that_has_no_other_nic(facts_of: Facts) -> None:
    hostvars = hosts(facts_of, "1.4.0", 0, 1)
    (warning,) = [text for text in planned(hostvars)["warnings"] if "64 bytes" in text]
    assert "It is left out, and the node has no other" in warning
    hostvars["n1"]["rdma_claims_templates"] = [{"name": "one", "nics": 1}]
    assert "one" in planned(hostvars)["problems"][0]
