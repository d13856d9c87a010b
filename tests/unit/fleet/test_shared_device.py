# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The strategy shared_device: what is refused, which HCAs the plugin is told about, and what verify makes of it."""

from __future__ import annotations

import copy
import json
import random
import re
from typing import Any, Callable, Dict, List, Optional, Set

import pytest

from ansible_collections.zerocopy.rdma.plugins.filter.prepare_problems import prepare_problems
from ansible_collections.zerocopy.rdma.plugins.filter.strategies import strategies
from ansible_collections.zerocopy.rdma.plugins.filter.strategy import strategy
from ansible_collections.zerocopy.rdma.plugins.filter.strategy_plan import strategy_plan
from ansible_collections.zerocopy.rdma.plugins.filter.strategy_verdicts import strategy_verdicts
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.shared_device import selectors

Facts = Callable[..., Dict[str, Any]]
Hosts = Dict[str, Dict[str, Any]]
LABEL = "zerocopy.rdma/shared-device"
OWN = "rdma_shared_device_"


def hosts_of(facts: Dict[str, Optional[Dict[str, Any]]], group: str = "ib", **own: Any) -> Hosts:
    """Hosts with these facts, all of one group of this strategy."""
    return {
        host: {
            "rdma_strategy": "shared_device",
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
    return strategy_plan({}, list(hosts), hosts, "shared_device")


def right(hosts: Hosts) -> Dict[str, Any]:
    found = plan(hosts)
    assert found["problems"] == []
    return found


def objects(found: Dict[str, Any], kind: str) -> Dict[str, Dict[str, Any]]:
    items = [item for one in found["sets"] for item in one["objects"] if item["kind"] == kind]
    return {item["metadata"]["name"]: item for item in items}


def configs(found: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    """What the plugin reads, by the value of the label of its nodes."""
    sets = objects(found, "DaemonSet")
    result = {}
    for name, item in objects(found, "ConfigMap").items():
        (entry,) = json.loads(item["data"]["config.json"])["configList"]
        result[sets[name]["spec"]["template"]["spec"]["nodeSelector"][LABEL]] = entry
    return result


REFUSED = [
    ({OWN + "prefix": "RDMA"}, "prefix is 'RDMA', it must be a DNS name"),
    ({OWN + "prefix": "rdma/ib"}, "prefix is 'rdma/ib', it must be a DNS name"),
    ({OWN + "prefix": "a" * 250}, "it must be a DNS name in lower case, like rdma or rdma.example.org"),
    ({OWN + "prefix": "kubernetes.io"}, "prefix is 'kubernetes.io', which is reserved for Kubernetes: choose another"),
    ({OWN + "prefix": "node.kubernetes.io"}, "which is reserved for Kubernetes"),
    ({OWN + "prefix": "xkubernetes.io"}, "prefix is 'xkubernetes.io', which is reserved for Kubernetes"),
    ({OWN + "prefix": "requests.rdma"}, "which is reserved for Kubernetes"),
    ({OWN + "resource": "rdma-v100"}, "resource is 'rdma-v100', it must be at most 63 letters, digits and _"),
    ({OWN + "resource": "_v100"}, "with a letter or digit at both ends"),
    ({OWN + "resource": "r" * 64}, "it must be at most 63 letters"),
    ({"rdma_group": "v100_"}, "resource is not set and would be 'rdma_v100_', it must be at most 63 letters"),
    ({OWN + "max": 0}, "max is 0, it must be 1 to 10000"),
    ({OWN + "max": 10001}, "max is 10001, it must be 1 to 10000"),
    ({OWN + "max": "many"}, "max is 'many', it must be a whole number"),
    ({OWN + "update_interval": -1}, "update_interval is -1, it must be 0 to 86400 seconds"),
    ({OWN + "update_interval": 86401}, "it must be 0 to 86400 seconds"),
    ({OWN + "image": "ghcr.io/mellanox/plugin:v1"}, "it must be an image without scheme, tag or digest"),
    ({OWN + "version": "latest"}, "version is 'latest', it must be a version like"),
    ({OWN + "version": "1.5.2"}, "which is the digest of 1.5.3, not of 1.5.2"),
    ({OWN + "digest": "sha256:abc"}, "it must be sha256: and 64 hexadecimal digits"),
    ({OWN + "archive": "plugin.tar"}, "archive is 'plugin.tar', it must be an absolute path"),
    ({OWN + "archive": "/nowhere/plugin.tar"}, "which cannot be read"),
    ({OWN + "kubelet_root": "var/lib/kubelet"}, "kubelet_root is 'var/lib/kubelet', it must be an absolute path"),
    ({OWN + "max_unavailable": "0"}, "it must be a number of nodes or a percentage"),
    ({OWN + "pull_secrets": "one"}, "pull_secrets is 'one', it must be a list"),
    ({OWN + "namespace": "rdma", OWN + "parent_namespace": "rdma"}, "the same as rdma_shared_device_namespace"),
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
        (["case-in-pod"], "lab", "is shared_device, but mlx5_0 is in a pod, moved there by another driver"),
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
    assert any("is a software device, which the plugin cannot find" in text for text in found["warnings"])


def test_a_group_needs_facts_and_one_set_of_variables(facts_of: Facts) -> None:
    (line,) = plan(hosts_of({"one": None, "two": None}))["problems"]
    assert line.endswith("rdma_strategy is shared_device, but no node of the group has facts: run rdma_discover first")
    hosts = recorded(facts_of, "v100-01", "v100-02")
    hosts["v100-02"][OWN + "max"] = 10
    (line,) = plan(hosts)["problems"]
    assert "v100-02: rdma_shared_device_max is 10, but 63 on v100-01" in line


def test_groups_with_one_name_in_kubernetes(facts_of: Facts) -> None:
    hosts = {**recorded(facts_of, "v100-01", group="i_b"), **recorded(facts_of, "v100-02", group="I_B")}
    (line,) = plan(hosts)["problems"]
    assert "which has the same name in Kubernetes as" in line


def test_objects_of_a_recorded_group(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", "v100-02", group="v100")
    found = right(hosts)
    assert [(one["name"], one["namespace"]) for one in found["sets"]] == [
        ("zerocopy-rdma-shared-device", "kube-system")
    ]
    assert [item["kind"] for item in found["sets"][0]["objects"]] == ["ConfigMap", "DaemonSet"]
    (item,) = objects(found, "DaemonSet").values()
    pod = item["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert item["metadata"]["name"] == "rdma-shared-v100"
    assert container["image"].startswith("ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3@sha256:")
    assert "serviceAccountName" not in pod
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert configs(found) == {
        "v100": {
            "resourceName": "rdma_v100",
            "resourcePrefix": "rdma",
            "rdmaHcaMax": 63,
            "selectors": {"ifNames": ["ibp63s0", "ibp138s0"], "linkTypes": ["infiniband"]},
        }
    }
    assert found["labels"] == {host: {LABEL: "v100"} for host in hosts}
    (ask,) = found["asks"]["v100"]
    assert ask["limits"] == {"rdma/rdma_v100": 1}
    assert ask["hosts"] == {host: ["mlx5_0", "mlx5_1"] for host in hosts}
    assert not ask["moves"]
    shown = found["shows"]["v100-02"]
    assert shown == {
        "drivers": (),
        "resources": {"rdma/rdma_v100": 63},
        "daemon_sets": ("kube-system/rdma-shared-v100",),
    }


def test_the_plugin_restarts_with_its_configuration_and_only_then(facts_of: Facts) -> None:
    def annotation(**own: Any) -> str:
        (item,) = objects(right(recorded(facts_of, "v100-01", **own)), "DaemonSet").values()
        return str(item["spec"]["template"]["metadata"]["annotations"]["zerocopy.rdma/config"])

    assert annotation() == annotation(rdma_shared_device_max_unavailable="50%")
    assert annotation() != annotation(rdma_shared_device_max=10)


def test_an_imported_image_is_never_pulled(facts_of: Facts) -> None:
    (item,) = objects(right(recorded(facts_of, "v100-01", rdma_shared_device_digest="")), "DaemonSet").values()
    container = item["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], container["imagePullPolicy"]) == (
        "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3",
        "IfNotPresent",
    )
    own = recorded(facts_of, "v100-01", rdma_shared_device_archive="/images/plugin.tar")["v100-01"]
    (image,) = strategy({}, own)["images"]
    assert image == {"name": "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3", "archive": "/images/plugin.tar"}


@pytest.mark.parametrize("value", ["sriov", "inject", "shared", "None"])
def test_only_what_works_is_offered(facts_of: Facts, value: str) -> None:
    hosts = recorded(facts_of, "v100-01", rdma_strategy=value)
    (line,) = prepare_problems({}, list(hosts), hosts)
    assert line == f"v100-01: rdma_strategy is {value!r}, it must be dra or shared_device or host_device or none"


def test_a_netns_mode_that_the_plugin_ends_in_is_refused(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", rdma_kernel_netns_mode="exclusive")
    (line,) = prepare_problems({}, list(hosts), hosts)
    assert line.startswith("v100-01: rdma_kernel_netns_mode is 'exclusive', but rdma_strategy is shared_device, which")
    hosts = recorded(facts_of, "v100-01", rdma_kernel_netns_mode="shared")
    assert prepare_problems({}, list(hosts), hosts) == []


def test_sets_of_one_name_would_prune_each_other(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", rdma_shared_device_set="zerocopy-rdma-driver")
    (line,) = prepare_problems({}, list(hosts), hosts)
    assert "rdma_shared_device_set is 'zerocopy-rdma-driver', and so is rdma_driver_set" in line


def test_the_netns_mode_follows(facts_of: Facts) -> None:
    assert strategy({}, recorded(facts_of, "v100-01")["v100-01"])["netns_mode"] == "shared"


def test_the_pair_whose_live_port_differs(facts_of: Facts) -> None:
    """Both A100 nodes with the same names of netdevs, as the cards of equal machines have."""
    second = copy.deepcopy(facts_of("a100-02"))
    names = {"ib0": "ibp5s0", "ib1": "ibp133s0"}
    for hca in second["hcas"]:
        for port in hca["ports"]:
            if port["netdev"] and port["netdev"]["name"] in names:
                port["netdev"]["name"] = names[port["netdev"]["name"]]
    found = right(hosts_of({"a100-01": facts_of("a100-01"), "a100-02": second}, "a100"))
    own = {host: labels[LABEL] for host, labels in found["labels"].items()}
    assert own["a100-01"] != own["a100-02"]
    assert all(value.startswith("a100-") for value in own.values())
    of_label = configs(found)
    assert of_label[own["a100-01"]]["selectors"]["ifNames"] == ["ibp133s0"]
    assert of_label[own["a100-02"]]["selectors"]["ifNames"] == ["ibp5s0"]
    assert {entry["resourceName"] for entry in of_label.values()} == {"rdma_a100"}
    # With names that cannot be mistaken, one configuration is enough.
    assert set(configs(right(recorded(facts_of, "a100-01", "a100-02", group="a100")))) == {"a100"}


def test_an_hca_whose_other_port_is_the_nodes_own_is_left_out(facts_of: Facts) -> None:
    """A pod gets an HCA with all of its ports."""
    facts = copy.deepcopy(facts_of("case-two-ports"))
    (hca,) = [one for one in facts["hcas"] if len(one["ports"]) == 2]
    assert selectors.ports(read.facts(facts), []).hcas == [hca["name"]]
    facts["usable"] = [{"hca": hca["name"], "port": 1}]
    reason = {"code": "default_route", "text": "it carries the default route", "fields": {"netdev": "x"}}
    facts["excluded"] = [{"hca": hca["name"], "port": 2, "reasons": [reason]}]
    found = selectors.ports(read.facts(facts), [])
    assert found.hcas == []
    assert "would be shared with its port 2" in found.left_out[0]
    # A cable that is not there is no reason.
    reason.update(code="port_down", text="port state is DOWN", fields={"state": "DOWN"})
    assert selectors.ports(read.facts(facts), []).hcas == [hca["name"]]


def test_a_node_without_a_port_gets_no_plugin_and_stops_no_other(facts_of: Facts) -> None:
    found = right(recorded(facts_of, "v100-01", "case-nothing"))
    assert found["labels"] == {"v100-01": {LABEL: "ib"}, "case-nothing": {LABEL: None}}
    assert [list(ask["hosts"]) for ask in found["asks"]["ib"]] == [["v100-01"]]
    assert found["warnings"] == ["case-nothing: no ACTIVE port that pods can share, so the plugin does not run there"]
    assert set(found["shows"]) == {"v100-01"}


def test_a_node_without_facts_keeps_its_plugin(facts_of: Facts) -> None:
    found = right(hosts_of({"v100-01": facts_of("v100-01"), "away": None}))
    assert found["labels"] == {"v100-01": {LABEL: "ib"}}
    assert found["warnings"] == ["away: no facts, so the plugin is left unchanged there"]


def test_hosts_of_other_strategies_lose_the_label(facts_of: Facts) -> None:
    hosts = {**recorded(facts_of, "v100-01"), **recorded(facts_of, "h100-01", group="h100", rdma_strategy="dra")}
    assert plan(hosts)["labels"] == {"v100-01": {LABEL: "ib"}, "h100-01": {LABEL: None}}
    served = {"h100-01": {LABEL: "h100"}}
    (line,) = strategies({}, list(hosts), hosts, served)["problems"]
    assert line.startswith("h100-01: rdma_strategy is 'dra', but shared_device still serves this node")


def plugin(facts: Dict[str, Any], wanted: Dict[str, List[str]]) -> Set[str]:
    """The HCAs that k8s-rdma-shared-dev-plugin 1.5.3 offers on a node with these selectors, by its own rules."""
    found = set()
    for hca in facts["hcas"]:
        if hca["pci"] is None or hca["software"]:
            continue
        netdevs = sorted(
            port["netdev"]["name"] for port in hca["ports"] if port["netdev"] and port["netdev"]["present"]
        )
        layers = {port["link_layer"] for port in hca["ports"]}
        kinds = {"InfiniBand": "infiniband", "Ethernet": "ether"}
        seen = {
            "ifNames": netdevs[0] if netdevs else "",
            "linkTypes": kinds.get(next(iter(layers)), "") if netdevs else "",
            "vendors": hca["pci"]["vendor_id"],
            "deviceIDs": hca["pci"]["device_id"],
        }
        if all(seen[kind] in values for kind, values in wanted.items()):
            found.add(hca["name"])
    return found


NODES = [
    "v100-01",
    "v100-02",
    "a100-01",
    "a100-02",
    "h100-01",
    "h100-02",
    "h100-03",
    "lab-01",
    "lab-02",
    "case-two-ports",
]
NODES += ["case-vf", "case-h100-roce", "case-b200", "case-default-route"]


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
        if chance.random() < 0.3:
            for port in (port for hca in own["hcas"] for port in hca["ports"]):
                port["netdev"] = None if port["link_layer"] == "InfiniBand" else port["netdev"]
        facts[f"node-{place}"] = own
    found = plan(hosts_of(facts))
    of_label = configs(found) if not found["problems"] else {}
    for host, known in facts.items():
        own = known or {}
        label = (found["labels"].get(host) or {}).get(LABEL) if of_label else None
        got = plugin(own, of_label[label]["selectors"]) if label else set()
        active = {entry["hca"] for entry in own["usable"]}
        assert got <= active
        # And none is forgotten that can be shared.
        expected = set(selectors.ports(read.facts(own), []).hcas)
        assert got == (expected if label else set())


def node(name: str, **resources: Any) -> Dict[str, Any]:
    """A live node; a number is both capacity and allocatable, a pair is one of each."""
    pairs = {f"rdma/{key}": value if isinstance(value, tuple) else (value, value) for key, value in resources.items()}
    status = {
        kind: {key: str(pair[place]) for key, pair in pairs.items()}
        for place, kind in enumerate(("capacity", "allocatable"))
    }
    return {"metadata": {"name": name}, "status": status}


def daemon_set(name: str, desired: int, ready: int) -> Dict[str, Any]:
    status = {"desiredNumberScheduled": desired, "numberReady": ready, "updatedNumberScheduled": desired}
    meta = {"name": name, "namespace": "kube-system", "generation": 2}
    return {"metadata": meta, "status": {**status, "observedGeneration": 2}}


def verdicts(facts_of: Facts, nodes: List[Dict[str, Any]], sets: List[Dict[str, Any]]) -> Dict[str, str]:
    hosts = {
        **recorded(facts_of, "v100-01", "v100-02", group="v100"),
        **recorded(facts_of, "a100-01", group="a100"),
        **recorded(facts_of, "h100-01", group="h100", rdma_strategy="dra"),
    }
    found = strategy_verdicts({}, list(hosts), hosts, nodes, sets)["checks"]
    return {f"{check['host'] or ''} {check['subject']}": check["verdict"] for check in found}


def test_what_verify_says_of_a_fleet_that_is_right(facts_of: Facts) -> None:
    nodes = [
        node("v100-01", rdma_v100=63),
        node("v100-02", rdma_v100=63),
        node("a100-01", rdma_a100=63),
        node("h100-01"),
    ]
    sets = [daemon_set("rdma-shared-v100", 2, 2), daemon_set("rdma-shared-a100", 1, 1)]
    found = verdicts(facts_of, nodes, sets)
    assert found == {
        " kube-system/rdma-shared-v100": "pass",
        " kube-system/rdma-shared-a100": "pass",
        "v100-01 rdma/rdma_v100": "pass",
        "v100-02 rdma/rdma_v100": "pass",
        "a100-01 rdma/rdma_a100": "pass",
    }


def test_what_verify_says_of_faults(facts_of: Facts) -> None:
    nodes = [
        node("v100-01", rdma_v100=(63, 0)),
        node("v100-02", rdma_v100=63, rdma_a100=(63, 0)),
        node("a100-01", rdma_a100=63, rdma_v100=63),
        node("h100-01", rdma_v100=63),
    ]
    found = verdicts(facts_of, nodes, [daemon_set("rdma-shared-v100", 2, 1)])
    assert found == {
        " kube-system/rdma-shared-v100": "fail",
        " kube-system/rdma-shared-a100": "fail",
        "v100-01 rdma/rdma_v100": "fail",
        "v100-02 rdma/rdma_v100": "pass",
        "v100-02 rdma/rdma_a100": "warn",
        "a100-01 rdma/rdma_a100": "pass",
        "a100-01 rdma/rdma_v100": "fail",
        "h100-01 rdma/rdma_v100": "fail",
    }


@pytest.mark.parametrize(
    ("changed", "verdict", "said"),
    [
        ({}, "pass", "the 1 pods of DaemonSet kube-system/rdma-shared-v100 are ready"),
        ({"desiredNumberScheduled": 2}, "fail", "selects 2 nodes, but the inventory has 1"),
        ({"observedGeneration": 1}, "fail", "nobody has looked at DaemonSet"),
        ({"updatedNumberScheduled": None}, "warn", "of the 1 pods of DaemonSet .* 0 have its present configuration"),
        ({"numberReady": None}, "fail", "of the 1 pods of DaemonSet .* 0 are ready"),
    ],
)
def test_what_verify_says_of_a_daemon_set(facts_of: Facts, changed: Dict[str, Any], verdict: str, said: str) -> None:
    hosts = recorded(facts_of, "v100-01", group="v100")
    item = daemon_set("rdma-shared-v100", 1, 1)
    item["status"].update(changed)
    found = strategy_verdicts({}, list(hosts), hosts, [node("v100-01", rdma_v100=63)], [item])["checks"]
    (check,) = [check for check in found if check["id"] == "cluster.plugin"]
    assert check["verdict"] == verdict
    assert re.search(said, check["text"])


def test_a_node_that_is_not_in_the_cluster(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", group="v100")
    (check,) = strategy_verdicts({}, list(hosts), hosts, [], [daemon_set("rdma-shared-v100", 1, 1)])["checks"][1:]
    assert (check["host"], check["verdict"]) == ("v100-01", "fail")
    assert check["text"] == "the cluster has no node of this name"


def test_what_nodes_must_not_have(facts_of: Facts) -> None:
    hosts = {
        **recorded(facts_of, "v100-01", "case-nothing", group="v100"),
        **hosts_of({"away": None}, "v100"),
        **recorded(facts_of, "a100-01", group="a100", rdma_shared_device_prefix="example.org"),
        # A group that has left it, and one whose variables make no name.
        **recorded(facts_of, "h100-01", group="h100", rdma_strategy="none"),
        **recorded(facts_of, "lab-01", group="lab", rdma_strategy="none", rdma_shared_device_resource="no-name"),
    }
    names = ["rdma/rdma_v100", "example.org/rdma_a100", "rdma/rdma_h100"]
    assert strategies({}, list(hosts), hosts)["resources"]["shared_device"] == names
    found = right(hosts)
    # Of a host without facts nothing is known. A node without a port has no plugin, and so no resource.
    assert found["leaves"] == {
        "v100-01": names[1:],
        "case-nothing": names,
        "a100-01": [names[0], names[2]],
        "h100-01": names,
        "lab-01": names,
    }
    left = node("h100-01", rdma_h100=(63, 0))
    checks = strategy_verdicts({}, list(hosts), hosts, [left], [])["checks"]
    (check,) = [check for check in checks if check["host"] == "h100-01"]
    assert (check["subject"], check["verdict"], check["mend"]) == ("rdma/rdma_h100", "warn", "provision")


def test_a_fleet_that_never_shared_has_nothing_to_lose(facts_of: Facts) -> None:
    """The names are looked for all the same, since a run that was interrupted leaves no other trace."""
    hosts = recorded(facts_of, "v100-01", group="v100", rdma_strategy="dra")
    assert plan(hosts)["leaves"] == {"v100-01": ["rdma/rdma_v100"]}
