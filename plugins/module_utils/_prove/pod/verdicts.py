# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether a pod got what its claim and the facts of its node promise, and whether the node got it back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, Netdev, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.topology import PATH_CLASSES
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.plan import Pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.probe import IN_USE
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.report import PodReport

# The worst path class that devices with a common value of the attribute can have.
_PROMISES = {model.PCIE_ROOT: "PHB", model.NUMA_NODE: "NODE"}
# Nodes in /dev/infiniband that belong to no device.
_SHARED_NODES = {"rdma_cm"}
# What containerd and CRI-O tell the CNI to call its netdev.
_CNI = "eth0"


@dataclass
class PodNode:
    """What is known of a pod's node: its facts before and after, and what its drivers published before."""

    before: Facts
    after: Optional[Facts]
    devices: Mapping[Tuple[str, str], model.SliceDevice] = field(default_factory=dict)
    in_use: Sequence[str] = ()


@dataclass
class Allocated:
    """A device of the claim; ``hca`` is that of the facts where it is a NIC that they know."""

    request: str
    driver: str
    name: str
    pci: Optional[str] = None
    hca: Optional[Hca] = None

    @property
    def text(self) -> str:
        return self.hca.name if self.hca else self.name

    @property
    def ports(self) -> List[Port]:
        return self.hca.ports if self.hca else []


def allocated(result: Mapping[str, Any], node: PodNode) -> List[Allocated]:
    """The devices that the claim of a pod got."""
    hcas = {pci.address: hca for hca, pci in node.before.placed}
    found = []
    for entry in result["allocation"]:
        device = node.devices.get((entry["driver"], entry["device"]))
        pci = device.pci if device else None
        hca = hcas.get(pci or "") if entry["driver"] == model.DRANET else None
        found.append(Allocated(entry["request"], entry["driver"], entry["device"], pci, hca))
    return found


class _Judge:
    def __init__(
        self, pod: Pod, spec: Mapping[str, Any], result: Mapping[str, Any], report: PodReport, node: PodNode
    ) -> None:
        self.pod, self.spec, self.result, self.report, self.node = pod, spec, result, report, node
        self.devices = allocated(result, node)
        self.nics = [device for device in self.devices if device.driver == model.DRANET]

    def check(self, name: str, verdict: str, text: str, remedy: str = "", mend: str = "", **evidence: Any) -> Check:
        at = (self.pod.node, self.pod.group, self.pod.alias)
        return Check("pod", f"pod.{name}", *at, verdict, text, evidence, remedy, mend)

    def runs(self) -> Check:
        seconds, trouble = self.result["seconds"], self.result["trouble"]
        if self.result["phase"] == "Succeeded" and self.report.complete:
            return self.check("runs", "pass", f"the pod ran {seconds:.0f} s after it was made", seconds=seconds)
        text = f"the pod did not come to its end ({self.result['phase']}): {trouble or 'its log is not complete'}"
        if self.result["phase"] == IN_USE:
            return self.check("runs", "impossible", f"no pod was made: {trouble}", "Verify again when it has ended.")
        if "annot allocate all claims" in trouble and self.node.in_use:
            busy = f"{text}. Other claims hold {len(self.node.in_use)} devices of the node"
            return self.check(
                "runs", "impossible", busy, "Try again when they are free.", in_use=list(self.node.in_use)
            )
        return self.check("runs", "fail", text, _remedy(trouble), phase=self.result["phase"], trouble=trouble)

    def allocation(self) -> Check:
        if not self.devices:
            return self.check("allocation", "impossible", "what the claim got is not known", "See whether the pod ran.")
        got: Dict[str, List[Allocated]] = {}
        for device in self.devices:
            # A request with alternatives is called request/alternative.
            got.setdefault(device.request.split("/")[0], []).append(device)
        for request in self.spec["spec"]["devices"]["requests"]:
            body = request.get("exactly") or {}
            number = len(got.get(request["name"], []))
            if body.get("allocationMode") == "ExactCount" and number != body["count"]:
                text = f"request {request['name']} got {number} devices, it asks for {body['count']}"
                return self.check("allocation", "fail", text, "See the claim's status in the cluster.")
        unknown = [nic.name for nic in self.nics if nic.hca is None]
        if unknown:
            text = f"got {', '.join(unknown)}, which the facts of the node do not know as an HCA"
            return self.check("allocation", "fail", text, "Compare the node's ResourceSlices with its facts.")
        names = ", ".join(f"{device.request}: {device.text}" for device in self.devices)
        return self.check("allocation", "pass", f"got {names}", devices=[device.name for device in self.devices])

    def paths(self) -> Optional[Check]:
        """Path class of each GPU to the nearest NIC that came with it."""
        paths = {entry.address: entry.paths for entry in self.node.before.affinity}
        gpus = {gpu.name: paths[gpu.pci] for gpu in self.devices if gpu.driver != model.DRANET and gpu.pci in paths}
        nics = [nic.hca.name for nic in self.nics if nic.hca]
        if not gpus or not nics:
            return None
        farthest = PATH_CLASSES[-1]
        best = {gpu: min((own.get(nic, farthest) for nic in nics), key=PATH_CLASSES.index) for gpu, own in gpus.items()}
        worst = max(best.values(), key=PATH_CLASSES.index)
        text = f"the GPU farthest from the NICs of its claim is {worst} away"
        promises = [
            _PROMISES.get(constraint["matchAttribute"])
            for constraint in self.spec["spec"]["devices"].get("constraints", [])
        ]
        promised = (
            "NODE" if self.pod.alias != self.pod.entry else next((promise for promise in promises if promise), None)
        )
        if promised and PATH_CLASSES.index(worst) > PATH_CLASSES.index(promised):
            remedy = "The facts and the driver's attributes differ: restart the GPU driver and apply the claims again."
            text = f"{text}, but the claim promises {promised}"
            return self.check("path", "fail", text, remedy, "provision", paths=best)
        return self.check("path", "pass", text, paths=best)

    def nodes(self) -> Check:
        wanted: Set[str] = set()
        for nic in self.nics:
            files = [nic.hca.uverbs] if nic.hca else []
            files += [device for port in nic.ports for device in (port.umad, port.issm)]
            wanted |= {device.name for device in files if device and device.present}
        got = set(self.report.nodes) - _SHARED_NODES
        uverbs = {name for name in wanted if name.startswith("uverbs")}
        remedy = "Load ib_uverbs, rdma_ucm and ib_umad, then restart the driver's pod."
        if not uverbs <= got:
            text = f"lacks {', '.join(sorted(uverbs - got))} in /dev/infiniband"
            return self.check("nodes", "fail", text, remedy, "kernel", nodes=self.report.nodes)
        if got - wanted:
            text = f"has {', '.join(sorted(got - wanted))} in /dev/infiniband, which are not of its NICs"
            remedy = "Look for privileged: true, a host path or a device plugin that gives all of them."
            return self.check("nodes", "fail", text, remedy, nodes=self.report.nodes)
        if self.nics and "rdma_cm" not in self.report.nodes:
            text = "lacks rdma_cm in /dev/infiniband"
            return self.check("nodes", "warn", text, remedy, "kernel", nodes=self.report.nodes)
        return self.check(
            "nodes", "pass", f"has {', '.join(self.report.nodes)} and nothing else", nodes=self.report.nodes
        )

    def ports(self) -> Iterator[Check]:
        for nic in self.nics:
            for port in nic.ports:
                name = f"{nic.text}/{port.number}"
                state = self.report.ports.get((nic.text, port.number), ("", "missing"))[1]
                if state == "ACTIVE":
                    yield self.check("port", "pass", f"{name} is ACTIVE in the pod")
                elif port.state == "ACTIVE":
                    remedy = "Look at the netdev's state in the pod, and with InfiniBand at the subnet manager."
                    yield self.check("port", "fail", f"{name} is {state} in the pod, it was ACTIVE on the host", remedy)

    def netdevs(self) -> Iterator[Check]:
        """The NIC beside the one that the CNI gave, with the address it had on the host, or that of the claim."""
        configs = self.spec["spec"]["devices"].get("config") or []
        given = [
            address
            for config in configs
            for address in (config["opaque"]["parameters"].get("interface") or {}).get("addresses") or []
        ]
        for netdev in (port.netdev for nic in self.nics for port in nic.ports):
            if netdev is None or not netdev.present:
                continue
            found = next((name for name, own in self.report.netdevs.items() if own.mac == netdev.mac), None)
            if found is None:
                text = f"{netdev.name} ({netdev.mac}) is not in the pod, only {', '.join(self.report.netdevs)}"
                yield self.check("netdev", "fail", text, _TOO_LATE, "runtime")
                continue
            own = self.report.netdevs[found]
            # Link-local addresses are the kernel's own.
            wanted = given or [address for address in netdev.addresses if not address.startswith("fe80:")]
            missing = [address for address in wanted if address not in own.addresses]
            if not self.report.has_addresses:
                text = f"{found} is in the pod; its addresses are unknown, the image has no ip"
                yield self.check("netdev", "impossible", text, "Use an image with iproute2.")
            elif not own.lower_up:
                text = f"{found} is in the pod, and its link is down (no LOWER_UP)"
                yield self.check("netdev", "fail", text, "Look at the link's other end: cable, switch port, peer.")
            elif missing:
                remedy = "Give the host an address on it (rdma_links_subnet), or the claim."
                yield self.check("netdev", "fail", f"{found} lacks {', '.join(missing)}", remedy, found=own.addresses)
            else:
                yield self.check("netdev", "pass", f"{found} has {', '.join(wanted) or 'no address'}", mtu=own.mtu)

    def cni(self) -> Check:
        """The netdev of the CNI, which is called eth0 in every runtime: the RDMA NIC comes beside it."""
        own = self.report.netdevs.get(_CNI)
        remedy = f"See the log of the CNI on the node, and whether a claim calls its interface {_CNI}."
        if own is None:
            text = f"the pod has no {_CNI} of the CNI, only {', '.join(self.report.netdevs) or 'no netdev'}"
            return self.check("cni", "fail", text, remedy)
        nics = [port.netdev.mac for nic in self.nics for port in nic.ports if port.netdev]
        if own.mac in nics:
            return self.check("cni", "fail", f"{_CNI} is the RDMA NIC; the netdev of the CNI is gone", remedy)
        if not own.lower_up:
            return self.check("cni", "fail", f"{_CNI} of the CNI has no LOWER_UP", remedy)
        addresses = [address for address in own.addresses if not address.startswith("fe80:")]
        if self.report.has_addresses and not addresses:
            return self.check("cni", "fail", f"{_CNI} of the CNI has no address", remedy)
        return self.check("cni", "pass", f"{_CNI} of the CNI is up with {', '.join(addresses) or 'unknown addresses'}")

    def memlock(self) -> Check:
        limit = self.report.memlock
        if limit == "unlimited":
            return self.check("memlock", "pass", "memory can be locked without limit")
        if not limit:
            return self.check("memlock", "impossible", "the pod did not say what it may lock")
        text = f"only {int(limit) // 1024} KiB can be locked"
        remedy = "Raise the limit; containers that start afterwards have it."
        return self.check("memlock", "fail", text, remedy, "runtime", bytes=int(limit))

    def returned(self) -> Iterator[Check]:
        """Whether each NIC is back on its host as it was."""
        after = {hca.name: hca for hca in self.node.after.hcas} if self.node.after else {}
        for nic in self.nics:
            hca = nic.hca
            if hca is None or self.node.after is None:
                continue
            again = after.get(hca.name)
            if again is None:
                text = f"{nic.text} is not back on the host"
                yield self.check("return", "fail", text, "See whether the pod's network namespace is still there.")
                continue
            for port, now in zip(hca.ports, again.ports):
                yield from self._returned(f"{nic.text}/{port.number}", port.netdev, now.netdev)

    def _returned(self, name: str, before: Optional[Netdev], now: Optional[Netdev]) -> Iterator[Check]:
        if before is None or not before.present:
            return
        if now is None or not now.present:
            text = f"the netdev of {name} is not back on the host"
            yield self.check("return", "fail", text, "See whether the pod's network namespace is still there.")
            return
        lost = sorted(set(before.addresses) - set(now.addresses))
        if lost or now.mtu != before.mtu:
            what = [f"address {', '.join(lost)}"] if lost else []
            what += [f"MTU {before.mtu} (now {now.mtu})"] if now.mtu != before.mtu else []
            text = f"the netdev of {name} came back without {' and '.join(what)}"
            remedy = "Let NetworkManager own the NIC: set rdma_links_subnet or rdma_links_mtu."
            yield self.check("return", "fail", text, remedy, "links")
        else:
            yield self.check("return", "pass", f"the netdev of {name} is back on the host as it was")


_TOO_LATE = "See whether NRI is on and its plugin_request_timeout is long enough, and restart the pod."


def _remedy(trouble: str) -> str:
    if "annot allocate all claims" in trouble:
        return "See which devices the node publishes (resource_slice_info), and what the template's selectors match."
    if "FailedPrepareDynamicResources" in trouble or "dra.net" in trouble:
        return "See the log of the DRANET pod on the node."
    if "ImagePull" in trouble or "ErrImage" in trouble:
        return "Set rdma_verify_image to an image that the nodes can get."
    return "See the pod's events and the log of the kubelet."


def checks(
    pod: Pod, spec: Mapping[str, Any], result: Mapping[str, Any], report: PodReport, node: PodNode
) -> List[Check]:
    """All that is to be said of one pod. ``spec`` is that of its ResourceClaimTemplate, ``result`` of pod_probe."""
    judge = _Judge(pod, spec, result, report, node)
    path = judge.paths()
    found = [judge.runs(), judge.allocation(), *([path] if path else [])]
    if report.complete:
        found += [judge.nodes(), *judge.ports(), *judge.netdevs(), judge.cni(), judge.memlock()]
    return found + list(judge.returned())
