# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whether the SR-IOV operator has configured the nodes, by what it says and by its DaemonSets."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import strategy_checks
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    Facts,
    daemon_set,
    node,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.host_device.sriov_operated import PLACE, lab


def state(host: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": host, "namespace": PLACE}, "status": status}


@pytest.mark.parametrize(
    ("there", "verdict", "text"),
    [
        ([state("lab-01", syncStatus="Succeeded")], "pass", "has configured the node"),
        ([state("lab-01", syncStatus="InProgress")], "warn", "is still configuring the node"),
        ([state("lab-01", syncStatus="Failed", lastSyncError="no PF")], "fail", "reports Failed for the node: no PF"),
        ([state("lab-01")], "fail", "reports nothing for the node"),
        ([], "fail", f"there is no SriovNetworkNodeState {PLACE}/lab-01"),
    ],
)
def test_what_the_operator_says_of_a_node_is_judged(facts_of: Facts, there: Any, verdict: str, text: str) -> None:
    hosts = {"lab-01": lab(facts_of)["lab-01"]}
    # Its DaemonSets are on further nodes, too.
    sets = [daemon_set(name, 3, 3) for name in ("sriov-device-plugin", "sriov-network-config-daemon")]
    for item in sets:
        item["metadata"]["namespace"] = PLACE
    checks = strategy_checks(hosts, [node("lab-01")], sets, there)
    (found,) = [check for check in checks if check["id"] == "cluster.state"]
    assert (found["host"], found["verdict"]) == ("lab-01", verdict)
    assert text in found["text"]
    plugins = {check["subject"]: check["verdict"] for check in checks if check["id"] == "cluster.plugin"}
    assert {name: plugins[f"{PLACE}/{name}"] for name in ("sriov-device-plugin", "sriov-network-config-daemon")} == {
        "sriov-device-plugin": "pass",
        "sriov-network-config-daemon": "pass",
    }


def test_the_operators_daemon_has_to_be_on_all_nodes(facts_of: Facts) -> None:
    hosts = lab(facts_of)
    item = daemon_set("sriov-network-config-daemon", 1, 1)
    item["metadata"]["namespace"] = PLACE
    checks = strategy_checks(hosts, [node("lab-01"), node("lab-02")], [item], [])
    texts = {check["subject"]: check["text"] for check in checks if check["id"] == "cluster.plugin"}
    assert "selects 1 node, but 2 of the inventory need it" in texts[f"{PLACE}/sriov-network-config-daemon"]
    assert texts[f"{PLACE}/sriov-device-plugin"] == f"there is no DaemonSet {PLACE}/sriov-device-plugin"
