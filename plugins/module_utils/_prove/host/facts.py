# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Verdicts from the facts of one host and what the inventory says it should be."""

from __future__ import annotations

import ipaddress
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import kernel_log
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import warnings as codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import MTU
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.vfs import VFS
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import fleet
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import gpu_nic_checks
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import ranges
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined


def _of_vfs(node: HostEvidence, rails: Mapping[str, Optional[str]]) -> Iterator[Check]:
    """Of a host whose links have VFs; a VF that is in a pod tells nothing of its MTU."""
    wanted, mtu = node.values.get(VFS), node.values.get(MTU)
    functions = {}
    for hca, _port, name in node.ports():
        if wanted and name in rails and hca.pci:
            functions[hca.pci.address] = name
            if hca.sriov.num_vfs != wanted:
                text = f"{name} has {hca.sriov.num_vfs} VFs, {VFS} is {wanted}"
                yield node.check("vfs", "fail", name, text, "", "links", vfs=hca.sriov.num_vfs, wanted=wanted)
    for hca in node.known.hcas:
        for port in hca.ports if hca.sriov.pf_address in functions else []:
            netdev = port.netdev if port.netdev and port.netdev.present else None
            if netdev and mtu is not None and netdev.mtu not in (None, mtu):
                name = f"{hca.name}/{port.number}"
                of = functions[hca.sriov.pf_address or ""]
                text = f"{name} ({netdev.name}), a VF of {of}, has MTU {netdev.mtu}, {MTU} is {mtu}"
                yield node.check("vfs", "fail", name, text, "", "links", mtu=netdev.mtu, wanted=mtu)


EXPECT = "rdma_discover_expect_"
_INTENT = "Find out what is missing or in another mode, or correct {} in the inventory."
# Of each finding of discover's: part of the check's id, verdict and remedy. Alerts have them as well.
INTENTS = {
    "ports_missing": ("ports", "fail", _INTENT.format(EXPECT + "hcas")),
    "ports_unexpected": ("ports", "warn", _INTENT.format(EXPECT + "hcas")),
    "gpus_missing": ("gpus", "fail", _INTENT.format(EXPECT + "gpus")),
    "gpus_unexpected": ("gpus", "warn", _INTENT.format(EXPECT + "gpus")),
    "link_layer_differs": ("link_layer", "fail", "Set the port's link type (mlxconfig LINK_TYPE_P1), then reboot."),
    "rate_below_intent": ("port_rate", "fail", "Check cable, transceiver and the switch port's speed."),
}
WARNINGS = {
    "no_subnet_manager": ("subnet_manager", "fail", "Start a subnet manager for this fabric, on a switch or a host."),
    "port_down": ("port_state", "warn", "Plug in the cable or bring the port up, unless it is meant to be unused."),
    "rate_below_maximum": ("port_rate", "warn", "Check cable, transceiver and the switch port's speed."),
    "umad_missing": ("devices", "fail", "Load ib_umad."),
    "uverbs_missing": ("devices", "fail", "Load ib_uverbs."),
    "pcie_below_port_rate": ("pcie_link", "warn", "Put the card into a slot that carries the port's rate."),
    "pcie_degraded": ("pcie_link", "warn", "Reseat the card, and check its riser and the slot's width and speed."),
    "netdev_claimed_twice": (
        "devices",
        "warn",
        "Reboot the node. If this does not help, contact the driver's vendor.",
    ),
    "no_rdma_device": ("devices", "warn", "Load the module, or find the pod that has the device."),
    "link_errors": ("link_errors", "warn", "Check cable, transceiver and switch port if the counter keeps growing."),
    "acs_without_cuda": (
        "acs",
        "fail",
        "Update the kernel to 6.11 or newer, remove iommu.passthrough=1, or disable ACS on these bridges.",
    ),
    "other_gpus": ("gpus", "warn", "Set rdma_discover_gpu_vendors, and rdma_gpu_resources for their device plugin."),
    "other_drivers": ("ports", "warn", "Set rdma_discover_drivers."),
    "numa_unknown": ("numa", "warn", "Update the firmware, or enable its NUMA description of PCIe."),
    "hca_unhealthy": (
        "kernel_log",
        "fail",
        "Power-cycle the node; if it happens again, update the card's firmware or replace the card.",
    ),
    "command_timeout": ("kernel_log", "fail", "Update the card's firmware, and power-cycle the node."),
    "firmware_reset": ("kernel_log", "warn", "Update the card's firmware if it happens again."),
    "register_access": (
        "kernel_log",
        "warn",
        "Update the card's firmware: the driver or a tool asks for a register that it does not provide.",
    ),
    "peermem_error": (
        "kernel_log",
        "warn",
        "Update the GPU driver (560 or newer), or use dma-buf instead of nvidia_peermem, if programs fail.",
    ),
    "slot_power": (
        "kernel_log",
        "warn",
        "Put the card into a slot with enough power, unless the measured bandwidth shows that it has enough.",
    ),
    "hca_temperature": ("kernel_log", "warn", "Check the airflow to the card and its transceivers."),
    "module_error": (
        "kernel_log",
        "fail",
        "Reseat the transceiver or cable, or replace it with one that the card supports.",
    ),
    "transmit_timeout": ("kernel_log", "warn", "Check the link and its flow control, and update driver and firmware."),
    "pcie_fatal": ("kernel_log", "fail", "Reseat the card, and check its riser and slot."),
    "pcie_error": ("kernel_log", "warn", "Reseat the card, and check its riser and slot."),
    "unreadable": ("facts", "warn", "Run verify as root, and check the kernel log."),
}
# The findings that a run of site fixes.
_MENDS = {"umad_missing": "kernel", "uverbs_missing": "kernel"}
# A module of these that is not there stops some kinds of traffic, not all.
_OPTIONAL = {"ib_ipoib": "IPoIB", "nvidia_peermem": "GPUDirect"}


def _intent(node: HostEvidence) -> fleet.NodeIntent:
    names = ("hcas", "gpus", "link_layer", "rate_gbps")
    return fleet.NodeIntent(**{name: node.values.get(EXPECT + name) for name in names})


def _of_intent(node: HostEvidence) -> Iterator[Check]:
    for short in fleet.against_intent(fleet.FleetNode(node.host, node.group, node.facts, _intent(node))):
        what, verdict, remedy = INTENTS[short.code]
        yield node.check(what, verdict, short.port, short.text, remedy, code=short.code)


def _of_warnings(node: HostEvidence, known: Sequence[Tuple[str, str]]) -> Iterator[Check]:
    rails = list(node.rails.values())
    intent = _intent(node)
    degraded = {warning.subject: warning for warning in node.known.warnings if warning.code == codes.PCIE_DEGRADED}
    limited = {
        each.subject.partition("/")[0] for each in node.known.warnings if each.code == codes.PCIE_BELOW_PORT_RATE
    }
    enough = intent.hcas == len(fleet.expected_ports(node.known, intent))
    for warning in node.known.warnings:
        code, subject = warning.code, warning.subject
        if code == codes.ACS_REDIRECTS:
            # The verdict of each pair says it, with what to do.
            continue
        what, verdict, remedy = WARNINGS.get(code, ("other", "warn", "See the description of the module rdma_facts."))
        if code == codes.PORT_DOWN and subject in rails:
            verdict = "fail"
        elif code == codes.PORT_DOWN and enough:
            continue
        if "recovered" in warning.fields:
            verdict = "warn"
        text, cause = warning.text, degraded.get(subject.partition("/")[0])
        if code == codes.PCIE_BELOW_PORT_RATE and cause:
            # One slot, one finding.
            verdict, remedy, text = "fail", WARNINGS[cause.code][2], f"{text}: {cause.text}"
        if code == codes.PCIE_DEGRADED and subject in limited:
            continue
        if (f"host.{what}", subject) not in known:
            yield node.check(what, verdict, subject, text, remedy, _MENDS.get(code, ""), code=code)


def _modules(node: HostEvidence) -> Iterator[Check]:
    # The verdicts of pairs say how their NIC reaches the memory of their GPU.
    told = node.known.system.gpudirect.dmabuf or any(entry.nearest for entry in node.known.affinity)
    for name, state in node.known.system.modules.items():
        if state in ("loaded", "builtin", "unknown") or (name == "nvidia_peermem" and told):
            continue
        verdict = "warn" if name in _OPTIONAL else "fail"
        why = f", so there is no {_OPTIONAL[name]}" if name in _OPTIONAL else ""
        text = f"kernel module {name} is {'not loaded' if state == 'available' else 'not installed'}{why}"
        remedy = "" if state == "available" else "Install the package that contains it first."
        yield node.check("modules", verdict, name, text, remedy, "kernel", state=state)


def _netns_mode(node: HostEvidence) -> Iterator[Check]:
    name = "rdma_kernel_netns_mode"
    mode, wanted = node.known.system.netns_mode, node.values.get(name)
    if wanted and mode and mode != wanted:
        text = f"the RDMA netns mode is {mode}, {name} is {wanted}"
        remedy = "Run prepare, and reboot the node if prepare asks for it: the mode cannot be changed while pods run."
        yield node.check("netns_mode", "fail", "", text, remedy, "kernel", mode=mode, wanted=wanted)


def _mtu(node: HostEvidence, rails: Mapping[str, Optional[str]]) -> Iterator[Check]:
    wanted = node.values.get("rdma_links_mtu")
    for _hca, port, name in node.ports():
        netdev = port.netdev
        mtu = netdev.mtu if netdev else None
        if netdev and wanted is not None and name in rails and mtu is not None and mtu != wanted:
            text = f"{name} ({netdev.name}) has MTU {mtu}, rdma_links_mtu is {wanted}"
            yield node.check("mtu", "fail", name, text, "", "links", mtu=mtu, wanted=wanted)


def _addressed(node: HostEvidence, rails: Mapping[str, Optional[str]]) -> Iterator[Tuple[str, Optional[Netdev], str]]:
    """Name, netdev (``None``: none on the host) and planned address of the ports that should have one."""
    # The address of a partition or VLAN belongs to another netdev than the port's.
    if node.values.get("rdma_links_pkeys") or node.values.get("rdma_links_vlan"):
        return
    for _hca, port, name in node.ports():
        wanted = rails.get(name)
        if wanted is not None:
            yield name, port.netdev if port.netdev and port.netdev.present else None, wanted


def _address(node: HostEvidence, rails: Mapping[str, Optional[str]]) -> Iterator[Check]:
    bare, away = _without_netdev(node, rails)
    for name, netdev, wanted in _addressed(node, rails):
        if netdev and wanted not in netdev.addresses:
            has = ", ".join(netdev.addresses) or "no address"
            text = f"{name} ({netdev.name}) has {has}, it should have {wanted}"
            yield node.check("address", "fail", name, text, "", "links", addresses=has, wanted=wanted)
    if bare:
        text = f"no IPoIB netdev for the planned address of {joined(bare)}"
        remedy = "Load ib_ipoib, or leave rdma_links_* unset for ports that need no addresses."
        yield node.check("address", "fail", "", text, remedy, ports=bare)
    if away:
        text = f"no netdev on the host for the planned address of {joined(away)}"
        yield node.check("address", "impossible", "", text, "Verify again when no pod has them.", ports=away)


def _without_netdev(node: HostEvidence, rails: Mapping[str, Optional[str]]) -> Tuple[List[str], List[str]]:
    """The ports that should have an address and have no netdev: those that never have one, and those in pods."""
    ports = {name: port for _hca, port, name in node.ports()}
    names = [name for name, netdev, _wanted in _addressed(node, rails) if netdev is None]
    bare = [name for name in names if ports[name].netdev is None and ports[name].link_layer == "InfiniBand"]
    return bare, [name for name in names if name not in bare]


def _portless(node: HostEvidence) -> Iterator[Check]:
    """Rails with a planned address for which this host has no port."""
    try:
        missing = [rail for rail in node.addresses() if rail not in node.rails]
    except PlanError:
        return
    if missing:
        text = f"no port for {'rail' if len(missing) == 1 else 'rails'} {ranges(list(map(str, missing)))}"
        remedy = "Find out which port is missing, or plan fewer rails for this host (rdma_links_rails)."
        yield node.check("address", "fail", "", f"{text}, which should have an address", remedy, rails=missing)


def _lacking(netdev: Netdev, wanted: Interface, table: Optional[int]) -> List[str]:
    """The routes and rules that go with an address and are not there."""
    lacking = []
    network, full = str(wanted.network), wanted.network.prefixlen == wanted.network.max_prefixlen
    # A VRF has a table of its own for them.
    if not full and not netdev.master and not any(route.to == network for route in netdev.routes or []):
        lacking.append(f"the route to {network}")
    if table is not None:
        if not any((route.to, route.table) == (network, table) for route in netdev.routes or []):
            lacking.append(f"the route to {network} in table {table}")
        rule = (f"{wanted.ip}/{wanted.network.max_prefixlen}", table)
        if rule not in [(own.source, own.table) for own in netdev.rules or []]:
            lacking.append(f"the rule from {wanted.ip} to table {table}")
    return lacking


def _routed(node: HostEvidence, rails: Mapping[str, Optional[str]]) -> Iterator[Tuple[str, Netdev, List[str]]]:
    """Name, netdev and what is lacking, of ports with their planned address whose routes are known."""
    try:
        planned = node.addresses()
    except PlanError:
        return
    tables = host_links.rail_tables(planned)
    numbers = {name: rail for rail, name in node.rails.items()}
    for name, netdev, wanted in _addressed(node, rails):
        if netdev and netdev.routes is not None and wanted in netdev.addresses:
            rail = numbers[name]
            yield name, netdev, _lacking(netdev, planned[rail], tables.get(rail))


def _routes(node: HostEvidence, rails: Mapping[str, Optional[str]]) -> Iterator[Check]:
    for name, netdev, lacking in _routed(node, rails):
        if lacking:
            text = f"{name} ({netdev.name}) lacks {' and '.join(lacking)}"
            yield node.check("routes", "fail", name, text, "", "links", lacking=lacking)


def _gids(node: HostEvidence, rails: Mapping[str, Optional[str]]) -> Iterator[Check]:
    for _hca, port, name in node.ports():
        if port.link_layer != "Ethernet":
            continue
        gids = [gid.gid for gid in port.gids if gid.type == "RoCE v2"]
        wanted = rails.get(name)
        remedy = "Give the port's netdev its address and bring it up; RoCE v1 only means an old driver or mode."
        if port.roce_v2_gid_index is None:
            types = joined(sorted({str(gid.type) for gid in port.gids})) or "none"
            text = f"{name} has no GID of RoCE v2 (types of its GIDs: {types})"
            yield node.check("gid", "fail", name, text, remedy, types=types)
        elif wanted is not None and not any(_carries(gid, wanted) for gid in gids):
            text = f"{name} has no GID of RoCE v2 with its address {wanted}"
            yield node.check("gid", "fail", name, text, remedy, gids=gids)


def _carries(gid: str, interface: str) -> bool:
    try:
        found = ipaddress.IPv6Address(gid)
    except ValueError:
        return False
    return (found.ipv4_mapped or found) == ipaddress.ip_interface(interface).ip


def _wanted(node: HostEvidence) -> Dict[str, Optional[str]]:
    """The address of each port that is a rail, ``None`` where none is planned."""
    try:
        planned = {rail: str(address) for rail, address in node.addresses().items()}
    except PlanError:
        planned = {}
    return {name: planned.get(rail) for rail, name in node.rails.items()}


def _passed(node: HostEvidence, seen: Sequence[str], rails: Mapping[str, Optional[str]]) -> Iterator[Check]:
    """One check for each thing that is right on all ports."""
    ports = list(node.ports())
    names = [name for _hca, _port, name in ports]
    many = counted(len(names), "port")
    # A software device has neither a rate nor a PCIe link of its own.
    rates = sorted({port.rate_gbps for hca, port, _name in ports if port.rate_gbps and not hca.software})
    infiniband = [port for _hca, port, _name in ports if port.link_layer == "InfiniBand"]
    ethernet = len(ports) - len(infiniband)
    addressed = [name for name, netdev, _wanted in _addressed(node, rails) if netdev]
    routed = [name for name, _netdev, _lacking in _routed(node, rails)]
    gpus = len(node.known.gpus)
    expected = set(fleet.expected_ports(node.known, _intent(node))) & set(node.usable)
    mtu = node.values.get("rdma_links_mtu")
    with_mtu = [name for _hca, port, name in ports if name in rails and port.netdev and port.netdev.mtu == mtu]
    right = {
        "ports": f"{counted(len(expected), 'port')} fit for workloads, as expected in the group"
        if EXPECT + "hcas" in node.values
        else "",
        "gpus": f"{counted(gpus, 'GPU')}, as expected in the group" if EXPECT + "gpus" in node.values else "",
        "port_state": f"{many} ACTIVE: {joined(names)}" if ports else "",
        "port_rate": f"ports run at {joined([f'{rate:g}' for rate in rates])} Gb/s" if rates else "",
        "subnet_manager": f"a subnet manager for {counted(len(infiniband), 'port')}" if infiniband else "",
        "gid": f"a GID of RoCE v2 on {counted(ethernet, 'port')}" if ethernet else "",
        "devices": f"{many} with uverbs and umad devices" if ports else "",
        "pcie_link": "the PCIe links can carry the rates of the ports" if rates else "",
        "mtu": f"MTU {mtu} on {joined(with_mtu)}" if mtu is not None and with_mtu else "",
        "vfs": f"{node.values[VFS]} VFs on each rail" if node.values.get(VFS) and ports else "",
        "address": f"the planned address on {joined(addressed)}" if addressed else "",
        "routes": f"the routes of the planned addresses on {joined(routed)}" if routed else "",
        "modules": "the kernel modules for this hardware are loaded",
        "kernel_log": "no message of the kernel about a fault of an HCA" if "kernel_log" in node.known.sources else "",
    }
    for what, text in right.items():
        if text and f"host.{what}" not in seen:
            yield node.check(what, "pass", "", text, ports=names)


def of_node(node: HostEvidence) -> List[Check]:
    """All verdicts that the facts of one host allow."""
    if node.facts is None:
        if node.malformed:
            text = f"the facts that this host sent cannot be used: {node.malformed}"
            return [node.check("facts", "fail", "", text, "Gather them again with this version of the collection.")]
        text = "there are no facts of this host: it could not be reached, or gathering them failed"
        return [node.check("facts", "fail", "", text, "See the error of the task that gathers the facts.")]
    rails = _wanted(node)
    found = [*_of_intent(node)]
    found += _of_warnings(node, [(check.id, check.subject) for check in found])
    if "host.ports" not in [check.id for check in found]:
        found += _portless(node)
    found += [*_modules(node), *_netns_mode(node), *_mtu(node, rails), *_address(node, rails)]
    found += [*_routes(node, rails), *_gids(node, rails), *_of_vfs(node, rails), *gpu_nic_checks.of_node(node)]
    away = [f"{hca}/{port}" for hca, port in node.known.in_pod]
    if away:
        text = f"in a pod at the moment: {joined(away)}"
        found.append(node.check("in_pod", "impossible", "", text, "Verify again when the pod has ended.", ports=away))
    if kernel_log.PATH in node.known.unreadable:
        text = f"it is unknown whether the kernel reported faults of HCAs: this user may not read {kernel_log.PATH}"
        found.append(node.check("kernel_log", "impossible", "", text, "Run verify as root."))
    return found + list(_passed(node, [check.id for check in found], rails))
