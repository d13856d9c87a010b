# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Virtual functions of links (SR-IOV): how many, where they will be, and whether somebody uses them. Reads only.

NetworkManager makes those of Ethernet ports at boot, by ``sriov-num-vfs`` of the device (NetworkManager.conf(5)), not
by ``[sriov]`` of the profile: that removes all VFs, also those in pods, whenever the profile goes down, fails or is
rolled back (src/core/devices/nm-device.c; ``preserve-on-down``, which prevents it, exists since 1.54 only). Those of
InfiniBand ports need GUIDs and are made by a script (``vf_guids``).
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev, pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import guard, vf_guids
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import Link, Selector
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.resolve import Target
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import LinkState, PfVfs, VfChange
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci as values_pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import is_link_local
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.sriov import GUID_DRIVER, more_vfs


def _above(tree: Tree, path: str) -> Optional[str]:
    """Address of the PCI function that the class device ``path`` belongs to."""
    parts = (tree.resolve(path) or "").split("/")
    found = parts[-3] if len(parts) > 2 else ""
    return found if values_pci.is_address(found) else None


def function_of(tree: Tree, link: Link, target: Target, remembered: Mapping[str, Any]) -> Optional[str]:
    """PCI address of the link's port, also while its netdev is in a pod; ``None`` where it has none, or none known."""
    if target.interface:
        return _above(tree, f"{netdev.CLASS}/{target.interface.name}")
    if link.selector.kind == "pci":
        return link.selector.value
    found = _above(tree, f"sys/class/infiniband/{link.selector.value}") if link.selector.kind == "hca" else None
    return found or remembered.get("pci")


def addresses(tree: Tree, pf: str, number: int) -> List[str]:
    """PCI addresses that the first ``number`` VFs of a PF have, or will have.

    A VF's routing id lies First VF Offset plus a multiple of VF Stride after that of its PF (PCI Express Base
    Specification, 9.2.1.2). Raises HostError where the kernel does not tell them.
    """
    directory = f"{pci.DEVICES}/{pf}"
    offset, stride = (tree.number(f"{directory}/sriov_{name}") for name in ("offset", "stride"))
    found = []
    for index in range(number):
        there = tree.target_name(f"{directory}/virtfn{index}")
        if there is None and (not offset or (stride is None or (not stride and number > 1))):
            raise HostError(f"vfs: the kernel does not tell where the VFs of {pf} will be (sriov_offset, sriov_stride)")
        found.append(there or values_pci.shifted(pf, (offset or 0) + index * (stride or 0)))
    return found


def wanted(tree: Tree, links: Sequence[Link], targets: Sequence[Target], notes: Mapping[str, Any]) -> List[PfVfs]:
    """The VFs that links ask for.

    :raises HostError: a port cannot have VFs, or not that many; says which command raises the limit.
    """
    found = []
    for link, target in zip(links, targets):
        if not link.vfs:
            continue
        where = f"links: {link.name}: vfs is {link.vfs}"
        pf = function_of(tree, link, target, notes.get(link.name, {}))
        if pf is None:
            if target.interface is None:
                # In a pod, and never seen.
                continue
            raise HostError(f"{where}, but {target.netdev} is not a PCI function of its own, so it cannot have VFs")
        directory = f"{pci.DEVICES}/{pf}"
        if tree.exists(f"{directory}/physfn"):
            raise HostError(f"{where}, but {pf} is a VF itself")
        total = tree.number(f"{directory}/sriov_totalvfs") or 0
        if link.vfs > total:
            driver = tree.target_name(f"{directory}/driver")
            raise HostError(f"{where}, but {pf} can have {total} at most; {more_vfs(pf, driver, link.vfs)}")
        guids = _guids(tree, where, pf, link, target, notes.get(link.name, {}))
        if guids is not None:
            there = tuple(addresses(tree, pf, link.vfs))
            found.append(PfVfs(link.name, pf, target.mac, link.vfs, link.mtu, there, guids))
    return found


def _guids(
    tree: Tree, where: str, pf: str, link: Link, target: Target, remembered: Mapping[str, Any]
) -> Optional[Tuple[str, ...]]:
    """GUIDs of a link's VFs; ``None`` where they are not known while a pod has the port. Raises HostError."""
    # Whoever asks may know none while a pod has the RDMA device as well.
    guids = link.vf_guids or tuple(remembered.get("guids", ()))
    if target.kind == "ethernet" or (target.kind is None and not guids):
        return ()
    if not guids and target.interface is None:
        return None
    if len(guids) != link.vfs:
        raise HostError(f"{where}, but there are {len(guids)} vf_guids: each VF of an InfiniBand port needs one")
    driver = tree.target_name(f"{pci.DEVICES}/{pf}/driver")
    if driver != GUID_DRIVER:
        raise HostError(f"{where}, but {pf} has the driver {driver}: only {GUID_DRIVER} can set GUIDs of VFs")
    return guids


def selectors(pfs: Sequence[PfVfs], unmanaged: Sequence[Selector]) -> List[Selector]:
    """What NetworkManager is to leave alone, with the VFs."""
    known = {str(entry) for entry in unmanaged}
    every = [Selector("pci", address) for pf in pfs for address in pf.addresses]
    return [*unmanaged, *(entry for entry in every if str(entry) not in known)]


def _existing(tree: Tree, pf: str) -> List[str]:
    directory = f"{pci.DEVICES}/{pf}"
    links = [name for name in tree.names(directory) if name.startswith("virtfn")]
    return [address for address in (tree.target_name(f"{directory}/{name}") for name in links) if address]


def netdevs(tree: Tree, pf: str) -> List[str]:
    """Netdevs of a PF's VFs that are on the host."""
    every = [f"{pci.DEVICES}/{address}" for address in _existing(tree, pf)]
    return [name for directory in every for name in netdev.pci_netdevs(tree, directory)]


def in_use(node: LinkState, pf: str) -> Optional[str]:
    """The VF of the PF that is in use, and by what; ``None`` if none is."""
    for address in sorted(_existing(node.tree, pf)):
        directory = f"{pci.DEVICES}/{address}"
        driver = node.tree.target_name(f"{directory}/driver")
        names = [name for name in netdev.pci_netdevs(node.tree, directory) if name in node.interfaces]
        if driver and not names:
            return f"VF {address} ({driver}) has no netdev on the host, so it is in a pod or a VM"
        for name in names:
            problem = guard.problem(node.tree, name, node.routes, node.session, physical=True)
            if problem:
                return f"VF {address} is used: {problem}"
            for upper in netdev.upper_netdevs(node.tree, name):
                return f"VF {address} is used: {upper} is on {name}"
            given = _addresses(node, name)
            if given:
                return f"VF {address} is used: {name} has {', '.join(given)}"
    return None


def _addresses(node: LinkState, name: str) -> List[str]:
    """Addresses of a netdev that somebody has given to it."""
    interface = node.interfaces.get(name)
    return [entry for entry in interface.addresses if not is_link_local(entry)] if interface else []


def configured(node: LinkState, name: str) -> Optional[str]:
    """What NetworkManager has configured on a netdev, or on one on it, and would take down with it, in words."""
    devices = node.snapshot().devices if node.snapshot else {}
    for own in (name, *netdev.upper_netdevs(node.tree, name)):
        active, given = devices[own].active if own in devices else None, _addresses(node, own)
        if active and not active.external and given:
            return f"connection {active.id!r} has given {', '.join(given)} to {own}; bring it down first"
    return None


def changes(node: LinkState, pfs: Sequence[PfVfs]) -> List[VfChange]:
    """PFs that need another number of VFs, or others. A PF that no link names any more gets back the number it had.

    :raises HostError: somebody uses a VF that would go: another number, or GUID, needs all of them removed first.
    """
    asked = {entry.pci: entry for entry in pfs}
    targets: Dict[str, Tuple[str, int]] = {
        pf: ("vfs", number) for pf, number in node.ledger.notes.get("vfs", {}).items()
    }
    targets.update((entry.pci, (f"links: {entry.link}: vfs", entry.number)) for entry in pfs)
    found = []
    for pf, (where, after) in sorted(targets.items()):
        before = node.tree.number(f"{pci.DEVICES}/{pf}/sriov_numvfs")
        guids = asked[pf].guids if pf in asked else ()
        others = vf_guids.differing(node.tree, pf, guids) if before == after else []
        if before is None or (before == after and not others):
            continue
        what = f"{pf} has {before} VFs and would get {after}"
        if others:
            what = f"VF {others[0][0]} has GUID {others[0][1]} and would get {others[0][2]}"
        user = in_use(node, pf)
        if user:
            raise HostError(f"{where}: {what}, for which all VFs must go, but {user}; stop what uses it first")
        if guids and not netdev.pci_netdevs(node.tree, f"{pci.DEVICES}/{pf}"):
            raise HostError(f"{where}: {what}, but GUIDs are set through the netdev of {pf}, which is not on the host")
        found.append(VfChange(pf, before, after, tuple(others)))
    return found


def mtus(node: LinkState, pfs: Sequence[PfVfs], changing: Sequence[VfChange]) -> List[Tuple[str, int, int]]:
    """Netdev, MTU and right MTU of VFs on the host that have another one; those that are made anew get it by udev."""
    anew = {change.pci for change in changing}
    found = []
    for entry in pfs:
        for name in netdevs(node.tree, entry.pci) if entry.mtu and entry.pci not in anew else []:
            interface = node.interfaces.get(name)
            if interface and interface.mtu not in (None, entry.mtu):
                found.append((name, interface.mtu or 0, entry.mtu or 0))
    return found


def check_takeover(node: LinkState, where: str, name: str, active: str) -> None:
    """Whether another profile of the port may go down.

    :raises HostError: somebody uses a VF, and with ``[sriov]`` in that profile NetworkManager would remove all.
    """
    pf = _above(node.tree, f"{netdev.CLASS}/{name}")
    user = in_use(node, pf) if pf else None
    if user:
        raise HostError(
            f"{where}: connection {active!r} would go down on {name}, and may take its VFs with it, but {user}; "
            "stop what uses it first"
        )
