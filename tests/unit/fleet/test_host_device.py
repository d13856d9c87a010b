# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The strategy host_device: what is refused, which NICs pods can have, their networks, and what verify makes of it."""

from __future__ import annotations

import copy
import json
import random
from typing import Any, Callable, Dict, List, Optional, Set

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.filter.manifests import manifests
from ansible_collections.zerocopy.rdma.plugins.filter.prepare_problems import prepare_problems
from ansible_collections.zerocopy.rdma.plugins.filter.strategies import strategies
from ansible_collections.zerocopy.rdma.plugins.filter.strategy import strategy
from ansible_collections.zerocopy.rdma.plugins.filter.strategy_plan import strategy_plan
from ansible_collections.zerocopy.rdma.plugins.filter.strategy_verdicts import strategy_verdicts
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import usage

Facts = Callable[..., Dict[str, Any]]
Hosts = Dict[str, Dict[str, Any]]
LABEL = "zerocopy.rdma/host-device"
OWN = "rdma_host_device_"
RANGE = {OWN + "networks": ["10.90.0.0/24"]}
RAILS = {OWN + "networks": ["10.90.0.0/24", "10.90.1.0/24"]}


def hosts_of(facts: Dict[str, Optional[Dict[str, Any]]], group: str = "ib", **own: Any) -> Hosts:
    """Hosts with these facts, all of one group of this strategy."""
    return {
        host: {
            "rdma_strategy": "host_device",
            **RANGE,
            **own,
            "inventory_hostname": host,
            "group_names": [group],
            "ansible_facts": {"rdma": of_host} if of_host else {},
        }
        for host, of_host in facts.items()
    }


def recorded(facts_of: Facts, *names: str, group: str = "ib", **own: Any) -> Hosts:
    return hosts_of({name: facts_of(name) for name in names}, group, **own)


def plan(hosts: Hosts) -> Dict[str, Any]:
    return strategy_plan({}, list(hosts), hosts, "host_device")


def right(hosts: Hosts) -> Dict[str, Any]:
    found = plan(hosts)
    assert found["problems"] == []
    return found


def objects(found: Dict[str, Any], kind: str) -> Dict[str, Dict[str, Any]]:
    items = [item for one in found["sets"] for item in one["objects"] if item["kind"] == kind]
    return {item["metadata"]["name"]: item for item in items}


def configs(found: Dict[str, Any]) -> Dict[str, Dict[str, List[str]]]:
    """The PCI addresses of each resource, by the value of the label of the nodes."""
    sets, result = objects(found, "DaemonSet"), {}
    for name, item in objects(found, "ConfigMap").items():
        if "config.json" in item["data"]:
            pools = json.loads(item["data"]["config.json"])["resourceList"]
            label = sets[name]["spec"]["template"]["spec"]["nodeSelector"][LABEL]
            result[label] = {pool["resourceName"]: pool["selectors"]["pciAddresses"] for pool in pools}
    return result


def addresses(facts: Dict[str, Any], *names: str) -> List[str]:
    return [hca["pci"]["address"] for hca in facts["hcas"] if hca["name"] in names]


REFUSED = [
    ({OWN + "networks": []}, "networks is not set: pods get their addresses from it"),
    ({OWN + "networks": "10.90.0.0/24"}, "networks is '10.90.0.0/24', it must be a list"),
    ({OWN + "networks": ["10.90.0.0"]}, "networks[0] is '10.90.0.0', it must be a network in CIDR notation"),
    (
        {OWN + "networks": ["192.168.7.152/27"]},
        "[0] is '192.168.7.152/27', which is an address in the network 192.168.7.128/27: host bits must be zero",
    ),
    ({OWN + "networks": ["239.1.0.0/24"]}, "which is a multicast network"),
    ({OWN + "networks": ["10.90.0.0/31"]}, "networks[0] is '10.90.0.0/31', it must have room for two pods"),
    ({OWN + "networks": ["10.90.0.0/30"]}, "which has room for 2 pods, but the group's nodes have 4 NICs in it"),
    (
        {OWN + "networks": ["10.90.0.0/24", "10.90.0.128/25"]},
        "networks[1] is '10.90.0.128/25', which overlaps rdma_host_device_networks[0] 10.90.0.0/24",
    ),
    (
        {**RAILS, "rdma_links_rail_subnets": [f"10.91.{rail}.0/24" for rail in range(4)]},
        "networks has 2 networks, but the links of the node have 4 rail(s)",
    ),
    ({OWN + "prefix": "RDMA"}, "prefix is 'RDMA', it must be a DNS name"),
    ({OWN + "prefix": "rdma/ib"}, "prefix is 'rdma/ib', it must be a DNS name"),
    ({OWN + "prefix": "a" * 250}, "it must be a DNS name in lower case, like rdma or rdma.example.org"),
    ({OWN + "prefix": "kubernetes.io"}, "prefix is 'kubernetes.io', which is reserved for Kubernetes: choose another"),
    ({OWN + "prefix": "node.kubernetes.io"}, "which is reserved for Kubernetes"),
    ({OWN + "prefix": "xkubernetes.io"}, "prefix is 'xkubernetes.io', which is reserved for Kubernetes"),
    ({OWN + "prefix": "requests.rdma"}, "which is reserved for Kubernetes"),
    ({OWN + "resource": "rdma-v100"}, "resource is 'rdma-v100', it must be at most 55 letters, digits and _"),
    ({OWN + "resource": "_v100"}, "with a letter or digit at both ends"),
    ({OWN + "resource": "r" * 56}, "it must be at most 55 letters"),
    ({"rdma_group": "v100_"}, "resource is not set and would be 'hostdev_v100_', it must be at most 55 letters"),
    ({OWN + "namespaces": []}, "namespaces is empty: name at least one namespace of pods"),
    ({OWN + "namespaces": ["Pods"]}, "namespaces[0] is 'Pods', it must be the name of a namespace"),
    ({OWN + "image": "ghcr.io/plugin:v1"}, "it must be an image without scheme, tag or digest"),
    ({OWN + "version": "latest"}, "version is 'latest', it must be a version like"),
    ({OWN + "version": "3.9.0"}, "which is the digest of 3.11.0, not of 3.9.0"),
    ({OWN + "multus_version": "4.2.2-thick"}, "which has the daemon of Multus"),
    ({OWN + "multus_image": "https://ghcr.io/multus"}, "multus_image is 'https://ghcr.io/multus', it must be an image"),
    ({OWN + "whereabouts_digest": "sha256:abc"}, "whereabouts_digest is 'sha256:abc', it must be sha256:"),
    ({OWN + "whereabouts_archive": "/nowhere/it.tar"}, "which cannot be read"),
    ({OWN + "cni_bin": "opt/cni/bin"}, "cni_bin is 'opt/cni/bin', it must be an absolute path"),
    ({OWN + "cni_config": "/etc/cni/../x"}, "cni_config is '/etc/cni/../x', it must be an absolute path"),
    ({OWN + "max_unavailable": "0"}, "it must be a number of nodes or a percentage"),
    ({OWN + "multus_deploy": "thin"}, "multus_deploy is 'thin', it must be true or false"),
    ({OWN + "namespace": "rdma", OWN + "parent_namespace": "rdma"}, "the same as rdma_host_device_namespace"),
    ({"rdma_claims_templates": [{"name": "one", "nics": 1}]}, "rdma_claims_templates is set, but rdma_strategy is"),
    ({"rdma_driver_exclude": ["3f:00"]}, "rdma_driver_exclude is '3f:00'"),
    ({"rdma_driver_exclude": ["0000:3f:00.0", "0000:8a:00.0"]}, "no node of the group has an ACTIVE NIC of InfiniBand"),
    ({"rdma_discover_expect_link_layer": "Ethernet"}, "no node of the group has an ACTIVE NIC of Ethernet"),
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
        ({OWN + "set": "zerocopy-rdma-driver"}, "rdma_host_device_set is 'zerocopy-rdma-driver', and so is"),
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
    (line,) = prepare_problems({}, list(hosts), hosts, networks=known)
    assert line == (
        "v100-[01-02]: rdma_host_device_networks[0] is '10.90.0.0/24', which overlaps the cluster's network for pods"
        " 10.90.0.0/22: pods need a network of their own"
    )


def test_a_group_with_both_link_layers_has_to_choose(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "lab-01", group="mixed")
    (line,) = plan(hosts)["problems"]
    assert "rdma_discover_expect_link_layer is not set, and nodes of the group have ports of Ethernet and" in line
    for host in hosts.values():
        host["rdma_discover_expect_link_layer"] = "InfiniBand"
    found = right(hosts)
    assert found["labels"] == {"lab-01": {LABEL: None}, "v100-01": {LABEL: "mixed"}}


def test_bonds_are_handed_out_to_nobody(facts_of: Facts) -> None:
    """The source of this strategy counted four on such nodes, which have one NIC for pods."""
    facts = facts_of("a100-01")
    assert any(port["netdev"] and port["netdev"]["bond"] for hca in facts["hcas"] for port in hca["ports"])
    found = right(recorded(facts_of, "a100-01", group="a100"))
    active = {entry["hca"] for entry in facts["usable"]}
    assert configs(found) == {"a100": {"hostdev_a100": addresses(facts, *active)}}
    assert found["shows"]["a100-01"]["resources"] == {"rdma/hostdev_a100": 1}


def test_a_software_device_is_refused(root_of: Callable[[str], Any]) -> None:
    facts = gather.gather(str(root_of("case-soft-roce")), gather.GatherOptions(allow_software=True))
    found = plan(hosts_of({"soft": facts}, rdma_discover_expect_link_layer="Ethernet"))
    (line,) = found["problems"]
    assert "no node of the group has an ACTIVE NIC" in line
    assert any("is a software device, which the plugin does not find" in text for text in found["warnings"])


def test_a_group_needs_facts_and_one_set_of_variables(facts_of: Facts) -> None:
    (line,) = plan(hosts_of({"one": None, "two": None}))["problems"]
    assert line.endswith("rdma_strategy is host_device, but no node of the group has facts: run rdma_discover first")
    hosts = recorded(facts_of, "v100-01", "v100-02")
    hosts["v100-02"][OWN + "resource"] = "other"
    (line,) = plan(hosts)["problems"]
    assert "v100-02: rdma_host_device_resource is 'other', but '' on v100-01" in line


def test_groups_with_one_name(facts_of: Facts) -> None:
    hosts = {
        **recorded(facts_of, "v100-01", group="v100", rdma_host_device_resource="nic"),
        **recorded(facts_of, "a100-01", group="a100", rdma_host_device_resource="nic"),
    }
    (line,) = plan(hosts)["problems"]
    assert "rdma_host_device_resource is 'rdma/nic', which pods of group a100 ask for as well" in line
    hosts = {**recorded(facts_of, "v100-01", group="i_b"), **recorded(facts_of, "v100-02", group="I_B")}
    (line,) = plan(hosts)["problems"]
    assert "which has the same name in Kubernetes as" in line


def test_objects_of_a_recorded_group(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "v100-02", group="v100", rdma_host_device_namespaces=["one", "two"])
    found = right(hosts)
    (one,) = found["sets"]
    assert (one["name"], one["namespace"]) == ("zerocopy-rdma-host-device", "kube-system")
    assert set(objects(found, "DaemonSet")) == {"rdma-nics-v100", "rdma-multus", "rdma-whereabouts"}
    assert set(objects(found, "CustomResourceDefinition")) == {
        "network-attachment-definitions.k8s.cni.cncf.io",
        "ippools.whereabouts.cni.cncf.io",
        "overlappingrangeipreservations.whereabouts.cni.cncf.io",
    }
    assert configs(found) == {"v100": {"hostdev_v100": ["0000:3f:00.0", "0000:8a:00.0"]}}
    networks = [item for item in one["objects"] if item["kind"] == "NetworkAttachmentDefinition"]
    assert [item["metadata"]["namespace"] for item in networks] == ["one", "two"]
    assert {item["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] for item in networks} == {
        "rdma/hostdev_v100"
    }
    config = json.loads(networks[0]["spec"]["config"])
    assert (config["type"], config["ipam"]["type"], config["ipam"]["range"]) == (
        "host-device",
        "whereabouts",
        "10.90.0.0/24",
    )
    assert found["labels"] == {host: {LABEL: "v100"} for host in hosts}
    (ask,) = found["asks"]["v100"]
    assert ask["limits"] == {"rdma/hostdev_v100": 1}
    assert ask["annotations"] == {"k8s.v1.cni.cncf.io/networks": "one/rdma-v100"}
    assert ask["hosts"] == {host: ["mlx5_0", "mlx5_1"] for host in hosts}
    assert (ask["number"], ask["moves"], ask["networks"], ask["namespace"]) == (1, True, ("10.90.0.0/24",), "one")
    shown = found["shows"]["v100-02"]
    assert shown["resources"] == {"rdma/hostdev_v100": 2}
    assert set(shown["daemon_sets"]) == {
        f"kube-system/{name}" for name in ("rdma-nics-v100", "rdma-multus", "rdma-whereabouts")
    }


def test_manifests_are_the_objects(facts_of: Facts) -> None:
    """Without an API server they are written to a file, definitions before what they define."""
    (one,) = right(recorded(facts_of, "v100-01", "v100-02", group="v100", **RAILS))["sets"]
    written = list(yaml.safe_load_all(manifests(one["objects"])))
    assert sorted(map(json.dumps, written)) == sorted(map(json.dumps, one["objects"]))
    kinds = [item["kind"] for item in written]
    assert kinds.index("NetworkAttachmentDefinition") > max(
        place for place, kind in enumerate(kinds) if kind == "CustomResourceDefinition"
    )


def test_every_mount_has_its_volume(facts_of: Facts) -> None:
    for item in objects(right(recorded(facts_of, "v100-01")), "DaemonSet").values():
        pod = item["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


def test_selectors_do_without_the_netdev(facts_of: Facts) -> None:
    """A plugin that starts while a pod has the netdev sees neither its name nor its link type."""
    (item,) = [
        entry
        for entry in objects(right(recorded(facts_of, "v100-01")), "ConfigMap").values()
        if "config.json" in entry["data"]
    ]
    (pool,) = json.loads(item["data"]["config.json"])["resourceList"]
    assert set(pool["selectors"]) == {"pciAddresses", "isRdma"}


def test_a_rail_is_a_resource_and_a_network(facts_of: Facts) -> None:
    found = right(recorded(facts_of, "v100-01", "v100-02", group="v100", **RAILS))
    assert configs(found) == {"v100": {"hostdev_v100_rail0": ["0000:3f:00.0"], "hostdev_v100_rail1": ["0000:8a:00.0"]}}
    ranges = {
        name: json.loads(item["spec"]["config"])["ipam"]["range"]
        for name, item in objects(found, "NetworkAttachmentDefinition").items()
    }
    assert ranges == {"rdma-v100-rail0": "10.90.0.0/24", "rdma-v100-rail1": "10.90.1.0/24"}
    assert [ask["annotations"]["k8s.v1.cni.cncf.io/networks"] for ask in found["asks"]["v100"]] == [
        "default/rdma-v100-rail0",
        "default/rdma-v100-rail1",
    ]
    assert [ask["hosts"]["v100-02"] for ask in found["asks"]["v100"]] == [["mlx5_0"], ["mlx5_1"]]
    assert found["shows"]["v100-01"]["resources"] == {"rdma/hostdev_v100_rail0": 1, "rdma/hostdev_v100_rail1": 1}


def test_what_nodes_must_not_have(facts_of: Facts) -> None:
    hosts = {
        **recorded(facts_of, "v100-01", "v100-02", group="v100", **RAILS),
        **recorded(facts_of, "a100-01", group="a100"),
        # A group that has left it together with its networks.
        **recorded(facts_of, "h100-01", group="h100", rdma_strategy="none", rdma_links_rails=2),
    }
    del hosts["h100-01"][OWN + "networks"]
    facts = copy.deepcopy(facts_of("v100-02"))
    gone = facts["usable"].pop(0)
    reason = {"code": "port_down", "text": "port state is DOWN", "fields": {"state": "DOWN"}}
    facts["excluded"].append({**gone, "reasons": [reason]})
    hosts["v100-02"]["ansible_facts"] = {"rdma": facts}
    leaves = plan(hosts)["leaves"]
    of_v100 = ["rdma/hostdev_v100", "rdma/hostdev_v100_rail0", "rdma/hostdev_v100_rail1"]
    of_h100 = ["rdma/hostdev_h100", "rdma/hostdev_h100_rail0", "rdma/hostdev_h100_rail1"]
    assert {host: set(names) for host, names in leaves.items()} == {
        "v100-01": {of_v100[0], "rdma/hostdev_a100", *of_h100},
        "v100-02": {*of_v100[:2], "rdma/hostdev_a100", *of_h100},
        "a100-01": {*of_v100, *of_h100},
        "h100-01": {*of_v100, "rdma/hostdev_a100", *of_h100},
    }


def test_rails_are_those_of_the_links(facts_of: Facts) -> None:
    ports = [{"pci": "0000:8a:00.0"}, {"pci": "0000:3f:00.0"}]
    found = right(recorded(facts_of, "v100-01", group="v100", rdma_links_ports=ports, **RAILS))
    assert configs(found) == {"v100": {"hostdev_v100_rail0": ["0000:8a:00.0"], "hostdev_v100_rail1": ["0000:3f:00.0"]}}


def test_a_rail_that_is_down_is_handed_out_to_nobody(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    gone = facts["usable"].pop(0)
    reason = {"code": "port_down", "text": "port state is DOWN", "fields": {"state": "DOWN"}}
    facts["excluded"].append({**gone, "reasons": [reason]})
    found = right(hosts_of({"v100-01": facts}, "v100", **RAILS))
    assert configs(found) == {"v100": {"hostdev_v100_rail1": ["0000:8a:00.0"]}}
    assert found["warnings"] == [
        f"v100-01: rail 0 is {gone['hca']}/1, which is not usable",
        "v100-01: has no NIC for rail 0",
    ]


def test_who_sets_a_link_up_again(facts_of: Facts) -> None:
    """CNI leaves a NIC down that comes back. Of InfiniBand the port stays as it is."""
    text = "a NIC comes back from a pod with its link down, and without rdma_links_subnet or rdma_links_mtu nothing"
    assert any(text in line for line in right(recorded(facts_of, "lab-01"))["warnings"])
    for hosts in (recorded(facts_of, "lab-01", rdma_links_mtu=9000), recorded(facts_of, "v100-01")):
        assert not any(text in line for line in right(hosts)["warnings"])


def test_a_nic_in_a_pod_stays_in_the_configuration(facts_of: Facts) -> None:
    facts = facts_of("case-in-pod")
    (away,) = [entry["hca"] for entry in facts["excluded"] if {one["code"] for one in entry["reasons"]} == {"in_pod"}]
    found = right(hosts_of({"case-in-pod": facts}, "lab"))
    (pools,) = [*configs(found).values()]
    assert set(addresses(facts, away)) <= set(pools["hostdev_lab"])


def test_the_pair_whose_live_port_differs(facts_of: Facts) -> None:
    """Where one configuration would hand out a NIC without a cable, there are two."""
    found = right(recorded(facts_of, "a100-01", "a100-02", group="a100"))
    own = {host: labels[LABEL] for host, labels in found["labels"].items()}
    assert own["a100-01"] != own["a100-02"]
    for host in own:
        facts = facts_of(host)
        active = {entry["hca"] for entry in facts["usable"]}
        assert configs(found)[own[host]] == {"hostdev_a100": addresses(facts, *active)}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda hca: hca["sriov"].update(role="pf", num_vfs=4),
            "has VFs, and then the plugin does not hand out the NIC",
        ),
        (
            lambda hca: hca["ports"][0].update(netdev=None),
            "has no netdev that could be moved into a pod: load ib_ipoib",
        ),
    ],
)
def test_what_the_programs_cannot_hand_out(facts_of: Facts, change: Callable[..., None], why: str) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    (hca,) = [one for one in facts["hcas"] if one["pci"] and one["pci"]["address"] == "0000:3f:00.0"]
    change(hca)
    found = right(hosts_of({"v100-01": facts}, "v100"))
    assert configs(found) == {"v100": {"hostdev_v100": ["0000:8a:00.0"]}}
    assert any(why in text for text in found["warnings"])


def test_an_hca_with_two_ports_comes_whole(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-two-ports"))
    (hca,) = [one for one in facts["hcas"] if len(one["ports"]) == 2]
    facts["usable"] = [{"hca": hca["name"], "port": 1}]
    reason = {"code": "default_route", "text": "it carries the default route", "fields": {"netdev": "x"}}
    facts["excluded"] = [{"hca": hca["name"], "port": 2, "reasons": [reason]}]
    found = plan(hosts_of({"two": facts}))
    assert any("would come with its port 2, which no pod may have" in text for text in found["warnings"])
    # CNI would take the first netdev.
    for port, name in zip(hca["ports"], ("z0", "a0")):
        port["netdev"] = {**hca["ports"][0]["netdev"], "name": name}
    reason.update(code="port_down", text="port state is DOWN", fields={"state": "DOWN"})
    found = plan(hosts_of({"two": facts}))
    assert any("CNI would move a0, which is another one" in text for text in found["warnings"])


def test_a_sites_own_multus_and_whereabouts_are_left_alone(facts_of: Facts) -> None:
    own = {OWN + "multus_deploy": False, OWN + "whereabouts_deploy": False}
    hosts = recorded(facts_of, "v100-01", group="v100", **own)
    found = right(hosts)
    assert [item["kind"] for item in found["sets"][0]["objects"]] == [
        "ConfigMap",
        "DaemonSet",
        "NetworkAttachmentDefinition",
    ]
    assert found["shows"]["v100-01"]["daemon_sets"] == ("kube-system/rdma-nics-v100",)
    (image,) = strategy({}, hosts["v100-01"])["images"]
    assert image["name"].startswith("ghcr.io/k8snetworkplumbingwg/sriov-network-device-plugin:v")


def test_images_and_netns_mode_of_a_node(facts_of: Facts) -> None:
    own = recorded(facts_of, "v100-01", rdma_host_device_multus_archive="/images/multus.tar")["v100-01"]
    found = strategy({}, own)
    assert found["netns_mode"] == "shared"
    assert [(image["name"].rpartition("/")[2], image["archive"]) for image in found["images"]] == [
        ("sriov-network-device-plugin:v3.11.0", ""),
        ("multus-cni:v4.2.2", "/images/multus.tar"),
        ("whereabouts:v0.8.0", ""),
    ]


def test_directories_of_another_distribution(facts_of: Facts) -> None:
    cni = "/var/lib/rancher/k3s/agent/etc/cni/net.d"
    found = right(recorded(facts_of, "v100-01", rdma_host_device_cni_config=cni))
    (item,) = objects(found, "NetworkAttachmentDefinition").values()
    ipam = json.loads(item["spec"]["config"])["ipam"]
    assert ipam["kubernetes"]["kubeconfig"] == f"{cni}/whereabouts.d/whereabouts.kubeconfig"
    multus = objects(found, "DaemonSet")["rdma-multus"]["spec"]["template"]["spec"]
    assert f"--multus-kubeconfig-file-host={cni}/multus.d/multus.kubeconfig" in multus["containers"][0]["args"]
    assert cni in [volume["hostPath"]["path"] for volume in multus["volumes"]]


def test_the_plugin_restarts_with_its_configuration_and_only_then(facts_of: Facts) -> None:
    def annotation(**own: Any) -> str:
        item = objects(right(recorded(facts_of, "v100-01", **own)), "DaemonSet")["rdma-nics-ib"]
        return str(item["spec"]["template"]["metadata"]["annotations"]["zerocopy.rdma/config"])

    assert annotation() == annotation(rdma_host_device_networks=["10.95.0.0/24"])
    assert annotation() != annotation(rdma_driver_exclude=["0000:3f:00.0"])


def test_a_node_without_facts_keeps_its_plugin(facts_of: Facts) -> None:
    found = right(hosts_of({"v100-01": facts_of("v100-01"), "away": None}))
    assert found["labels"] == {"v100-01": {LABEL: "ib"}}
    assert "away: no facts, so the plugin is left unchanged there" in found["warnings"]


def test_hosts_of_other_strategies_lose_the_label(facts_of: Facts) -> None:
    hosts = {**recorded(facts_of, "v100-01"), **recorded(facts_of, "h100-01", group="h100", rdma_strategy="dra")}
    assert plan(hosts)["labels"] == {"v100-01": {LABEL: "ib"}, "h100-01": {LABEL: None}}
    served = {"h100-01": {LABEL: "h100"}}
    (line,) = strategies({}, list(hosts), hosts, served)["problems"]
    assert line.startswith("h100-01: rdma_strategy is 'dra', but host_device still serves this node")


NODES = ["v100-01", "v100-02", "a100-01", "a100-02", "h100-01", "h100-02", "h100-03", "lab-01", "lab-02"]
NODES += ["case-two-ports", "case-vf", "case-h100-roce", "case-b200", "case-default-route"]


def plugin(facts: Dict[str, Any], pools: Dict[str, List[str]]) -> Dict[str, Set[str]]:
    """What sriov-network-device-plugin 3.11.0 offers on a node: an HCA is in the first pool that names it."""
    found: Dict[str, Set[str]] = {}
    taken: Set[str] = set()
    for name, wanted in pools.items():
        for hca in facts["hcas"]:
            if (
                hca["pci"]
                and hca["pci"]["address"] in wanted
                and hca["name"] not in taken
                and not hca["sriov"]["num_vfs"]
            ):
                taken.add(hca["name"])
                found.setdefault(name, set()).add(hca["name"])
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_configuration_reaches_an_hca_without_an_active_port(facts_of: Facts, seed: int) -> None:
    chance = random.Random(seed)
    facts: Dict[str, Optional[Dict[str, Any]]] = {}
    for place, name in enumerate(chance.sample(NODES, 3)):
        own = copy.deepcopy(facts_of(name))
        for entry in list(own["usable"]):
            if chance.random() < 0.3:
                own["usable"].remove(entry)
                reason = {"code": "port_down", "text": "port state is DOWN", "fields": {"state": "DOWN"}}
                own["excluded"].append({**entry, "reasons": [reason]})
        facts[f"node-{place}"] = own
    layer = chance.choice(["InfiniBand", "Ethernet"])
    networks = [f"10.90.{rail}.0/24" for rail in range(chance.choice([1, 2, 4]))]
    found = plan(hosts_of(facts, rdma_discover_expect_link_layer=layer, rdma_host_device_networks=networks))
    of_label = configs(found)
    for host, known in facts.items():
        own = known or {}
        label = (found["labels"].get(host) or {}).get(LABEL) if of_label else None
        got = plugin(own, of_label[label]) if label else {}
        for names in got.values():
            for hca in (one for one in own["hcas"] if one["name"] in names):
                assert {"hca": hca["name"], "port": hca["ports"][0]["number"]} in own["usable"] or len(hca["ports"]) > 1
                assert layer in {port["link_layer"] for port in hca["ports"]}
        shown = found["shows"].get(host, {"resources": {}})["resources"]
        assert {f"rdma/{name}": len(names) for name, names in got.items()} == shown


def node(name: str, **resources: int) -> Dict[str, Any]:
    numbers = {f"rdma/{key}": str(value) for key, value in resources.items()}
    return {"metadata": {"name": name}, "status": {"capacity": numbers, "allocatable": numbers}}


def daemon_set(name: str, desired: int, ready: int) -> Dict[str, Any]:
    status = {"desiredNumberScheduled": desired, "numberReady": ready, "updatedNumberScheduled": desired}
    return {"metadata": {"name": name, "namespace": "kube-system"}, "status": status}


def test_what_verify_says(facts_of: Facts) -> None:
    hosts = {
        **recorded(facts_of, "v100-01", "v100-02", group="v100"),
        **recorded(facts_of, "h100-01", group="h100", rdma_strategy="dra"),
    }
    nodes = [node("v100-01", hostdev_v100=2), node("v100-02", hostdev_v100=4), node("h100-01", hostdev_v100=1)]
    sets = [daemon_set("rdma-nics-v100", 2, 2), daemon_set("rdma-multus", 2, 1)]
    found = strategy_verdicts({}, list(hosts), hosts, nodes, sets)["checks"]
    assert {f"{check['host'] or ''} {check['subject']}": check["verdict"] for check in found} == {
        " kube-system/rdma-nics-v100": "pass",
        " kube-system/rdma-multus": "fail",
        " kube-system/rdma-whereabouts": "fail",
        "v100-01 rdma/hostdev_v100": "pass",
        "v100-02 rdma/hostdev_v100": "fail",
        "h100-01 rdma/hostdev_v100": "fail",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, []),
        ("rdma-v100", [("own", "rdma-v100")]),
        ("other/rdma-v100@net7, rdma-a100", [("other", "rdma-v100"), ("own", "rdma-a100")]),
        ('[{"name": "rdma-v100"}, {"name": "b", "namespace": "other"}]', [("own", "rdma-v100"), ("other", "b")]),
        ('["rdma-v100"]', [("own", "rdma-v100")]),
        ("7", []),
    ],
)
def test_networks_that_a_pod_names(text: Optional[str], expected: List[Any]) -> None:
    annotations = {"k8s.v1.cni.cncf.io/networks": text} if text else None
    pod = {"metadata": {"name": "pod", "namespace": "own", "annotations": annotations}}
    assert list(usage.networks_of(pod)) == expected
