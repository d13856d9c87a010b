# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The cluster ring. What the modules return of a real API server is tried in tests/cluster."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.cluster import verdicts as cluster_verdicts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names as attributes
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part

GROUPS = {"n1": "h100", "n2": "h100", "lab": "login"}
DRIVEN = ("n1", "n2")
RIGHT = {"exists": True, "drivers": ["dra.net"], "missing": [], "extra": [], "differing": []}
CLASS = {"kind": "DeviceClass", "namespace": "", "name": "nic", "action": "unchanged"}


def pod(node: str, ready: bool = True, waiting: str = "") -> dict[str, Any]:
    state = {"waiting": {"reason": waiting, "message": "back-off"}} if waiting else {"running": {}}
    status = {
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": [{"name": "dranet", "restartCount": 3, "state": state}],
    }
    return {"metadata": {"name": f"dranet-{node}"}, "spec": {"nodeName": node}, "status": status}


def checks(**changed: Any) -> list[Check]:
    nodes = {name: dict(RIGHT) for name in GROUPS}
    nodes.update(changed.pop("nodes", {}))
    given = {"pods": [pod("n1"), pod("n2")], "sets": {"claims": [dict(CLASS)]}, **changed}
    return cluster_verdicts.checks(GROUPS, DRIVEN, nodes, **given)


def test_everything_as_it_should_be() -> None:
    found = checks()
    assert {check.verdict for check in found} == {"pass"}
    # A host that is to have no driver is not asked for one.
    assert [check.host for check in found if check.id == "cluster.driver"] == ["n1", "n2"]


@pytest.mark.parametrize(
    ("changed", "name", "host", "verdict", "said"),
    [
        ({"pods": [pod("n2")]}, "cluster.driver", "n1", "fail", "no pod of DRANET"),
        (
            {"pods": [pod("n1", ready=False, waiting="CrashLoopBackOff"), pod("n2")]},
            "cluster.driver",
            "n1",
            "fail",
            "CrashLoopBackOff",
        ),
        ({"nodes": {"n1": {**RIGHT, "exists": False}}}, "cluster.slices", "n1", "fail", "no node of this name"),
        (
            {
                "nodes": {
                    "n1": {
                        **RIGHT,
                        "missing": [
                            {"driver": "dra.net", "name": "a", "pci": "0000:1a:00.0", "reason": "x", "intended": False},
                            {"driver": "dra.net", "name": "b", "pci": "0000:1b:00.0", "reason": "y", "intended": True},
                        ],
                    }
                }
            },
            "cluster.slices",
            "n1",
            "fail",
            "is not published: x",
        ),
        (
            {"sets": {"claims": [{**CLASS, "action": "created"}]}},
            "cluster.objects",
            None,
            "fail",
            "DeviceClass nic of set claims is missing",
        ),
        (
            {"sets": {"claims": [{**CLASS, "action": "configured"}]}},
            "cluster.objects",
            None,
            "fail",
            "was changed by hand",
        ),
    ],
)
def test_what_is_wrong(changed: dict[str, Any], name: str, host: str | None, verdict: str, said: str) -> None:
    (found,) = [check for check in checks(**changed) if check.verdict != "pass"]
    assert (found.id, found.host, found.verdict) == (name, host, verdict)
    assert said in found.text
    assert found.remedy or found.mend


def test_what_claims_ask_for_is_worse_than_another_difference() -> None:
    def differing(attribute: str) -> dict[str, Any]:
        one = {"driver": "dra.net", "name": "a", "pci": "0000:1a:00.0", "attribute": attribute, "reason": ""}
        return {**RIGHT, "differing": [{**one, "expected": True, "published": False}]}

    found = {
        attribute: [check for check in checks(nodes={"n1": differing(attribute)}) if check.verdict != "pass"]
        for attribute in ("dra.net/rdma", "dra.net/numaNode", attributes.RAIL, attributes.LEAF)
    }
    assert {attribute: [check.verdict for check in every] for attribute, every in found.items()} == {
        "dra.net/rdma": ["fail"],
        "dra.net/numaNode": ["warn"],
        # A claim by rail would wait, or get another NIC.
        attributes.RAIL: ["fail"],
        attributes.LEAF: ["warn"],
    }
    remedies = {attribute: every[0].remedy for attribute, every in found.items()}
    assert [attribute for attribute, remedy in remedies.items() if "zerocopy.rdma.site" in remedy] == [
        attributes.RAIL,
        attributes.LEAF,
    ]


def test_a_driver_that_is_older_than_the_inventory_says() -> None:
    one = {"driver": "gpu.nvidia.com", "name": "gpu-0", "pci": "0000:1b:00.0", "attribute": model.NUMA_NODE}
    reason = "its driver is older than rdma_driver_gpu_version says"
    node = {**RIGHT, "differing": [{**one, "expected": 0, "published": None, "reason": reason}]}
    (found,) = [check for check in checks(nodes={"n1": node}) if check.verdict != "pass"]
    assert (found.verdict, found.subject) == ("warn", "0000:1b:00.0")
    assert found.text == f"{model.NUMA_NODE} is not published, the facts say 0: {reason}"
    assert found.evidence == {"expected": 0, "published": None}
    assert found.remedy == "Update the driver, or set the variable to the version that runs."


def by_id(found: list[Check], name: str) -> list[tuple[str | None, str, str, str]]:
    return [(one.host, one.subject, one.verdict, one.text) for one in found if one.id == name]


def test_what_is_said_of_what_is_right() -> None:
    several = pod("n1")
    several["status"]["containerStatuses"].append({"name": "other", "state": {}})
    found = checks(pods=[several, pod("n2")], nodes={"n2": {**RIGHT, "drivers": []}})
    assert by_id(found, "cluster.driver")[0] == ("n1", "dranet", "pass", "DRANET runs (restarts: 3)")
    slices = {host: text for host, _subject, _verdict, text in by_id(found, "cluster.slices")}
    assert slices["n1"] == "the devices published by dra.net agree with the facts"
    assert slices["n2"] == "the devices published by no driver agree with the facts"
    assert by_id(found, "cluster.objects") == [(None, "claims", "pass", "set claims has 1 object, as applied")]


def test_a_pod_that_does_not_say_what_ails_it() -> None:
    silent = pod("n1", ready=False)
    for conditions in ([], [{"type": "Initialized", "status": "True"}], None):
        silent["status"]["conditions"] = conditions
        (found,) = [one for one in checks(pods=[silent, pod("n2")]) if one.verdict != "pass"]
        assert found.text == "DRANET's pod dranet-n1 is not ready: it does not answer"
        assert (found.mend, found.host) == ("runtime", "n1")


def test_devices_by_their_address_or_name() -> None:
    one = {"driver": "dra.net", "name": "ib0", "reason": "nobody knows it"}
    extra = [{**one, "pci": "0000:1a:00.0"}, {**one, "pci": None}]
    found = checks(nodes={"n1": {**RIGHT, "extra": extra}})
    assert by_id(found, "cluster.slices")[:2] == [
        ("n1", "0000:1a:00.0", "warn", "is published, but nobody knows it"),
        ("n1", "ib0", "warn", "is published, but nobody knows it"),
    ]
    # What is left out on purpose is as it should be.
    left_out = {**RIGHT, "missing": [{**one, "pci": None, "intended": True}]}
    assert {verdict for _host, _subject, verdict, _text in by_id(checks(nodes={"n1": left_out}), "cluster.slices")} == {
        "pass"
    }


def test_objects_by_the_name_that_users_gave() -> None:
    template = {"kind": "ResourceClaimTemplate", "namespace": "default", "name": "two-1a2b", "alias": "two"}
    found = checks(sets={"a": [{**template, "action": "pruned"}, dict(CLASS)], "b": []})
    assert by_id(found, "cluster.objects") == [
        (
            None,
            "ResourceClaimTemplate default/two",
            "fail",
            "ResourceClaimTemplate default/two of set a has left the inventory",
        ),
        (None, "b", "pass", "set b has 0 objects, as applied"),
    ]


def test_why_an_object_is_not_there() -> None:
    policy = {"kind": "SriovNetworkNodePolicy", "namespace": "sriov", "name": "one"}
    rejected = {**policy, "action": "rejected", "reason": "no supported NIC is selected"}
    text = "SriovNetworkNodePolicy sriov/one of set a is rejected: no supported NIC is selected"
    found = by_id(checks(sets={"a": [rejected]}), "cluster.objects")
    assert found == [(None, "SriovNetworkNodePolicy sriov/one", "fail", text)]


def test_without_an_api_server_the_report_says_what_was_not_judged() -> None:
    (check,) = part("cluster", {}, {"rdma_cluster": "none"})["checks"]
    assert (check["verdict"], check["text"]) == (
        "impossible",
        "cluster and pods are not verified: rdma_cluster is none",
    )
