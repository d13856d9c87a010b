# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether a pod got what its request and the facts of its node promise, and whether the node got it back."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import partitions
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.alignment import PathJudge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.allocation import Allocated, PodNode, Spec
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.netdevs import NetdevJudge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.plan import NOTHING, PlannedPod
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.probe import IN_USE
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.report import PodReport
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

# Nodes in /dev/infiniband that belong to no device.
_SHARED_NODES = {"rdma_cm"}
_OF_NEAREST = "See the log of the plugin on the node, and the states of its ports."
_IDLE = "Plug in its cable or bring it up, or leave the NIC out of what pods can request."
_OF_ALL = "Check for privileged: true, a hostPath, or a device plugin that gives pods all device nodes."


class _Judge(PathJudge, NetdevJudge):
    def runs(self) -> Check:
        seconds, trouble = self.result["seconds"], self.result["trouble"]
        if self.result["phase"] == "Succeeded" and self.report.complete:
            return self.check("runs", "pass", f"the pod ran {seconds:.0f} s after it was created", seconds=seconds)
        text = f"the pod did not finish ({self.result['phase']}): {trouble or 'its log is not complete'}"
        if self.result["phase"] == IN_USE:
            return self.check(
                "runs", "impossible", f"no pod was created: {trouble}", "Verify again when that pod has ended."
            )
        taken = self._taken(trouble)
        if taken:
            remedy = "Verify again when these are free."
            return self.check("runs", "impossible", f"{text}. {taken}", remedy, in_use=list(self.node.in_use))
        return self.check("runs", "fail", text, _remedy(trouble), phase=self.result["phase"], trouble=trouble)

    def _taken(self, trouble: str) -> str:
        """Who holds the devices that the pod waits for, if that is why it waits."""
        if self.spec:
            busy = sum("device" in entry for entry in self.node.in_use) if "annot allocate all claims" in trouble else 0
            return f"Other claims hold {counted(busy, 'device')} of the node" if busy else ""
        for resource in self.request.limits:
            held = [entry["pod"] for entry in self.node.in_use if entry.get("resource") == resource]
            if held and f"Insufficient {resource}" in trouble:
                return f"{resource} is taken by {', '.join(held)}"
        return ""

    def allocation(self) -> Check:
        """The devices allocated to the claim."""
        if not self.devices:
            return self.check(
                "allocation", "impossible", "it is unknown which devices the claim got", "Check whether the pod ran."
            )
        got: Dict[str, List[Allocated]] = {}
        for device in self.devices:
            # A request with alternatives is called request/alternative.
            got.setdefault(device.request.split("/")[0], []).append(device)
        for request in self.spec["devices"]["requests"]:
            body = request.get("exactly") or {}
            number = len(got.get(request["name"], []))
            if body.get("allocationMode") == "ExactCount" and number != body["count"]:
                text = f"request {request['name']} got {counted(number, 'device')}, but requests {body['count']}"
                return self.check("allocation", "fail", text, "See the claim's status in the cluster.")
        unknown = [nic.name for nic in self.nics if nic.hca is None]
        if unknown:
            text = f"got {', '.join(unknown)}, but the facts of the node have no such HCA"
            return self.check("allocation", "fail", text, "Compare the node's ResourceSlices with its facts.")
        names = ", ".join(f"{device.request}: {device.text}" for device in self.devices)
        return self.check("allocation", "pass", f"got {names}", devices=[device.name for device in self.devices])

    def nodes(self) -> Check:
        wanted: Set[str] = set()
        for nic in self.nics:
            files = [nic.hca.uverbs] if nic.hca else []
            files += [device for port in nic.ports for device in (port.umad, port.issm)]
            wanted |= {device.name for device in files if device and device.present}
        got = set(self.report.nodes) - _SHARED_NODES
        uverbs = {name for name in wanted if name.startswith("uverbs")}
        remedy = "Load ib_uverbs, rdma_ucm and ib_umad, then restart the pod of the driver or plugin."
        if not uverbs <= got:
            text = f"lacks {', '.join(sorted(uverbs - got))} in /dev/infiniband"
            return self.check("nodes", "fail", text, remedy, "kernel", nodes=self.report.nodes)
        if got - wanted:
            text = f"has {', '.join(sorted(got - wanted))} of other NICs in /dev/infiniband"
            return self.check("nodes", "fail", text, _OF_ALL, nodes=self.report.nodes)
        if self.request.gpu_resource and not self._beside():
            names = ", ".join(nic.text for nic in self.nics) or "no HCA"
            text = f"has the devices of {names}, but no GPU of the node has exactly these nearest to it"
            return self.check("nodes", "fail", text, _OF_NEAREST, nodes=self.report.nodes)
        if self.request.number and len(self.nics) != self.request.number:
            text = f"has the devices of {counted(len(self.nics), 'HCA')}, but requested {self.request.number}"
            return self.check("nodes", "fail", text, "See the log of the device plugin.", nodes=self.report.nodes)
        if self.nics and "rdma_cm" not in self.report.nodes:
            text = "lacks rdma_cm in /dev/infiniband"
            return self.check("nodes", "warn", text, remedy, "kernel", nodes=self.report.nodes)
        return self.check(
            "nodes", "pass", f"has {', '.join(self.report.nodes)} and nothing else", nodes=self.report.nodes
        )

    def _beside(self) -> bool:
        """Whether the HCAs are those nearest to one GPU, as far as the pod may have them."""
        allowed = self.request.hosts.get(self.pod.node, ())
        sets = [{name for name in entry.nearest if name in allowed} for entry in self.node.before.affinity]
        return {nic.text for nic in self.nics} in [near for near in sets if near]

    def ports(self) -> Iterator[Check]:
        for nic in self.nics:
            states = {port.number: self._state(nic, port.number) for port in nic.ports}
            for port in nic.ports:
                name, state = f"{nic.text}/{port.number}", states[port.number]
                if state == "ACTIVE":
                    yield self.check("port", "pass", f"{name} is ACTIVE in the pod")
                elif port.state == "ACTIVE":
                    remedy = "Check the netdev's state in the pod and, with InfiniBand, the subnet manager."
                    yield self.check("port", "fail", f"{name} is {state} in the pod, it was ACTIVE on the host", remedy)
                # Of a card with two ports, many use one.
                elif "ACTIVE" not in states.values():
                    text = (
                        f"{name} is {state} in the pod, as it was not ACTIVE on the host either: the pod cannot use it"
                    )
                    yield self.check("port", "warn", text, _IDLE, state=state, before=port.state)

    def _state(self, nic: Allocated, port: int) -> str:
        return self.report.ports.get((nic.text, port), ("", "missing"))[1]

    def partitions(self) -> Iterator[Check]:
        """Whether its InfiniBand ports are full members, in the pod, of the partitions that the group demands."""
        for nic in self.nics:
            for port in nic.ports:
                if port.link_layer == "InfiniBand":
                    has = self.report.pkeys.get((nic.text, port.number), ())
                    for demanded in self.node.partitions:
                        verdict, text, remedy = partitions.verdict(f"{nic.text}/{port.number}", has, demanded)
                        yield self.check(
                            partitions.WHAT, verdict, f"{text} (in the pod)", remedy, pkey=demanded, pkeys=list(has)
                        )

    def fallback(self) -> Optional[Check]:
        """Whether programs find RDMA here: where they do not, NCCL and UCX use TCP and say nothing."""
        names = {nic.text: nic.hca.uverbs.name if nic.hca and nic.hca.uverbs else "" for nic in self.nics}
        if not names:
            return None
        active = {device for (device, _port), (_layer, state) in self.report.ports.items() if state == "ACTIVE"}
        opened = [name for name, node in names.items() if node in self.report.opens]
        found = [name for name in opened if name in active]
        shut = [name for name, node in names.items() if node in self.report.nodes and name not in opened]
        if shut:
            why = f"the container cannot open the device nodes of {', '.join(shut)}"
            remedy = "Request RDMA in the container's resources: a hostPath alone gives no access to the devices."
        elif not opened:
            why, remedy = "the container has no device node of its HCAs", "See the log of the driver or device plugin."
        else:
            why, remedy = f"no port of {', '.join(opened)} is ACTIVE", "Check the ports on the host."
        if not found:
            text = f"NCCL and UCX silently use TCP in this pod: {why}"
            return self.check("fallback", "fail", text, f"{remedy} With NCCL_NET=IB, NCCL fails instead.")
        if shut:
            return self.check("fallback", "fail", why, remedy)
        of = f"{len(found)} of {len(names)} NICs: " if len(found) < len(names) else ""
        return self.check("fallback", "pass", f"programs find RDMA on {of}{', '.join(found)}")

    def memlock(self) -> Check:
        limit = self.report.memlock
        if limit == "unlimited":
            return self.check("memlock", "pass", "memory can be locked without limit")
        if not limit:
            return self.check("memlock", "impossible", "the pod did not report its limit of locked memory")
        text = f"only {int(limit) // 1024} KiB can be locked"
        remedy = "Raise the limit; it applies to containers that start afterwards."
        return self.check("memlock", "fail", text, remedy, "runtime", bytes=int(limit))


def _remedy(trouble: str) -> str:
    if "annot allocate all claims" in trouble:
        return "See which devices the node publishes (resource_slice_info), and what the template's selectors match."
    if "Insufficient" in trouble:
        return "See what is allocatable on the node, and the log of the device plugin there."
    # DRANET says so in its events NetworkDeviceAttachDeferred, ...Timeout and ...Failed, and to the kubelet.
    if "plugin_request_timeout" in trouble:
        return "Raise rdma_runtime_nri_request_timeout: DRANET could not attach all NICs within it."
    if any(word in trouble for word in ("FailedPrepareDynamicResources", "dra.net", "DeviceAttachFailed")):
        return "See the log of the DRANET pod on the node."
    if "ImagePull" in trouble or "ErrImage" in trouble:
        return "Set rdma_verify_image to an image that the nodes can pull."
    return "See the pod's events and the log of the kubelet."


def checks(
    pod: PlannedPod, request: PodRequest, spec: Spec, result: Mapping[str, Any], report: PodReport, node: PodNode
) -> List[Check]:
    """All that is to be said of one pod; ``spec`` is what it claims (``ResourceClaimSpec``), empty without a claim.

    ``result`` is that of pod_probe.
    """
    judge = _Judge(pod, request, spec, result, report, node)
    found: List[Optional[Check]] = [judge.runs()]
    found += [judge.allocation(), judge.paths()] if spec else []
    if report.complete:
        found += [judge.nodes(), *judge.ports(), *judge.partitions(), judge.fallback()]
        found += [*(judge.netdevs() if request.moves else ()), judge.cni(), judge.memlock()]
    found += list(judge.returned() if request.moves else ())
    return [check for check in found if check is not None]


def of_nothing(pod: PlannedPod, result: Mapping[str, Any], report: PodReport, node: PodNode) -> List[Check]:
    """The same of a pod that must see no device, since it asks for nothing or has no GPU: what it sees it could use."""
    judge = _Judge(pod, PodRequest(pod.alias, {}), {}, result, report, node)
    ran = judge.runs()
    who = "a pod that requests no RDMA device" if pod.alias == NOTHING else "a pod without a GPU"
    if not report.complete:
        return [ran]
    if report.nodes:
        text = f"{who} has {', '.join(report.nodes)} in /dev/infiniband"
        return [ran, judge.check("without", "fail", text, _OF_ALL, nodes=report.nodes)]
    return [ran, judge.check("without", "pass", f"{who} has none")]
