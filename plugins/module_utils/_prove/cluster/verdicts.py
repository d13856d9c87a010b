# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The cluster ring: whether drivers run and publish what the facts say, and objects are as they were applied."""

from __future__ import annotations

from typing import Any, Collection, Iterator, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.cluster.resources import no_node
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.daemon_sets import ready
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout.wait import pod_trouble
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

Plain = Mapping[str, Any]

_ACTIONS = {
    "created": "is missing",
    "configured": "was changed by hand",
    "pruned": "has left the inventory",
    "rejected": "is rejected",
}
_RESTART = "Restart the driver on the node, then compare again."
_TELL = (
    "Prepare the host (zerocopy.rdma.site), and compare again after rdma_driver_poll_max_interval. If the daemon runs "
    "and its log shows no error, restart the driver on the node: if nobody answered when it started, it asks nobody "
    "later."
)
_UPDATE = "Update the driver, or set the variable to the version that runs."


def _drivers(groups: Mapping[str, str], with_driver: Collection[str], pods: Sequence[Plain]) -> Iterator[Check]:
    """DRANET's pod on each node that shall have one. Its slices stay when it dies, so they say nothing."""
    there = {str(pod["spec"].get("nodeName")): pod for pod in pods}
    for host, group in groups.items():
        if host not in with_driver:
            continue
        pod = there.get(host)

        def check(
            verdict: str, text: str, remedy: str = "", mend: str = "", host: str = host, group: str = group
        ) -> Check:
            return Check("cluster", "cluster.driver", host, group, "dranet", verdict, text, {}, remedy, mend)

        if pod is None:
            yield check("fail", "no pod of DRANET is on the node", "See the DaemonSet's events.", "driver")
        elif not ready(pod):
            # Without NRI it starts and ends again and again, and nothing else says so.
            remedy = "See the pod's log. If the pod cannot reach NRI, configure the container runtime."
            text = pod_trouble(dict(pod)) or "it does not answer"
            yield check("fail", f"DRANET's pod {pod['metadata']['name']} is not ready: {text}", remedy, "runtime")
        else:
            restarts = sum(
                container.get("restartCount", 0) for container in pod["status"].get("containerStatuses") or []
            )
            yield check("pass", f"DRANET runs (restarts: {restarts})")


def _slices_of(groups: Mapping[str, str], nodes: Mapping[str, Plain]) -> Iterator[Check]:
    for host, node in nodes.items():
        group = groups.get(host)

        def check(
            subject: str,
            verdict: str,
            text: str,
            host: str = host,
            group: Any = group,
            remedy: str = _RESTART,
            **evidence: Any,
        ) -> Check:
            remedy = "" if verdict == "pass" else remedy
            return Check("cluster", "cluster.slices", host, group, subject, verdict, text, evidence, remedy)

        if not node["exists"]:
            yield no_node("cluster.slices", host, group)
            continue
        odd = [device for device in node["missing"] if not device["intended"]]
        for verdict, said, devices in (
            ("fail", "is not published:", odd),
            ("warn", "is published, but", node["extra"]),
        ):
            for device in devices:
                subject = device["pci"] or device["name"]
                yield check(subject, verdict, f"{said} {device['reason']}", driver=device["driver"])
        for entry in node["differing"]:
            values = {"expected": entry["expected"], "published": entry["published"]}
            published = "not published" if entry["published"] is None else f"published as {entry['published']!r}"
            text = f"{entry['attribute']} is {published}, the facts say {entry['expected']!r}"
            if entry["reason"]:
                text = f"{text}: {entry['reason']}"
            # Which only newer drivers publish.
            older = entry["attribute"] == model.NUMA_NODE and entry["published"] is None
            told = entry["attribute"] in names.EVERY
            yield check(
                entry["pci"] or entry["name"],
                "fail" if entry["attribute"] in (model.RDMA, names.RAIL) else "warn",
                text,
                remedy=_UPDATE if older else _TELL if told else _RESTART,
                **values,
            )
        if not (odd or node["extra"] or node["differing"]):
            drivers = ", ".join(node["drivers"]) or "no driver"
            yield check("", "pass", f"the devices published by {drivers} agree with the facts")


def _objects(sets: Mapping[str, Sequence[Plain]]) -> Iterator[Check]:
    """``sets`` are what applyset would do to the objects of each set (check mode)."""
    for name, objects in sets.items():
        wrong = [item for item in objects if item["action"] in _ACTIONS]
        for item in wrong:
            place = f"{item['namespace']}/" if item["namespace"] else ""
            subject = f"{item['kind']} {place}{item.get('alias') or item['name']}"
            why = f": {item['reason']}" if item.get("reason") else ""
            text = f"{subject} of set {name} {_ACTIONS[item['action']]}{why}"
            yield Check("cluster", "cluster.objects", None, None, subject, "fail", text, {}, "", "provision")
        if not wrong:
            text = f"set {name} has {counted(len(objects), 'object')}, as applied"
            yield Check("cluster", "cluster.objects", None, None, name, "pass", text)


def checks(
    groups: Mapping[str, str],
    with_driver: Collection[str],
    nodes: Mapping[str, Plain],
    pods: Sequence[Plain],
    sets: Mapping[str, Sequence[Plain]],
) -> List[Check]:
    """All of the ring.

    ``groups`` has the group of each host, ``with_driver`` are hosts that shall have DRANET, ``nodes`` are those of
    resource_slice_info, ``pods`` those of DRANET.
    """
    return [*_drivers(groups, with_driver, pods), *_slices_of(groups, nodes), *_objects(sets)]
