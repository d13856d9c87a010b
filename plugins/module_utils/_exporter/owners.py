# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whose a port is: the pods that hold it, by what shows that they do."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.claims import Claimed, Claims
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.look import ON_HOST, Known
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.namespaces import CHILDREN, Link
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.pods import Container
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.ports import Reading

# The port is in the pod's network namespace; the container has its device; it has all devices, being privileged.
# Others are the kinds of netdevs that share a port, such as ipvlan.
NETNS, DEVICE, PRIVILEGED = "netns", "device", "privileged"
# How DRANET, and DRA drivers of device plugins after it, name a PCI function.
_NOT_IN_NAMES = re.compile("[:.]")
_DRANET = "dra.net"


class Owner(NamedTuple):
    """``container`` and ``claim`` are empty where none is known, ``how`` says what shows it."""

    namespace: str
    pod: str
    container: str
    claim: str
    how: str


class _Device(NamedTuple):
    """A port as pods hold it; ``uverbs`` and ``address`` are empty where it has none."""

    uverbs: str
    address: str
    netdev: str


def claim_of(claimed: Sequence[Claimed], device: _Device, how: str) -> str:
    """The claim that brought a port: by the name that its driver has for the device, or else as the only possible one.

    A NIC that was moved came with a claim of DRANET's, which names no devices; with two of these, it may be either.
    """
    names = {f"pci-{_NOT_IN_NAMES.sub('-', device.address)}"} if device.address else set()
    names |= {f"net-{device.netdev}"}
    named = [each.claim for each in claimed if each.device in names]
    moved = {each.claim for each in claimed if each.driver == _DRANET and not each.device}
    if not named and len(moved) == 1 and how not in (DEVICE, PRIVILEGED):
        named = sorted(moved)
    return named[0] if named else ""


class Owners:
    """The owners of ports, from what one look has found."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._containers: Dict[str, List[Container]] = {}
        for container in known.pods.containers.values():
            self._containers.setdefault(container.sandbox, []).append(container)
        self._of_netns: Dict[int, List[str]] = {}
        for sandbox, pod in known.pods.pods.items():
            if pod.inode:
                self._of_netns.setdefault(pod.inode, []).append(sandbox)
        self._by_device: Dict[str, List[Container]] = {}
        for container in known.pods.containers.values():
            for number in container.devices:
                self._by_device.setdefault(number, []).append(container)
        moved = [(place, link) for place, links in known.links.items() for link in links if link.pci and not link.kind]
        self._by_pci = {link.pci: (place, link) for place, link in moved}
        names = [link.name for _place, link in moved]
        # A software device tells its netdev by name, and pods may well call theirs the same.
        self._by_name = {link.name: (place, link) for place, link in moved if names.count(link.name) == 1}
        self._children = _children(known.links)
        self._index = {link.name: link.number for link in known.host_links}
        self._pci = {(place, link.name): link.pci for place, links in known.links.items() for link in links}

    def place(self, reading: Reading, port: Mapping[str, object]) -> int:
        """The network namespace that a port's netdev, or else its HCA, is in."""
        found = self.moved(reading, port)
        return found[0] if found else int(reading["place"])

    def moved(self, reading: Reading, port: Mapping[str, object]) -> Optional[Tuple[int, Link]]:
        """Where the netdev of a port is that the host sees without it, ``None`` if there is none in a pod."""
        if reading["place"] != ON_HOST or port["netdev"]:
            return None
        return self._by_pci.get(reading["pci"]) or self._by_name.get(reading["parent"])

    def address(self, reading: Reading, port: Mapping[str, object]) -> str:
        """The PCI address of a port; a software device has that of its netdev, wherever both are."""
        found = self.moved(reading, port)
        here = (int(reading["place"]), str(port["netdev"]))
        return str(reading["pci"] or (found[1].pci if found else self._pci.get(here, "")))

    def of(self, reading: Reading, port: Mapping[str, object]) -> List[Owner]:
        """The pods and containers that hold a port, each once."""
        found: Dict[Owner, None] = {}
        netdev = str(port["netdev"] or "")
        place = self.place(reading, port)
        device = _Device(str(reading["uverbs"]), self.address(reading, port), netdev)
        said = set()
        if place != ON_HOST:
            for sandbox in self._of_netns.get(place, []):
                found.update(dict.fromkeys(self._in_pod(sandbox, device, NETNS)))
                said.add(sandbox)
        elif netdev in self._index:
            for inode, kind in self._children.get(self._index[netdev], []):
                for sandbox in self._of_netns.get(inode, []):
                    found.update(dict.fromkeys(self._in_pod(sandbox, device, kind)))
                    said.add(sandbox)
        for container in self._by_device.get(device.uverbs, []):
            if container.sandbox not in said:
                how = PRIVILEGED if container.privileged else DEVICE
                found.update(dict.fromkeys(self._owners(container.sandbox, [container], device, how)))
        return list(found)

    def _in_pod(self, sandbox: str, device: _Device, how: str) -> Iterator[Owner]:
        """The containers of a pod that have the device as well, or the pod alone where none has."""
        having = [each for each in self._containers.get(sandbox, []) if device.uverbs in each.devices]
        yield from self._owners(sandbox, having or [Container("", sandbox)], device, how)

    def _owners(self, sandbox: str, containers: Sequence[Container], device: _Device, how: str) -> Iterator[Owner]:
        pod = self._known.pods.pods.get(sandbox)
        if pod is None:
            return
        for container in containers:
            claimed = _claimed(self._known.claims, pod.namespace, pod.name, container.name)
            yield Owner(pod.namespace, pod.name, container.name, claim_of(claimed, device, how), how)


def _claimed(claims: Claims, namespace: str, pod: str, container: str) -> List[Claimed]:
    if container:
        return claims.get((namespace, pod, container), [])
    return [each for key, value in claims.items() if key[:2] == (namespace, pod) for each in value]


def _children(links: Mapping[int, Sequence[Link]]) -> Dict[int, List[Tuple[int, str]]]:
    """By the index of a netdev on the host, the namespaces that have netdevs on it, with the kind of these."""
    found: Dict[int, List[Tuple[int, str]]] = {}
    for place, each in links.items():
        for link in each:
            if link.kind in CHILDREN and link.outside and link.parent:
                found.setdefault(link.parent, []).append((place, link.kind))
    return found
