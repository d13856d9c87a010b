# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is refused of the strategy host_device, by its plan and by preflight."""

from __future__ import annotations

from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cluster_plan, _fleet
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    RAILS,
    Facts,
    wrong_names,
)

OWN = "rdma_host_device_"
hosts_of, plan, recorded = HOST_DEVICE.hosts_of, HOST_DEVICE.plan, HOST_DEVICE.recorded

REFUSED = [
    ({OWN + "networks": []}, "networks is not set: pods get their addresses from it"),
    ({OWN + "networks": "10.90.0.0/24"}, "networks is '10.90.0.0/24', it must be a list"),
    ({OWN + "networks": ["10.90.0.0"]}, "networks[0] is '10.90.0.0', it must be a network in CIDR notation"),
    (
        {OWN + "networks": ["192.168.7.152/27"]},
        "[0] is '192.168.7.152/27', which is an address in the network 192.168.7.128/27: host bits must be zero",
    ),
    ({OWN + "networks": ["239.1.0.0/24"]}, "which is a multicast network"),
    ({OWN + "networks": ["10.90.0.0/31"]}, "is '10.90.0.0/31', it must have addresses for at least two pods"),
    ({OWN + "networks": ["10.90.0.0/30"]}, "which has addresses for 2 pods, but the group's nodes have 4 NICs"),
    (
        {OWN + "networks": ["10.90.0.0/24", "10.90.0.128/25"]},
        "networks[1] is '10.90.0.128/25', which overlaps rdma_host_device_networks[0] 10.90.0.0/24",
    ),
    (
        {**RAILS, "rdma_links_rail_subnets": [f"10.91.{rail}.0/24" for rail in range(4)]},
        "networks has 2 networks, but the node's links have 4 rails",
    ),
    *wrong_names(OWN, "hostdev_", 55),
    ({OWN + "namespaces": []}, "namespaces is empty: name at least one namespace of pods"),
    ({OWN + "namespaces": ["Pods"]}, "namespaces[0] is 'Pods', it must be the name of a namespace"),
    ({OWN + "namespaces": ["x", "y", "x"]}, "namespaces[2] is 'x', which is in the list already: name it once"),
    ({OWN + "image": "ghcr.io/plugin:v1"}, "it must be an image without scheme, tag or digest"),
    ({OWN + "version": "latest"}, "version is 'latest', it must be a version like"),
    ({OWN + "version": "3.9.0"}, "which is the digest of 3.11.0, not of 3.9.0"),
    ({OWN + "multus_version": "4.2.2-thick"}, "which is the thick plugin of Multus"),
    ({OWN + "multus_image": "https://ghcr.io/multus"}, "multus_image is 'https://ghcr.io/multus', it must be an image"),
    ({OWN + "whereabouts_digest": "sha256:abc"}, "whereabouts_digest is 'sha256:abc', it must be sha256:"),
    ({OWN + "whereabouts_archive": "/nowhere/it.tar"}, "which cannot be read"),
    ({OWN + "cni_bin": "opt/cni/bin"}, "cni_bin is 'opt/cni/bin', it must be an absolute path"),
    ({OWN + "cni_config": "/etc/cni/../x"}, "cni_config is '/etc/cni/../x', it must be an absolute path"),
    ({"rdma_max_unavailable": "0"}, "it must be a number of nodes or a percentage"),
    ({OWN + "multus_deploy": "thin"}, "multus_deploy is 'thin', it must be true or false"),
    ({OWN + "namespace": "rdma", "rdma_parent_namespace": "rdma"}, "the same as rdma_host_device_namespace"),
    ({"rdma_claims_templates": [{"name": "one", "nics": 1}]}, "rdma_claims_templates is set, but rdma_strategy is"),
    ({"rdma_driver_exclude": ["3f:00"]}, "rdma_driver_exclude is '3f:00'"),
    ({"rdma_driver_exclude": ["0000:3f:00.0", "0000:8a:00.0"]}, "no node of the group has an ACTIVE InfiniBand NIC"),
    ({"rdma_discover_expect_link_layer": "Ethernet"}, "no node of the group has an ACTIVE Ethernet NIC"),
]


@pytest.mark.parametrize(("own", "message"), REFUSED)
def test_a_mistake_is_refused_in_one_message(facts_of: Facts, own: Dict[str, Any], message: str) -> None:
    found = plan(recorded(facts_of, "v100-01", "v100-02", **own))
    (line,) = found["problems"]
    assert line.startswith("v100-[01-02]: ")
    assert message in line
    assert found["sets"] == []


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({OWN + "networks": []}, "rdma_host_device_networks is not set"),
        ({OWN + "networks": ["192.168.7.152/27"]}, "which is an address in the network 192.168.7.128/27"),
        ({"rdma_links_reserved_networks": ["10.90.0.0/16"]}, "overlaps rdma_links_reserved_networks[0] 10.90.0.0/16"),
        ({"rdma_links_subnet": "10.90.0.0/16"}, "overlaps the 10.90.0.0/16 of the RDMA links of v100-[01-02]"),
        ({"ansible_host": "10.90.0.7"}, "but Ansible connects to v100-[01-02] in it (ansible_host)"),
        ({"rdma_kernel_netns_mode": "exclusive"}, "but rdma_strategy is host_device, which works in mode shared"),
        ({OWN + "network": ["10.90.0.0/24"]}, "did you mean rdma_host_device_networks?"),
    ],
)
def test_preflight_refuses_in_one_message(facts_of: Facts, own: Dict[str, Any], message: str) -> None:
    hosts = recorded(facts_of, "v100-01", "v100-02", group="v100", **own)
    (line,) = prepare_problems({}, list(hosts), hosts)
    assert line.startswith("v100-[01-02]: ")
    assert message in line


def test_preflight_accepts(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "v100-02", group="v100", rdma_links_subnet="10.91.0.0/16")
    assert prepare_problems({}, list(hosts), hosts, facts=True) == []


def test_networks_of_pods_differ_between_groups_and_from_links_of_others(facts_of: Facts) -> None:
    other = {OWN + "networks": ["10.0.0.0/24", "10.90.0.0/16"]}
    hosts = {
        **recorded(facts_of, "v100-01", group="v100"),
        **recorded(facts_of, "a100-01", group="a100", **other),
        **recorded(facts_of, "h100-01", group="h100", rdma_strategy="dra", rdma_links_subnet="10.0.0.0/16"),
    }
    assert prepare_problems({}, list(hosts), hosts) == [
        "a100-01: rdma_host_device_networks[0] is '10.0.0.0/24', which overlaps the 10.0.0.0/16 of the RDMA links of"
        " h100-01: pods need a network of their own",
        "a100-01: rdma_host_device_networks[1] is '10.90.0.0/16', which overlaps the 10.90.0.0/24 of the pods of group"
        " v100: pods need a network of their own",
    ]
    # A run for one group is told as well, and not of the mistakes of others.
    (line,) = prepare_problems(
        {}, ["v100-01"], {**hosts, "v100-01": {**hosts["v100-01"], **other}}, everyone=list(hosts)
    )[:1]
    assert line.startswith("v100-01: rdma_host_device_networks[0] is '10.0.0.0/24'")


def test_the_networks_of_the_cluster_are_not_for_pods(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "v100-02", group="v100")
    known = {"pods": ["10.90.0.0/22"], "services": ["10.96.0.0/12"]}
    fleet = _fleet.fleet({"hostvars": hosts, "ansible_play_hosts_all": list(hosts)})
    (line,) = _cluster_plan.network_problems(fleet, known)
    assert line == (
        "v100-[01-02]: rdma_host_device_networks[0] is '10.90.0.0/24', which overlaps the cluster's network for pods"
        " 10.90.0.0/22: pods need a network of their own"
    )


def test_a_software_device_is_refused(root_of: Callable[[str], Any]) -> None:
    facts = gather.gather(str(root_of("case-soft-roce")), gather.GatherOptions(allow_software=True))
    found = plan(hosts_of({"soft": facts}, rdma_discover_expect_link_layer="Ethernet"))
    (line,) = found["problems"]
    assert "no node of the group has an ACTIVE Ethernet NIC" in line
    assert any("is a software device, which the device plugin cannot find" in text for text in found["warnings"])


def test_a_group_needs_facts_and_one_set_of_variables(facts_of: Facts) -> None:
    (line,) = plan(hosts_of({"one": None, "two": None}))["problems"]
    assert line.endswith(
        "rdma_strategy is host_device, but no node of the group has facts: gather them first (role rdma_discover)"
    )
    hosts = recorded(facts_of, "v100-01", "v100-02")
    hosts["v100-02"][OWN + "resource"] = "other"
    (line,) = plan(hosts)["problems"]
    assert "v100-02: rdma_host_device_resource is 'other', but '' on v100-01" in line


def test_groups_that_share_multus_are_rolled_out_alike(facts_of: Facts) -> None:
    hosts = {
        **recorded(facts_of, "v100-01", group="v100", rdma_max_unavailable="2"),
        **recorded(facts_of, "a100-01", group="a100", rdma_host_device_networks=["10.92.0.0/24"]),
    }
    (line,) = plan(hosts)["problems"]
    assert line.startswith("v100-01: rdma_max_unavailable is '2', but 1 for group a100: their nodes share rdma-multus")
    for own in hosts.values():
        own.update({OWN + "multus_deploy": False, OWN + "whereabouts_deploy": False})
    assert plan(hosts)["problems"] == []


def test_groups_with_one_name(facts_of: Facts) -> None:
    hosts = {
        **recorded(facts_of, "v100-01", group="v100", rdma_host_device_resource="nic"),
        **recorded(facts_of, "a100-01", group="a100", rdma_host_device_resource="nic"),
    }
    (line,) = plan(hosts)["problems"]
    assert "rdma_host_device_resource is 'rdma/nic', which group a100 also has" in line
    # A rail of one, and all of the other.
    hosts = {
        **recorded(facts_of, "v100-01", group="v100", rdma_host_device_resource="nic", **RAILS),
        **recorded(facts_of, "v100-02", group="v100-rail0", rdma_host_device_networks=["10.92.0.0/24"]),
    }
    (line,) = plan(hosts)["problems"]
    assert line == (
        "v100-02: rdma_group is 'v100-rail0', but group v100 has a network of the same name, rdma-v100-rail0: rename"
        " one of the groups"
    )
    hosts = {**recorded(facts_of, "v100-01", group="i_b"), **recorded(facts_of, "v100-02", group="I_B")}
    (line,) = plan(hosts)["problems"]
    assert "which has the same name in Kubernetes as" in line
