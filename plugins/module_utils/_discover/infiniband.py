# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""HCAs and their ports from ``/sys/class/infiniband`` (Documentation/ABI/stable/sysfs-class-infiniband)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree, is_number, text_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import CharDevice, Gid, Hca, Port, Sriov
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pkey
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

CLASS = "sys/class/infiniband"
# Where the kernel puts a device without a parent.
_VIRTUAL = "sys/devices/virtual/"
# The auxiliary device of a scalable function (Documentation/networking/devlink/devlink-port.rst).
_SUBFUNCTION = re.compile(r"/\w{1,32}\.sf\.[0-9]{1,9}(?:/|\Z)", re.ASCII)

# IBTA and RoCE counters whose growth means loss, a bad cable or congestion out of control.
_COUNTERS = (
    "counters/symbol_error",
    "counters/link_error_recovery",
    "counters/link_downed",
    "counters/port_rcv_errors",
    "counters/port_xmit_discards",
    "counters/local_link_integrity_errors",
    "counters/excessive_buffer_overrun_errors",
    "hw_counters/out_of_sequence",
    "hw_counters/packet_seq_err",
    "hw_counters/local_ack_timeout_err",
    "hw_counters/rx_icrc_encapsulated",
)

_RATE = re.compile(r"^([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*Gb/sec(?:\s*\(([0-9]{1,3})X)?", re.ASCII)
# All zero, or only the default subnet prefix on InfiniBand; an empty file is one that broke.
_UNUSED_GIDS = (b"", b"0000:0000:0000:0000:0000:0000:0000:0000", b"fe80:0000:0000:0000:0000:0000:0000:0000")
_UNUSED_PKEYS = (b"", b"0x0000")
_MAPPED_IPV4 = "0000:0000:0000:0000:0000:ffff:"


def _after_colon(text: Optional[str]) -> Optional[str]:
    return text.split(":", 1)[-1].strip() if text else None


@dataclass
class CharDevices:
    """Character devices by what they serve: an HCA's name, or (HCA, port)."""

    uverbs: Dict[str, CharDevice] = field(default_factory=dict)
    ucm: Dict[str, CharDevice] = field(default_factory=dict)
    umad: Dict[Tuple[str, int], CharDevice] = field(default_factory=dict)
    issm: Dict[Tuple[str, int], CharDevice] = field(default_factory=dict)


def char_device(tree: Tree, directory: str, name: str) -> CharDevice:
    """A device node that udev makes below ``/dev/infiniband``."""
    path = "dev/infiniband/" + name
    return CharDevice(name=name, path="/" + path, number=tree.text(directory + "/dev"), present=tree.exists(path))


def char_devices(tree: Tree) -> CharDevices:
    """All per-HCA and per-port character devices that the kernel has registered."""
    found = CharDevices()
    for class_name, table in (("infiniband_verbs", found.uverbs), ("infiniband_cm", found.ucm)):
        for name in tree.names("sys/class/" + class_name):
            directory = f"sys/class/{class_name}/{name}"
            hca = tree.name(directory + "/ibdev") if name.startswith(("uverbs", "ucm")) else None
            if hca:
                table[hca] = char_device(tree, directory, name)
    for name in tree.names("sys/class/infiniband_mad"):
        directory = "sys/class/infiniband_mad/" + name
        if not name.startswith(("umad", "issm")):
            continue
        hca, port = tree.name(directory + "/ibdev"), tree.number(directory + "/port")
        if hca and port is not None:
            (found.umad if name.startswith("umad") else found.issm)[(hca, port)] = char_device(tree, directory, name)
    return found


def _indices(tree: Tree, directory: str) -> List[int]:
    return sorted(int(name) for name in tree.names(directory) if is_number(name))


def _entries(tree: Tree, directory: str, unused: Sequence[bytes]) -> List[Tuple[int, str]]:
    """Used entries of a table that has one file per index."""
    used = [(name, raw) for name, raw in tree.contents(directory).items() if raw.rstrip() not in unused]
    return sorted((int(name), text_of(raw) or "") for name, raw in used if is_number(name))


def _gid_type(text: Optional[str], link_layer: Optional[str]) -> Optional[str]:
    # The kernel has one word for IB and RoCE v1 GIDs; the link layer tells them apart.
    if text != "IB/RoCE v1":
        return text
    return "RoCE v1" if link_layer == "Ethernet" else "IB"


def _gids(tree: Tree, directory: str, link_layer: Optional[str]) -> List[Gid]:
    found = []
    for index, value in _entries(tree, directory + "/gids", _UNUSED_GIDS):
        found.append(
            Gid(
                index=index,
                gid=value,
                type=_gid_type(tree.text(f"{directory}/gid_attrs/types/{index}"), link_layer),
                netdev=tree.name(f"{directory}/gid_attrs/ndevs/{index}"),
            )
        )
    return found


def mapped_ipv4(gid: str) -> Optional[str]:
    """The IPv4 address in an IPv4-mapped GID (``::ffff:a.b.c.d``), or ``None``."""
    if not gid.startswith(_MAPPED_IPV4):
        return None
    digits = gid[len(_MAPPED_IPV4) :].replace(":", "")
    try:
        return ".".join(str(byte) for byte in bytes.fromhex(digits))
    except ValueError:
        return None


def roce_v2_gid_index(port: Port) -> Optional[int]:
    """GID index that RoCE v2 traffic of this port should use.

    Prefers an IPv4-mapped GID, then a global IPv6 one, then link-local, and within each the port's own netdev over a
    VLAN on it and the lowest index. Indices are never assumed: the table depends on the order in which addresses came.
    """
    if port.link_layer != "Ethernet":
        return None

    def order(gid: Gid) -> Tuple[int, bool, int]:
        kind = 0 if mapped_ipv4(gid.gid) else 2 if gid.gid.startswith("fe80:") else 1
        foreign = port.netdev is not None and gid.netdev is not None and gid.netdev != port.netdev.name
        return kind, foreign, gid.index

    candidates = [gid for gid in port.gids if gid.type == "RoCE v2"]
    return min(candidates, key=order).index if candidates else None


def _port(tree: Tree, name: str, number: int, devices: CharDevices, counters: bool) -> Port:
    directory = f"{CLASS}/{name}/ports/{number}"
    link_layer = tree.text(directory + "/link_layer")
    rate = _RATE.match(tree.text(directory + "/rate") or "")
    port = Port(
        number=number,
        state=_after_colon(tree.text(directory + "/state")),
        physical_state=_after_colon(tree.text(directory + "/phys_state")),
        link_layer=link_layer,
        rate_gbps=float(rate.group(1)) if rate else None,
        lanes=int(rate.group(2)) if rate and rate.group(2) else None,
        lid=tree.number(directory + "/lid", 0),
        sm_lid=tree.number(directory + "/sm_lid", 0),
        pkeys=[key for _index, key in _entries(tree, directory + "/pkeys", _UNUSED_PKEYS) if pkey.is_pkey(key)],
        gids=_gids(tree, directory, link_layer),
        umad=devices.umad.get((name, number)),
        issm=devices.issm.get((name, number)),
    )
    for path in _COUNTERS if counters else ():
        value = tree.counter(directory + "/" + path)
        if value is not None:
            port.error_counters[path.split("/")[1]] = value
    return port


def places(tree: Tree, name: str) -> List[str]:
    """Where sysfs shows an HCA and the device it belongs to, resolved; a lost or broken link is left out."""
    found = [tree.resolve(path) for path in (CLASS + "/" + name, CLASS + "/" + name + "/device")]
    return [real for real in found if real]


def settle(tree: Tree, hca: Hca, address: Optional[str]) -> None:
    """Give an HCA the PCI function at ``address``, if there is one, with its link and SR-IOV role."""
    hca.pci = pci.function(tree, address) if address else None
    if hca.pci:
        hca.pcie_link = pci.link(tree, hca.pci.address)
        hca.sriov = pci.sriov(tree, hca.pci.address)


def _mark_planes(found: Sequence[Hca]) -> None:
    """Planes of a multi-plane HCA are RDMA devices of its function, without verbs (``rdma dev add ... type SMI``)."""
    by_function: Dict[str, List[Hca]] = {}
    for hca in found:
        if hca.pci and not hca.software:
            by_function.setdefault(hca.pci.address, []).append(hca)
    for address, several in by_function.items():
        for hca in several if any(other.uverbs for other in several) else ():
            if hca.uverbs is None:
                hca.subdevice, hca.parent, hca.pci, hca.pcie_link, hca.sriov = "smi", address, None, None, Sriov()


def hcas(tree: Tree, counters: bool) -> List[Hca]:
    """All RDMA devices with their ports; netdevs and what depends on them are still missing (``port_netdev``)."""
    found = []
    devices = char_devices(tree)
    for name in sorted(tree.names(CLASS), key=natural_key):
        directory = CLASS + "/" + name
        node_type = _after_colon(tree.text(directory + "/node_type"))
        real = places(tree, name)
        address = next((along[-1] for along in map(pci.components, real) if along), None)
        # "parent" is an attribute of rxe alone (drivers/infiniband/sw/rxe/rxe_verbs.c); siw is the kernel's only
        # software RNIC (drivers/infiniband/sw/siw).
        is_rxe = tree.exists(directory + "/parent")
        virtual = address is None and any(path.startswith(_VIRTUAL) for path in real)
        hca = Hca(
            name=name,
            software=is_rxe or virtual,
            node_type=node_type,
            node_guid=tree.text(directory + "/node_guid"),
            firmware=tree.text(directory + "/fw_ver"),
            board_id=tree.text(directory + "/board_id"),
            uverbs=devices.uverbs.get(name),
            ucm=devices.ucm.get(name),
            ports=[_port(tree, name, number, devices, counters) for number in _indices(tree, directory + "/ports")],
        )
        if hca.software:
            hca.driver = "rxe" if is_rxe else "siw" if node_type == "RNIC" else None
        elif any(_SUBFUNCTION.search(path) for path in real):
            hca.subdevice, hca.parent = "sf", address
            hca.driver = tree.target_name(f"{pci.DEVICES}/{address}/driver") if address else None
        else:
            settle(tree, hca, address)
            hca.driver = hca.pci.driver if hca.pci else None
        found.append(hca)
    _mark_planes(found)
    return found
