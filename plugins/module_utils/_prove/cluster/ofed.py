# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Why the Network Operator keeps its other pods off a node, waiting for its OFED driver.

They select nodes by a label that is ``false`` only where the driver's pod is ready, or where no driver is deployed.
After an upgrade of the kernel, or with a new taint, there is no such pod, and the label says nothing of the reason
(``controllers/mofed_wait_labels.go`` and ``manifests/state-ofed-driver`` of Mellanox/network-operator v26.7.0-rc.2).
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.ofed import KERNEL, PODS, WAITS

Plain = Mapping[str, Any]

_ID = "cluster.ofed"
_EFFECTS = ("NoSchedule", "NoExecute")
# The controller of DaemonSets lets their pods tolerate these.
_ALWAYS = (
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
)


def _table(item: Plain, *path: str) -> Plain:
    for name in path:
        item = item.get(name) or {}
    return item


def _tolerated(taint: Plain, tolerations: List[Plain]) -> bool:
    if taint.get("effect") not in _EFFECTS or taint.get("key") in _ALWAYS:
        return True
    for toleration in tolerations:
        exists = toleration.get("operator") == "Exists"
        key = toleration.get("key") == taint.get("key") or (exists and not toleration.get("key"))
        value = exists or (toleration.get("value") or "") == (taint.get("value") or "")
        if key and value and toleration.get("effect") in (None, "", taint.get("effect")):
            return True
    return False


def _written(taint: Plain) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key')}{value}:{taint.get('effect')}"


def _why(node: Plain, drivers: Mapping[str, Plain]) -> Tuple[str, str]:
    """Cause and remedy."""
    labels = _table(node, "metadata", "labels")
    if not drivers:
        remedy = f"See the log of the operator, which sets the label {WAITS} to false where no driver is deployed."
        return "the cluster has no DaemonSet of this driver", remedy
    wanted = {name: _table(item, "spec", "template", "spec") for name, item in drivers.items()}
    fit = [
        name
        for name, spec in wanted.items()
        if all(labels.get(key) == value for key, value in (spec.get("nodeSelector") or {}).items())
    ]
    if not fit:
        kernels = sorted({str((spec.get("nodeSelector") or {}).get(KERNEL)) for spec in wanted.values()})
        text = f"no DaemonSet of this driver selects the node: its kernel is {labels.get(KERNEL)} ({KERNEL})"
        remedy = "Check Node Feature Discovery and the log of the operator, which makes a DaemonSet for each kernel."
        return f"{text}, and the DaemonSets are for {', '.join(kernels)}", remedy
    spec = wanted[fit[0]]
    taints = [
        taint
        for taint in _table(node, "spec").get("taints") or ()
        if not _tolerated(taint, spec.get("tolerations") or [])
    ]
    if taints:
        text = f"DaemonSet {fit[0]} does not tolerate the taint {', '.join(map(_written, taints))} of the node"
        owners = _table(drivers[fit[0]], "metadata").get("ownerReferences") or [{"kind": "NicClusterPolicy"}]
        policy = f"{owners[0].get('kind')} {owners[0].get('name') or ''}".strip()
        remedy = f"Add it to spec.tolerations of {policy}, with Helm or Argo CD if they write it, or remove the taint."
        return text, remedy
    return f"the driver's pod of DaemonSet {fit[0]} is not ready", "See the events and the log of this pod on the node."


def checks(host: str, group: str, node: Plain, daemon_sets: Mapping[str, Plain]) -> Iterator[Check]:
    """What keeps the operator's pods off a node that needs them; DaemonSets are by namespace/name."""
    value = _table(node, "metadata", "labels").get(WAITS)
    drivers = {name: item for name, item in daemon_sets.items() if PODS in _table(item, "metadata", "labels")}
    evidence = {"label": value, "daemon_sets": sorted(drivers)}
    if value == "true":
        cause, remedy = _why(node, drivers)
        text = f"the Network Operator keeps its pods off the node until its OFED driver is ready there: {cause}"
        yield Check("cluster", _ID, host, group, WAITS, "fail", text, evidence, remedy)
    elif value is None:
        text = f"the node has no label {WAITS}, which pods of the Network Operator need to be false"
        remedy = (
            "Check Node Feature Discovery (feature.node.kubernetes.io/pci-15b3.present) and the log of the operator."
        )
        yield Check("cluster", _ID, host, group, WAITS, "fail", text, evidence, remedy)
    elif drivers:
        text = "the Network Operator does not wait for its OFED driver here"
        yield Check("cluster", _ID, host, group, WAITS, "pass", text, evidence)
