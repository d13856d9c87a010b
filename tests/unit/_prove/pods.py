# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Plans of two equal nodes for tests of the pod ring, what their pods say, and what is made of it.

A pod's log is composed here of the facts of a recorded (synthesised) node, in the form of probe.sh.
"""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import bandwidth
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, predict
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan, written

PAIRED = {"name": "h100-2gpu-2nic", "gpus": 2, "nics": 2}
# Two nodes like this one, where GPUs and NICs share root complexes.
KIND = "h100-03"
HOSTS = ("n1", "n2")
BANDWIDTH = """
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    17000            0.00               {value}             0.005
"""
# Server and client have one output.
LOOPBACK = """
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    136000           0.00               {value}             0.040
 1048576    136000           0.00               {value}             0.040
"""


def plan(facts_of: Callable[..., Any], entries: list[dict[str, Any]], **own: Any) -> dict[str, Any]:
    """The plan of all strategies for two equal nodes of a group."""
    variables = {
        host: {
            "inventory_hostname": host,
            "group_names": ["h100"],
            "ansible_facts": {"rdma": facts_of(KIND)},
            "rdma_claims_templates": entries,
            **own,
        }
        for host in HOSTS
    }
    found = strategy_plan({}, list(HOSTS), variables)
    assert not found["problems"]
    return found


def shared(facts_of: Callable[..., Any]) -> dict[str, Any]:
    return plan(facts_of, [], rdma_strategy="shared_device")


def planned(found: dict[str, Any], **options: Any) -> list[list[dict[str, Any]]]:
    """The waves as tasks have them."""
    every: list[list[dict[str, Any]]] = part("pods_plan", {}, plan=written(found), **options)["waves"]
    return every


def waves(found: dict[str, Any], **options: Any) -> list[list[pod_plan.PlannedPod]]:
    return [[pod_plan.pod_of(pod) for pod in wave] for wave in planned(found, **options)]


def asking(wave: list[pod_plan.PlannedPod]) -> list[pod_plan.PlannedPod]:
    return [pod for pod in wave if pod.alias != pod_plan.NOTHING]


def log(facts: dict[str, Any], hcas: list[str], measured: float | None = None, moves: bool = True) -> str:
    """What a pod with these HCAs of the node says, with their netdevs where these move."""
    mine = [hca for hca in facts["hcas"] if hca["name"] in hcas]
    lines = ["==> limits", "Max locked memory         unlimited            unlimited            bytes", "==> nodes"]
    lines += ["rdma_cm", *(hca["uverbs"]["name"] for hca in mine)]
    lines += ["==> opens", *(hca["uverbs"]["name"] for hca in mine)]
    lines += ["==> verbs", *(f"{hca['uverbs']['name']} {hca['name']}" for hca in facts["hcas"])]
    lines += ["==> ports"]
    lines += [f"{hca['name']} {port['number']} {port['link_layer']} 4: ACTIVE" for hca in mine for port in hca["ports"]]
    lines += ["==> pkeys"]
    lines += [f"{hca['name']} {port['number']} {key}" for hca in mine for port in hca["ports"] for key in port["pkeys"]]
    netdevs = [port["netdev"] for hca in mine for port in hca["ports"] if port["netdev"] and moves]
    lines += ["==> netdevs", "eth0 02:00:00:00:00:01 1500 1"]
    lines += [f"{one['name']} {one['mac']} {one['mtu']} 1" for one in netdevs]
    lines += ["==> addresses", "1: eth0    inet 10.244.0.7/24 brd 10.244.0.255 scope global eth0"]
    lines += [f"2: {one['name']}    inet {a} scope global x" for one in netdevs for a in one["addresses"]]
    if measured is not None:
        for name in hcas:
            lines += [f"==> write_bw {name} 1", BANDWIDTH.format(value=measured)]
        for name in hcas:
            lines += [f"==> loopback {name} 1", LOOPBACK.format(value=measured)]
    return "\n".join([*lines, "==> end", ""])


@pytest.fixture(name="pods")
def make_pods(facts_of: Callable[..., Any]) -> list[dict[str, Any]]:
    """Two pods of one template as pod_probe would return them, everything as it should be."""
    found = plan(facts_of, [PAIRED])
    result = []
    for pod in asking(waves(found)[0]):
        facts = facts_of(KIND)
        devices = predict.predicted(pod.node, read.facts(facts), (1, 4, 0), (1, 0, 4, 1))
        # A GPU of each of two root complexes, with a NIC of the same.
        allocation, names = [], []
        gpus = {str(one.attributes[model.PCIE_ROOT]): one for one in devices if one.is_gpu}
        for index, (root, gpu) in enumerate(list(gpus.items())[:2]):
            nic = next(one for one in devices if one.is_rdma_nic and one.attributes[model.PCIE_ROOT] == root)
            names.append(next(hca["name"] for hca in facts["hcas"] if hca["pci"]["address"] == nic.pci))
            for request, device in ((f"gpu-{index}", gpu), (f"nic-{index}", nic)):
                entry = {"request": request, "driver": device.driver, "pool": pod.node, "device": device.name}
                allocation.append(entry)
        output = log(facts, names, 371.5)
        ran = {"phase": "Succeeded", "trouble": "", "seconds": 7.0, "allocation": allocation, "output": output}
        result.append({**pod_plan.plain(pod), "result": {"name": pod.name, **ran}})
    return result


@pytest.fixture(name="judged")
def make_judged(facts_of: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    def judge(pods: list[dict[str, Any]], plan_of: Any = None, **changed: Any) -> dict[str, Any]:
        found = plan_of or plan(facts_of, [PAIRED])
        before = {name: facts_of(KIND) for name in HOSTS}
        devices = [
            one for name in HOSTS for one in predict.predicted(name, read.facts(before[name]), (1, 4, 0), (1, 0, 4, 1))
        ]
        facts = {"before": before, "after": copy.deepcopy(before), **changed}
        hostvars = {
            name: {
                "__rdma_verify_before": facts["before"].get(name),
                "__rdma_verify_after": {"ansible_facts": {"rdma": facts["after"].get(name)}},
                **changed.get("hostvars", {}).get(name, {}),
            }
            for name in HOSTS
        }
        wave = {"item": pods, "pods": [one["result"] for one in pods], "in_use": changed.get("in_use", {})}
        return part("pods", hostvars, plan=written(found), slices=resource_slices(devices), probed=[wave])

    return judge


def pairs(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The measurements between pods."""
    return [one for one in found["bandwidth"] if one["test"] == bandwidth.BETWEEN]


def between(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["from"]["host"], one["to"]["host"]) for one in pairs(found)]


def failed(found: dict[str, Any]) -> dict[str, str]:
    return {check["id"]: check["text"] for check in found["checks"] if check["verdict"] not in ("pass",)}
