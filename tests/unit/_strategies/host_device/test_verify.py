# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What verify makes of a cluster with the strategy host_device, and what nodes must not have."""

from __future__ import annotations

import copy
from typing import Any, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import usage
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import strategy_checks
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    RAILS,
    Facts,
    daemon_set,
    node,
    unplug,
)

OWN = "rdma_host_device_"
plan, recorded = HOST_DEVICE.plan, HOST_DEVICE.recorded


def test_what_nodes_must_not_have(facts_of: Facts) -> None:
    hosts = {
        **recorded(facts_of, "v100-01", "v100-02", group="v100", **RAILS),
        **recorded(facts_of, "a100-01", group="a100"),
        # A group that has left it together with its networks.
        **recorded(facts_of, "h100-01", group="h100", rdma_strategy="none", rdma_links_rails=2),
    }
    del hosts["h100-01"][OWN + "networks"]
    facts = copy.deepcopy(facts_of("v100-02"))
    unplug(facts, facts["usable"][0])
    hosts["v100-02"]["ansible_facts"] = {"rdma": facts}
    leftovers = plan(hosts)["leftovers"]
    # A group may have had VFs before, and as many rails as a node has NICs.
    nics = max(len(values["ansible_facts"]["rdma"]["hcas"]) for values in hosts.values())
    names = [f"{kind}_{group}" for kind in ("hostdev", "sriov") for group in ("v100", "a100", "h100")]
    every = {f"rdma/{name}{rail}" for name in names for rail in ("", *(f"_rail{number}" for number in range(nics)))}
    assert {host: set(names) for host, names in leftovers.items()} == {
        "v100-01": every - {"rdma/hostdev_v100_rail0", "rdma/hostdev_v100_rail1"},
        "v100-02": every - {"rdma/hostdev_v100_rail1"},
        "a100-01": every - {"rdma/hostdev_a100"},
        "h100-01": every,
    }


def test_what_verify_says(facts_of: Facts) -> None:
    hosts = {
        **recorded(facts_of, "v100-01", "v100-02", group="v100"),
        **recorded(facts_of, "h100-01", group="h100", rdma_strategy="dra"),
    }
    nodes = [node("v100-01", hostdev_v100=2), node("v100-02", hostdev_v100=4), node("h100-01", hostdev_v100=1)]
    sets = [daemon_set("rdma-nics-v100", 2, 2), daemon_set("rdma-multus", 2, 1)]
    found = strategy_checks(hosts, nodes, sets)
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
        ("[" * 100000, [("own", "[" * 100000)]),
    ],
)
def test_networks_that_a_pod_names(text: Optional[str], expected: List[Any]) -> None:
    annotations = {"k8s.v1.cni.cncf.io/networks": text} if text else None
    pod = {"metadata": {"name": "pod", "namespace": "own", "annotations": annotations}}
    assert list(usage.networks_of(pod)) == expected
