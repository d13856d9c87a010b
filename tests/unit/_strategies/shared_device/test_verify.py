# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What verify makes of a cluster with the strategy shared_device, and what nodes must not have."""

from __future__ import annotations

import re
from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import strategy_checks
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    SHARED_DEVICE,
    Facts,
    daemon_set,
    node,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies

hosts_of, recorded = SHARED_DEVICE.hosts_of, SHARED_DEVICE.recorded
plan, right = SHARED_DEVICE.plan, SHARED_DEVICE.right


def verdicts(facts_of: Facts, nodes: List[Dict[str, Any]], sets: List[Dict[str, Any]]) -> Dict[str, str]:
    hosts = {
        **recorded(facts_of, "v100-01", "v100-02", group="v100"),
        **recorded(facts_of, "a100-01", group="a100"),
        **recorded(facts_of, "h100-01", group="h100", rdma_strategy="dra"),
    }
    found = strategy_checks(hosts, nodes, sets)
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
        ({}, "pass", "DaemonSet kube-system/rdma-shared-v100 has 1 of 1 pod ready"),
        ({"desiredNumberScheduled": 2}, "fail", "selects 2 nodes, but the inventory has 1"),
        ({"observedGeneration": 1}, "fail", "its controller has not seen the change yet"),
        ({"updatedNumberScheduled": None}, "warn", "DaemonSet .* has 0 of 1 pod with its current configuration"),
        ({"numberReady": None}, "fail", "DaemonSet .* has 0 of 1 pod ready"),
    ],
)
def test_what_verify_says_of_a_daemon_set(facts_of: Facts, changed: Dict[str, Any], verdict: str, said: str) -> None:
    hosts = recorded(facts_of, "v100-01", group="v100")
    item = daemon_set("rdma-shared-v100", 1, 1)
    item["status"].update(changed)
    found = strategy_checks(hosts, [node("v100-01", rdma_v100=63)], [item])
    (check,) = [check for check in found if check["id"] == "cluster.plugin"]
    assert check["verdict"] == verdict
    assert re.search(said, check["text"])


@pytest.mark.parametrize(
    ("sets", "verdicts", "said"),
    [
        ([], ["fail"], "no DaemonSet belongs to a NicClusterPolicy or NicNodePolicy"),
        (
            [("rdma-shared-dp-ds", 3, 3, "NicNodePolicy")],
            ["pass"],
            "DaemonSet kube-system/rdma-shared-dp-ds has 3 of 3 pods ready",
        ),
        (
            [("rdma-shared-dp-ds", 3, 2, "NicNodePolicy")],
            ["fail"],
            "DaemonSet kube-system/rdma-shared-dp-ds has 2 of 3 pods ready",
        ),
        (
            [("multus", 3, 2, "NicClusterPolicy"), ("dp", 3, 3, "NicNodePolicy"), ("theirs", 3, 0, "Else")],
            ["fail", "pass"],
            "DaemonSet kube-system/multus has 2 of 3 pods ready",
        ),
    ],
)
def test_what_verify_says_of_an_operators_daemon_sets(
    facts_of: Facts, sets: List[Any], verdicts: List[str], said: str
) -> None:
    """They are known by their owners only."""
    hosts = recorded(facts_of, "v100-01", group="v100", rdma_shared_device_provider="network_operator")
    every = []
    for name, desired, ready, owner in sets:
        item = daemon_set(name, desired, ready)
        item["metadata"]["ownerReferences"] = [{"kind": owner, "name": "rdma-shared-v100"}]
        every.append(item)
    checks = strategy_checks(hosts, [node("v100-01", rdma_v100=63)], every)
    found = [check for check in checks if check["id"] == "cluster.plugin"]
    assert [check["verdict"] for check in found] == verdicts
    assert found[0]["text"].startswith(said)


KERNEL = "feature.node.kubernetes.io/kernel-version.full"
ACCOUNT = {"key": "example.org/account", "value": "a", "effect": "NoSchedule"}


def driver(kernel: str = "6.8.0-1", owner: str = "NicClusterPolicy", **tolerations: Any) -> Dict[str, Any]:
    """A DaemonSet of the operator's OFED driver."""
    found = daemon_set("mofed-ubuntu24.04-7b8c-ds", 1, 0, "nvidia-network-operator")
    found["metadata"]["labels"] = {"nvidia.com/ofed-driver": ""}
    found["metadata"]["ownerReferences"] = [{"kind": owner, "name": "nic-cluster-policy"}]
    spec = {"nodeSelector": {KERNEL: kernel}, "tolerations": [tolerations] if tolerations else []}
    found["spec"] = {"template": {"spec": spec}}
    return found


@pytest.mark.parametrize(
    ("waits", "taints", "sets", "verdict", "said", "remedy"),
    [
        ("false", [], [], None, "", ""),
        ("false", [ACCOUNT], [driver()], "pass", "does not wait", ""),
        (None, [], [], "fail", "the node has no label network.nvidia.com/operator.mofed.wait", "Node Feature"),
        ("true", [], [], "fail", "the cluster has no DaemonSet of this driver$", "to false where no driver"),
        (
            "true",
            [],
            [driver("6.8.0-9")],
            "fail",
            "selects the node: its kernel is 6.8.0-1 .*, and the DaemonSets are for 6.8.0-9$",
            "for each kernel",
        ),
        (
            "true",
            [ACCOUNT, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
            [driver()],
            "fail",
            "DaemonSet nvidia-network-operator/mofed-ubuntu24.04-7b8c-ds does not tolerate the taint"
            " example.org/account=a:NoSchedule of the node$",
            "spec.tolerations of NicClusterPolicy nic-cluster-policy",
        ),
        ("true", [ACCOUNT], [driver(key="example.org/account", value="b")], "fail", "does not tolerate", "tolerations"),
        (
            "true",
            [ACCOUNT],
            [driver(key="example.org/account", effect="NoExecute", operator="Exists")],
            "fail",
            "taint",
            "",
        ),
        ("true", [ACCOUNT], [driver(key="example.org/account", value="a")], "fail", "is not ready", "log of this pod"),
        ("true", [ACCOUNT], [driver(operator="Exists")], "fail", "is not ready", "log of this pod"),
        ("true", [{**ACCOUNT, "effect": "PreferNoSchedule"}], [driver()], "fail", "is not ready", "log of this pod"),
    ],
)
def test_why_an_operator_keeps_its_plugin_off_a_node(
    facts_of: Facts, waits: Any, taints: List[Any], sets: List[Any], verdict: Any, said: str, remedy: str
) -> None:
    own = {"rdma_shared_device_provider": "network_operator"}
    hosts = recorded(facts_of, "v100-01", group="v100", **own)
    item = node("v100-01", rdma_v100=63)
    item["metadata"]["labels"] = {KERNEL: "6.8.0-1"}
    if waits:
        item["metadata"]["labels"]["network.nvidia.com/operator.mofed.wait"] = waits
    item["spec"] = {"taints": taints}
    found = strategy_checks(hosts, [item], sets)
    checks = [check for check in found if check["id"] == "cluster.ofed"]
    assert [check["verdict"] for check in checks] == ([verdict] if verdict else [])
    for check in checks:
        assert re.search(said, check["text"])
        assert remedy in check["remedy"]


def test_the_operators_driver_is_of_no_concern_to_our_own_plugin(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", group="v100")
    item = node("v100-01", rdma_v100=63)
    item["metadata"]["labels"] = {"network.nvidia.com/operator.mofed.wait": "true"}
    found = strategy_checks(hosts, [item], [driver()])
    assert [check for check in found if check["id"] == "cluster.ofed"] == []


def test_a_node_that_is_not_in_the_cluster(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "v100-01", group="v100")
    (check,) = strategy_checks(hosts, [], [daemon_set("rdma-shared-v100", 1, 1)])[1:]
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
    assert found["leftovers"] == {
        "v100-01": names[1:],
        "case-nothing": names,
        "a100-01": [names[0], names[2]],
        "h100-01": names,
        "lab-01": names,
    }
    left = node("h100-01", rdma_h100=(63, 0))
    checks = strategy_checks(hosts, [left], [])
    (check,) = [check for check in checks if check["host"] == "h100-01"]
    assert (check["subject"], check["verdict"], check["mend"]) == ("rdma/rdma_h100", "warn", "provision")


def test_a_fleet_that_never_shared_has_nothing_to_lose(facts_of: Facts) -> None:
    """The names are looked for all the same, since a run that was interrupted leaves no other trace."""
    hosts = recorded(facts_of, "v100-01", group="v100", rdma_strategy="dra")
    assert plan(hosts)["leftovers"] == {"v100-01": ["rdma/rdma_v100"]}
