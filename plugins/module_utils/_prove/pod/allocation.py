# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a pod got: the devices of its claim, or the HCAs that its request says, and what is known of its node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.plan import PlannedPod
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.report import PodReport
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model

Spec = Mapping[str, Any]


@dataclass
class PodNode:
    """What is known of a pod's node: its facts before and after, and what its drivers published before.

    ``in_use`` is what others held before, as the module pod_probe says it. ``partitions`` are P_Keys of which its ports
    must be full members. ``looked`` is whether it was asked for its facts after the pod.
    """

    before: Facts
    after: Optional[Facts]
    devices: Mapping[Tuple[str, str], model.SliceDevice] = field(default_factory=dict)
    in_use: Sequence[Mapping[str, str]] = ()
    partitions: Sequence[str] = ()
    looked: bool = False


@dataclass
class Allocated:
    """A device of the pod; ``hca`` is that of the facts where it is a NIC that they know."""

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


def claimed_devices(result: Mapping[str, Any], node: PodNode) -> List[Allocated]:
    """The devices that the claim of a pod got."""
    hcas = {pci.address: hca for hca, pci in node.before.placed}
    found = []
    for entry in result["allocation"]:
        device = node.devices.get((entry["driver"], entry["device"]))
        pci = device.pci if device else None
        hca = hcas.get(pci or "") if entry["driver"] == model.DRANET else None
        found.append(Allocated(entry["request"], entry["driver"], entry["device"], pci, hca))
    return found


def _handed_out(pod: PlannedPod, request: PodRequest, report: PodReport, node: PodNode) -> List[Allocated]:
    """The HCAs that a plugin gave: all that it may give, or those of them that the pod has."""
    names = request.hosts.get(pod.node, ())
    hcas = [hca for hca in node.before.hcas if hca.name in names]
    if request.number or request.gpu_resource:
        hcas = [hca for hca in hcas if hca.name in report.devices]
    return [Allocated("", "", hca.name, hca.pci.address if hca.pci else None, hca) for hca in hcas]


class PodJudge:
    """What judges one pod. ``spec`` is that of its ResourceClaimTemplate or ResourceClaim, empty without one.

    ``nics`` are those of its ``devices`` that are no GPU.
    """

    def __init__(
        self,
        pod: PlannedPod,
        request: PodRequest,
        spec: Spec,
        result: Mapping[str, Any],
        report: PodReport,
        node: PodNode,
    ) -> None:
        self.pod, self.request, self.spec, self.result = pod, request, spec, result
        self.report, self.node = report, node
        if spec:
            self.devices = claimed_devices(result, node)
            self.nics = [device for device in self.devices if device.driver == model.DRANET]
        else:
            self.devices = self.nics = _handed_out(pod, request, report, node)

    def check(self, name: str, verdict: str, text: str, remedy: str = "", mend: str = "", **evidence: Any) -> Check:
        at = (self.pod.node, self.pod.group, self.pod.alias)
        return Check("pod", f"pod.{name}", *at, verdict, text, evidence, remedy, mend)
