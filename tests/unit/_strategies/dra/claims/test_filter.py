# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The filters of claims: hostvars in, a plan or what is expected of the drivers out."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.filter.claims import claims as claims_filter
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cluster_look, _fleet
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import VERSIONS, Facts, template
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import expected_devices


def test_the_filter(facts_of: Facts) -> None:
    hostvars = {
        name: {
            **VERSIONS,
            "group_names": ["v100"],
            "ansible_facts": {"rdma": facts_of(name)},
            "rdma_claims_templates": [template("v100", gpus=1, nics=1)],
        }
        for name in ("v100-01", "v100-02")
    }
    found = claims_filter({}, list(hostvars), hostvars, kubernetes="v1.36.3")
    parts = ["claims", "names", "objects", "problems", "resources", "text", "unknown", "unmet", "warnings"]
    assert sorted(found) == parts
    assert (found["problems"], found["unmet"], found["unknown"]) == ([], {}, [])
    assert found["text"].splitlines()[0] == "v100 (v100), align=pcie_root: 1 GPU and 1 NIC on one PCIe root complex"
    # What the cluster really publishes counts more than what is expected of it.
    nothing = resource_slices(SliceDevice("dra.net", name, "eth9", name) for name in hostvars)
    unmet = claims_filter({}, list(hostvars), hostvars, slices=nothing)["unmet"]
    said = "rdma_claims_templates[0] (v100) cannot be satisfied on any node."
    said += " v100-[01-02]: 0 matching NICs, 1 requested"
    assert unmet == {name: [f"{name}: {said}"] for name in hostvars}


@pytest.mark.parametrize(
    ("mapped", "entries"),
    [
        (None, ""),
        ("", ""),
        (["gpu.nvidia.com", "zerocopy-rdma-nic"], ""),
        (["gpu.nvidia.com"], "[{name: zerocopy-rdma-nic, deviceClassNames: [zerocopy-rdma-nic]}]"),
        (
            [],
            "[{name: gpu-nvidia-com, deviceClassNames: [gpu.nvidia.com]}, "
            "{name: zerocopy-rdma-nic, deviceClassNames: [zerocopy-rdma-nic]}]",
        ),
    ],
)
def test_classes_that_kueue_has_no_quota_for(facts_of: Facts, mapped: Any, entries: str) -> None:
    own = {
        **VERSIONS,
        "ansible_facts": {"rdma": facts_of("v100-01")},
        "rdma_claims_templates": [template("one", gpus=1, nics=1), template("two", nics=1)],
        # Their class needs no mapping.
        "rdma_claims_extended_resources": [{"name": "rdma/hca", "nic": {}}],
    }
    hostvars = {"v100-01": own}
    found = claims_filter({}, list(hostvars), hostvars, kubernetes="v1.36.3", kueue_classes=mapped)
    assert (found["problems"], bool(found["resources"])) == ([], True)
    told = [line for line in found["warnings"] if "Kueue" in line]
    assert [entries in line for line in told] == ([True] if entries else [])


GPUS, NICS = [template("one", gpus=1, nics=1)], [template("one", nics=1)]


@pytest.mark.parametrize(
    ("templates", "there", "refused"),
    [
        (GPUS, None, False),
        (GPUS, ["gpu.nvidia.com"], False),
        (GPUS, ["zerocopy-rdma-nic"], True),
        # What nobody asks for need not be there.
        (NICS, [], False),
    ],
)
def test_a_gpu_class_that_the_cluster_does_not_have(
    facts_of: Facts, templates: list[Any], there: list[str] | None, refused: bool
) -> None:
    own = {**VERSIONS, "ansible_facts": {"rdma": facts_of("v100-01")}, "rdma_claims_templates": templates}
    hostvars = {"v100-01": own, "v100-02": own}
    found = claims_filter({}, list(hostvars), hostvars, device_classes=there)
    assert bool(found["objects"]) == (not refused)
    said = "v100-[01-02]: rdma_claims_gpu_class is 'gpu.nvidia.com', which is not a DeviceClass of the cluster: "
    assert [problem[: len(said)] for problem in found["problems"]] == [said] * refused


def test_a_key_that_yaml_reads_as_a_date_is_a_problem() -> None:
    wanted = [{"name": "one", "nics": 1, "parameters": {datetime.date(2026, 1, 1): {}}}]
    (problem,) = claims_filter({}, ["a"], {"a": {"rdma_claims_templates": wanted}})["problems"]
    assert "a: rdma_claims_templates[0].parameters has the key datetime.date(2026, 1, 1)" in problem


def test_what_is_expected_of_the_drivers(facts_of: Facts) -> None:
    hostvars: dict[str, dict[str, Any]] = {
        "v100-01": {"rdma_claims_templates": GPUS, "rdma_wait": False},
        "a100-01": {"rdma_driver_exclude": ["0000:85:00.0"]},
        "h100-01": {"rdma_driver_enabled": False},
        "h100-02": {"rdma_claims_templates": "none"},
        "lab-01": {},
    }
    for name, own in hostvars.items():
        own.update({**VERSIONS, "ansible_facts": {"rdma": facts_of(name)}})
    hostvars["login"] = VERSIONS
    found = expected_devices({}, list(hostvars), hostvars)
    assert {name: (one["drivers"], one["wait"], len(one["devices"])) for name, one in found.items()} == {
        "v100-01": (["dra.net", "gpu.nvidia.com"], [], 2 + 4),
        # Its GPUs are asked for by nobody.
        "a100-01": (["dra.net"], ["dra.net"], 1),
        "lab-01": (["dra.net"], ["dra.net"], 1),
    }
    assert found["lab-01"]["left_out"] == {}
    assert found["a100-01"]["left_out"] == {
        "0000:62:00.0": "it carries the default route",
        "0000:85:00.0": "it is in rdma_driver_exclude",
    }


@pytest.mark.parametrize(
    ("own", "unready", "wait"),
    [
        ({"rdma_claims_templates": GPUS}, [], ["dra.net"]),
        ({"rdma_claims_templates": GPUS, "rdma_driver_gpu_deploy": True}, [], ["dra.net", "gpu.nvidia.com"]),
        ({"rdma_claims_templates": NICS, "rdma_driver_gpu_deploy": True}, [], ["dra.net"]),
        ({"rdma_claims_templates": GPUS, "rdma_driver_gpu_deploy": True, "rdma_wait": False}, [], []),
        # It has been waited for once.
        ({"rdma_claims_templates": GPUS, "rdma_driver_gpu_deploy": True}, ["v100-01"], []),
        ({"rdma_claims_templates": NICS}, ["v100-02"], ["dra.net"]),
    ],
)
def test_which_drivers_are_waited_for(
    facts_of: Facts, own: dict[str, Any], unready: list[str], wait: list[str]
) -> None:
    hostvars = {"v100-01": {**VERSIONS, "ansible_facts": {"rdma": facts_of("v100-01")}, **own}}
    fleet = _fleet.fleet({"hostvars": hostvars, "ansible_play_hosts_all": list(hostvars)})
    asked = _cluster_look.question(fleet, True, True, True, unready)
    assert asked["published"]["expected"]["v100-01"]["wait"] == wait
    if not unready:
        assert expected_devices({}, list(hostvars), hostvars)["v100-01"]["wait"] == wait
