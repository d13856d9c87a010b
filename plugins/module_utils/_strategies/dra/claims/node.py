# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One node as claims see it: what its drivers publish, and what its facts say about each NIC."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Collection, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Reason
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import IN_POD, PORT_DOWN, VF
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import NicPick
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, predict
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import mtu

_NUMA = (model.NIC_NUMA_NODE, model.NUMA_NODE, model.AMD_NUMA_NODE)
_LAYER, _RATE, _UNSEEN = "link_layer", "rate", "unseen"
# What tells equal nodes apart and nothing but a person's own selector looks at.
IDENTITIES = (
    f"{model.GPU_DRIVER}/uuid",
    model.MAC,
    f"{model.DRANET}/ipv4",
    f"{model.DRANET}/ipv6",
    f"{model.DRANET}/rdmaDevice",
    model.IF_NAME,
    # Of the node, not of the NIC.
    names.LEAF,
)


@dataclass(frozen=True)
class NicPort:
    """One port of a NIC. ``reasons`` are code and text of why it is not usable, other than being in a pod.

    ``other_kind`` are what it differs in from the NICs next to GPUs (``layer``, ``rate``) and the text of that.
    ``unseen``: its place is known, and no facts say what is there.
    ``connected`` is the transport mode of IPoIB, as far as the MTU tells it.
    """

    name: str
    link_layer: Optional[str] = None
    rate: Optional[float] = None
    vf: bool = False
    reasons: Tuple[Tuple[str, str], ...] = ()
    netdev: bool = False
    in_pod: bool = False
    max_mtu: Optional[int] = None
    connected: bool = False
    other_kind: Optional[Tuple[str, str]] = None
    unseen: bool = False


@dataclass(frozen=True)
class Verdict:
    """Whether a NIC is what is wanted. ``passing``: only its link is down, which a cable can change at any time.

    ``unseen``: only its rate or its link layer is against it, and that is unknown.
    """

    wanted: bool
    passing: bool = False
    unseen: bool = False
    why: str = ""


@dataclass
class ClaimNode:
    """``ports`` and ``numa`` (NUMA nodes of GPUs and NICs) are by PCI address and come from facts, where there are any.

    ``may_hide_nics``: a NIC in a pod may be missing in the facts, so there may be more of them. ``transport_mode`` is
    what the role ``rdma_links`` sets on IPoIB netdevs. ``unnamed`` are the places of GPUs that no driver publishes yet
    and whose product the facts do not have either.
    Nodes with the same ``key`` are equal in everything but names; ``device_keys`` say the same of their devices.
    """

    name: str
    group: str
    devices: List[SliceDevice]
    ports: Dict[str, List[NicPort]] = field(default_factory=dict)
    numa: Dict[str, int] = field(default_factory=dict)
    may_hide_nics: bool = False
    transport_mode: Optional[str] = None
    key: str = ""
    device_keys: List[str] = field(default_factory=list)
    unnamed: FrozenSet[int] = frozenset()

    @property
    def nics(self) -> List[SliceDevice]:
        return [device for device in self.devices if device.is_rdma_nic]

    @property
    def gpus(self) -> List[SliceDevice]:
        return [device for device in self.devices if device.is_gpu]


def _port(
    hca: Hca, port: Port, reasons: Sequence[Reason], mtus: Mapping[str, int], other_kind: Optional[Tuple[str, str]]
) -> NicPort:
    in_use = (port.netdev.mtu if port.netdev else None) or 0
    return NicPort(
        name=f"{hca.name}/{port.number}",
        link_layer=port.link_layer,
        rate=port.rate_gbps,
        vf=hca.sriov.role == "vf",
        reasons=tuple((reason.code, reason.text) for reason in reasons if reason.code != IN_POD),
        netdev=port.netdev is not None,
        in_pod=any(reason.code == IN_POD for reason in reasons),
        # DRANET 1.4.0 refuses an MTU above that of the physical function.
        max_mtu=mtus.get(hca.sriov.pf_address or "", port.netdev.max_mtu if port.netdev else None),
        # The maximum MTU that the kernel reports is that of connected mode, regardless of the current mode.
        connected=port.link_layer == "InfiniBand" and in_use > mtu.largest("InfiniBand"),
        other_kind=other_kind,
    )


def _ports(facts: Facts) -> Dict[str, List[NicPort]]:
    reasons = facts.unmovable
    mtus = {
        pci.address: port.netdev.mtu
        for hca, pci in facts.placed
        for port in hca.ports
        if port.netdev and port.netdev.mtu
    }
    kinds = topology.other_kind(facts)
    found: Dict[str, List[NicPort]] = {}
    for hca, pci in facts.placed:
        for port in hca.ports:
            nic = _port(hca, port, reasons.get((hca.name, port.number), []), mtus, kinds.get(hca.name))
            found.setdefault(pci.address, []).append(nic)
    return found


def _numa(devices: Sequence[SliceDevice], facts: Facts) -> Dict[str, int]:
    found: Dict[str, int] = {}
    for device in devices:
        value = next((device.attributes[name] for name in _NUMA if name in device.attributes), None)
        if device.pci and isinstance(value, int):
            found[device.pci] = value
    for pci in [pci for _hca, pci in facts.placed] + [gpu.pci for gpu in facts.gpus]:
        if pci.numa_node is not None:
            found.setdefault(pci.address, pci.numa_node)
    return found


def _device_key(device: SliceDevice, left_out: FrozenSet[str]) -> str:
    attributes = sorted((name, repr(value)) for name, value in device.attributes.items() if name not in left_out)
    barring = [taint.text for taint in device.taints if taint.bars]
    return json.dumps([device.driver, device.name, attributes, sorted(device.capacity.items()), barring])


def _key(node: ClaimNode) -> str:
    ports = [
        [
            address,
            [
                [
                    port.link_layer,
                    port.rate,
                    port.vf,
                    port.reasons,
                    port.netdev,
                    port.max_mtu,
                    port.connected,
                    port.other_kind,
                ]
                for port in ports
            ],
        ]
        for address, ports in sorted(node.ports.items())
    ]
    others = [sorted(node.numa.items()), node.may_hide_nics, node.transport_mode, sorted(node.unnamed)]
    return json.dumps([node.device_keys, ports, *others])


def _unnamed(devices: Sequence[SliceDevice], published: Collection[str]) -> FrozenSet[int]:
    return frozenset(
        place
        for place, device in enumerate(devices)
        if device.is_gpu and device.driver not in published and f"{device.driver}/productName" not in device.attributes
    )


def node(
    name: str,
    group: str,
    devices: Sequence[SliceDevice],
    facts: Optional[Facts],
    selectors: Sequence[str],
    published: Collection[str],
    transport_mode: Optional[str] = None,
) -> ClaimNode:
    """A node from its devices and from its facts.

    ``selectors`` are all that people wrote themselves, ``published`` are the drivers whose devices are those that they
    publish and not those that they are expected to.
    """
    known = facts or Facts()
    found = ClaimNode(name, group, list(devices), _ports(known), _numa(devices, known))
    found.transport_mode = transport_mode
    found.may_hide_nics = predict.may_hide_nics(known, model.DRANET in published)
    found.unnamed = _unnamed(found.devices, published)
    # An attribute that somebody's selector looks at may tell nodes apart.
    left_out = frozenset(
        identity for identity in IDENTITIES if not any(identity.split("/")[1] in text for text in selectors)
    )
    found.device_keys = [_device_key(device, left_out) for device in found.devices]
    found.key = _key(found)
    return found


def _against(port: NicPort, pick: NicPick) -> List[Tuple[str, str]]:
    found = [(code, text) for code, text in port.reasons if not (code == VF and pick.vf)]
    if pick.vf and not port.vf:
        found.append(("pf", "no virtual function"))
    if pick.link_layer not in (None, port.link_layer):
        hidden = port.unseen and port.link_layer is None
        found.append((_UNSEEN if hidden else _LAYER, f"its link layer is {port.link_layer or 'unknown'}"))
    asked = {"layer": pick.link_layer is not None, "rate": pick.min_rate is not None}
    if port.other_kind and not (asked[port.other_kind[0]] or pick.selectors or pick.named or pick.vf):
        found.append(port.other_kind)
    # The kernel prints a nominal rate for a port without a link.
    down = any(code == PORT_DOWN for code, _text in port.reasons)
    if pick.min_rate is not None and not down and (port.rate or 0) < pick.min_rate:
        speed = "an unknown rate" if port.rate is None else f"{port.rate:g} Gb/s"
        found.append((_UNSEEN if port.unseen else _RATE, f"it runs at {speed}"))
    return found


def _as_published(nic: SliceDevice) -> NicPort:
    """All that is known of a NIC without facts, or one that is away with its RDMA device (netns mode exclusive)."""
    layers = {"ether": "Ethernet", "infiniband": "InfiniBand"}
    is_vf = nic.attributes.get(model.IS_VF) is True
    reasons = ((VF, "a virtual function"),) if is_vf else ()
    layer = layers.get(str(nic.attributes.get(f"{model.DRANET}/encapsulation")))
    return NicPort(nic.name, layer, None, is_vf, reasons, model.IF_NAME in nic.attributes, unseen=nic.pci is not None)


def ports_of(node: ClaimNode, nic: SliceDevice) -> List[NicPort]:
    """The ports of a published NIC."""
    return node.ports.get(nic.pci or "") or [_as_published(nic)]


def hcas_of(node: ClaimNode, nics: Sequence[SliceDevice]) -> List[str]:
    """The HCAs of published NICs, like ``mlx5_0``, as far as the node's facts have them."""
    return list(
        dict.fromkeys(port.name.rpartition("/")[0] for nic in nics for port in node.ports.get(nic.pci or "", []))
    )


def verdict(node: ClaimNode, nic: SliceDevice, pick: NicPick) -> Verdict:
    """Whether a published NIC is one that the pick means. It is if any of its ports is."""
    ports = ports_of(node, nic)
    against = [_against(port, pick) for port in ports]
    least = min(against, key=len)
    if not least:
        return Verdict(True)
    why = f"{ports[against.index(least)].name}: {', '.join(text for _code, text in least)}"
    codes = {code for code, _text in least}
    return Verdict(False, codes == {PORT_DOWN}, codes == {_UNSEEN}, why)
