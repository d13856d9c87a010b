# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Plans of the strategies with a device plugin for tests, and what a cluster shows of them."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass
from typing import Any, Callable, Mapping

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan

Facts = Callable[..., dict[str, Any]]
Hosts = dict[str, dict[str, Any]]
NODES = ["v100-01", "v100-02", "a100-01", "a100-02", "h100-01", "h100-02", "h100-03", "lab-01", "lab-02"]
NODES += ["case-two-ports", "case-vf", "case-h100-roce", "case-b200", "case-default-route"]


@dataclass(frozen=True)
class PluginFleet:
    """Fleets of one strategy; ``needed`` are the variables that it cannot do without.

    ``name`` is that of the strategy where this is another word for it.
    """

    strategy: str
    label: str
    needed: Mapping[str, Any]
    name: str = ""

    def hosts_of(self, facts: Mapping[str, dict[str, Any] | None], group: str = "ib", **own: Any) -> Hosts:
        """Hosts with these facts, all of one group."""
        return {
            host: {
                "rdma_strategy": self.strategy,
                **self.needed,
                **own,
                "inventory_hostname": host,
                "group_names": [group],
                "ansible_facts": {"rdma": of_host} if of_host else {},
            }
            for host, of_host in facts.items()
        }

    def recorded(self, facts_of: Facts, *names: str, group: str = "ib", **own: Any) -> Hosts:
        return self.hosts_of({name: facts_of(name) for name in names}, group, **own)

    def plan(self, hosts: Hosts, **cluster: Any) -> dict[str, Any]:
        return strategy_plan({}, list(hosts), hosts, self.name or self.strategy, **cluster)

    def right(self, hosts: Hosts, **cluster: Any) -> dict[str, Any]:
        found = self.plan(hosts, **cluster)
        assert found["problems"] == []
        return found

    def configs(self, found: dict[str, Any]) -> dict[str, Any]:
        """The file that the plugin reads, by the value of the label of its nodes."""
        sets = objects(found, "DaemonSet")
        return {
            sets[name]["spec"]["template"]["spec"]["nodeSelector"][self.label]: json.loads(item["data"]["config.json"])
            for name, item in objects(found, "ConfigMap").items()
            if "config.json" in item["data"]
        }


SHARED_DEVICE = PluginFleet("shared_device", "zerocopy.rdma.node-restriction.kubernetes.io/shared-device", {})
HOST_DEVICE = PluginFleet(
    "host_device",
    "zerocopy.rdma.node-restriction.kubernetes.io/host-device",
    {"rdma_host_device_networks": ["10.90.0.0/24"]},
)
FLEETS = pytest.mark.parametrize("fleet", [SHARED_DEVICE, HOST_DEVICE], ids=lambda fleet: fleet.strategy)
SRIOV = PluginFleet("sriov", HOST_DEVICE.label, HOST_DEVICE.needed, "host_device")
# By who runs the plugin instead of us, and the kinds in which they are told.
OPERATED = {
    "shared_device": {"rdma_shared_device_provider": "network_operator"},
    "host_device": {"rdma_host_device_provider": "network_operator", "rdma_host_device_prefix": "nvidia.com"},
    "sriov": {"rdma_host_device_provider": "sriov_operator", "rdma_host_device_prefix": "openshift.io"},
}
POLICIES = ("NicNodePolicy", "SriovNetworkNodePolicy")
RAILS = {"rdma_host_device_networks": ["10.90.0.0/24", "10.90.1.0/24"]}


def objects(found: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    items = [item for one in found["sets"] for item in one["objects"] if item["kind"] == kind]
    return {item["metadata"]["name"]: item for item in items}


def cluster(fleet: PluginFleet, hosts: dict[str, Any]) -> dict[str, Any]:
    """What a cluster says when provision has run with these hosts."""
    found = fleet.right(hosts)
    labels = {host: {name: value for name, value in own.items() if value} for host, own in found["labels"].items()}
    policies = [item for kind in POLICIES for item in objects(found, kind).values()]
    every = [{**item, "metadata": {**item["metadata"], "set": "applyset-x-v1"}} for item in policies]
    daemon_sets = list(objects(found, "DaemonSet").values())
    return {"nodes": labels, "daemon_sets": daemon_sets, **({"objects": every} if every else {})}


def shared(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What pods share, by the value of the label of the nodes."""
    every = {}
    for label, config in SHARED_DEVICE.configs(found).items():
        (every[label],) = config["configList"]
    return every


def pools(found: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
    """The PCI addresses of each resource of whole NICs, by the value of the label of the nodes."""
    return {
        label: {pool["resourceName"]: pool["selectors"]["pciAddresses"] for pool in config["resourceList"]}
        for label, config in HOST_DEVICE.configs(found).items()
    }


def unplug(facts: dict[str, Any], entry: dict[str, Any]) -> None:
    """Make a usable port one that is DOWN."""
    facts["usable"].remove(entry)
    reason = {"code": "port_down", "text": "port state is DOWN", "fields": {"state": "DOWN"}}
    facts["excluded"].append({**entry, "reasons": [reason]})


def moved(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a node whose NICs have other names and sit in other slots."""
    own = copy.deepcopy(facts)
    for hca in own["hcas"]:
        if hca["pci"]:
            hca["pci"]["address"] = f"00ff{hca['pci']['address'][4:]}"
        for port in (port for port in hca["ports"] if port["netdev"]):
            port["netdev"]["name"] += "x"
    return own


def unplugged(facts: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Facts where some of the usable ports are DOWN."""
    own = copy.deepcopy(facts)
    for entry in list(own["usable"]):
        if chance.random() < 0.3:
            unplug(own, entry)
    return own


def mixed(facts_of: Facts, chance: random.Random) -> dict[str, dict[str, Any]]:
    """Facts of three recorded nodes, some of whose usable ports are DOWN."""
    return {f"node-{place}": unplugged(facts_of(name), chance) for place, name in enumerate(chance.sample(NODES, 3))}


def wrong_names(own: str, start: str, longest: int) -> list[tuple[dict[str, Any], str]]:
    """What is refused of the name of an extended resource; ``own`` is the prefix of the role's variables."""
    reserved = "which is reserved for Kubernetes"
    most = f"it must be at most {longest} letters"
    return [
        ({own + "prefix": "RDMA"}, "prefix is 'RDMA', it must be a DNS name"),
        ({own + "prefix": "rdma/ib"}, "prefix is 'rdma/ib', it must be a DNS name"),
        ({own + "prefix": "a" * 250}, "it must be a DNS name in lower case, like rdma or rdma.example.org"),
        ({own + "prefix": "kubernetes.io"}, f"prefix is 'kubernetes.io', {reserved}: choose another"),
        ({own + "prefix": "node.kubernetes.io"}, reserved),
        ({own + "prefix": "xkubernetes.io"}, f"prefix is 'xkubernetes.io', {reserved}"),
        ({own + "prefix": "requests.rdma"}, reserved),
        ({own + "resource": "rdma-v100"}, f"resource is 'rdma-v100', {most}, digits and _"),
        ({own + "resource": "_v100"}, "with a letter or digit at both ends"),
        ({own + "resource": "r" * (longest + 1)}, most),
        ({"rdma_group": "v100_"}, f"resource is not set and would be '{start}v100_', {most}"),
    ]


def node(name: str, **resources: Any) -> dict[str, Any]:
    """A live node; a number is both capacity and allocatable, a pair is one of each."""
    pairs = {f"rdma/{key}": value if isinstance(value, tuple) else (value, value) for key, value in resources.items()}
    status = {
        kind: {key: str(pair[place]) for key, pair in pairs.items()}
        for place, kind in enumerate(("capacity", "allocatable"))
    }
    return {"metadata": {"name": name}, "status": status}


def daemon_set(name: str, desired: int, ready: int, namespace: str = "kube-system") -> dict[str, Any]:
    status = {"desiredNumberScheduled": desired, "numberReady": ready, "updatedNumberScheduled": desired}
    meta = {"name": name, "namespace": namespace, "generation": 2}
    spec = {"template": {"metadata": {"labels": {"app.kubernetes.io/name": name}}, "spec": {}}}
    return {"kind": "DaemonSet", "metadata": meta, "spec": spec, "status": {**status, "observedGeneration": 2}}
