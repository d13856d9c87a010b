# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is refused of the strategy shared_device, by its plan and by preflight."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    SHARED_DEVICE,
    Facts,
    wrong_names,
)

OWN = "rdma_shared_device_"
hosts_of, plan, recorded = SHARED_DEVICE.hosts_of, SHARED_DEVICE.plan, SHARED_DEVICE.recorded

REFUSED = [
    *wrong_names(OWN, "rdma_", 63),
    ({OWN + "max": 0}, "max is 0, it must be 1 to 10000"),
    ({OWN + "max": 10001}, "max is 10001, it must be 1 to 10000"),
    ({OWN + "max": "many"}, "max is 'many', it must be a whole number"),
    ({OWN + "image": "ghcr.io/mellanox/plugin:v1"}, "it must be an image without scheme, tag or digest"),
    ({OWN + "version": "latest"}, "version is 'latest', it must be a version like"),
    ({OWN + "version": "1.5.2"}, "which is the digest of 1.5.3, not of 1.5.2"),
    ({OWN + "digest": "sha256:abc"}, "it must be sha256: and 64 hexadecimal digits"),
    ({OWN + "archive": "plugin.tar"}, "archive is 'plugin.tar', it must be an absolute path"),
    ({OWN + "archive": "/nowhere/plugin.tar"}, "which cannot be read"),
    ({OWN + "kubelet_root": "var/lib/kubelet"}, "kubelet_root is 'var/lib/kubelet', it must be an absolute path"),
    ({"rdma_max_unavailable": "0"}, "it must be a number of nodes or a percentage"),
    ({OWN + "pull_secrets": "one"}, "pull_secrets is 'one', it must be a list"),
    ({OWN + "namespace": "rdma", "rdma_parent_namespace": "rdma"}, "the same as rdma_shared_device_namespace"),
    ({"rdma_claims_templates": [{"name": "one", "nics": 1}]}, "rdma_claims_templates is set, but rdma_strategy is"),
    ({"rdma_claims_claims": [{"name": "one", "rail": 0}]}, "rdma_claims_claims is set, but rdma_strategy is"),
    ({"rdma_driver_exclude": ["3f:00"]}, "rdma_driver_exclude is '3f:00'"),
    ({"rdma_driver_exclude": ["0000:3f:00.0", "0000:8a:00.0"]}, "no node of the group has an ACTIVE port"),
]


@pytest.mark.parametrize(("own", "message"), REFUSED)
def test_a_mistake_is_refused_in_one_message(facts_of: Facts, own: Dict[str, Any], message: str) -> None:
    found = plan(recorded(facts_of, "v100-01", "v100-02", **own))
    (line,) = found["problems"]
    assert line.startswith("v100-[01-02]: " if "parent" not in line else "v100-01: ")
    assert message in line
    assert found["sets"] == []


@pytest.mark.parametrize(
    ("hosts", "group", "message"),
    [
        (["case-in-pod"], "lab", "is shared_device, but another driver has moved mlx5_0 into a pod: delete that pod"),
        (["case-nothing"], "lab", "no node of the group has an ACTIVE port that pods can share"),
        (["case-default-route"], "lab", "no node of the group has an ACTIVE port that pods can share"),
        (["v100-01"], "###", "which cannot be part of a DaemonSet's name"),
    ],
)
def test_nodes_that_cannot_share(facts_of: Facts, hosts: List[str], group: str, message: str) -> None:
    (line,) = plan(recorded(facts_of, *hosts, group=group))["problems"]
    assert message in line


def test_a_software_device_is_refused(root_of: Callable[[str], Any]) -> None:
    facts = gather.gather(str(root_of("case-soft-roce")), gather.GatherOptions(allow_software=True))
    assert facts["usable"]
    found = plan(hosts_of({"soft": facts}))
    (line,) = found["problems"]
    assert "no node of the group has an ACTIVE port" in line
    assert any("is a software device, which the device plugin cannot find" in text for text in found["warnings"])


def test_a_group_needs_facts_and_one_set_of_variables(facts_of: Facts) -> None:
    (line,) = plan(hosts_of({"one": None, "two": None}))["problems"]
    assert line.endswith(
        "rdma_strategy is shared_device, but no node of the group has facts: gather them first (role rdma_discover)"
    )
    hosts = recorded(facts_of, "v100-01", "v100-02")
    hosts["v100-02"][OWN + "max"] = 10
    (line,) = plan(hosts)["problems"]
    assert "v100-02: rdma_shared_device_max is 10, but 63 on v100-01" in line


def test_groups_with_one_name_in_kubernetes(facts_of: Facts) -> None:
    hosts = {**recorded(facts_of, "v100-01", group="i_b"), **recorded(facts_of, "v100-02", group="I_B")}
    (line,) = plan(hosts)["problems"]
    assert "which has the same name in Kubernetes as" in line


@pytest.mark.parametrize("value", ["SRIOV", "Inject", "shared", "None"])
def test_only_what_works_is_offered(facts_of: Facts, value: str) -> None:
    hosts = recorded(facts_of, "v100-01", rdma_strategy=value)
    (line,) = prepare_problems({}, list(hosts), hosts)
    offered = "dra or shared_device or host_device or sriov or inject or none"
    assert line == f"v100-01: rdma_strategy is {value!r}, it must be {offered}"


def test_a_netns_mode_that_the_plugin_ends_in_is_refused(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", rdma_kernel_netns_mode="exclusive")
    (line,) = prepare_problems({}, list(hosts), hosts)
    assert line.startswith("v100-01: rdma_kernel_netns_mode is 'exclusive', but rdma_strategy is shared_device, which")
    hosts = recorded(facts_of, "v100-01", rdma_kernel_netns_mode="shared")
    assert prepare_problems({}, list(hosts), hosts) == []
