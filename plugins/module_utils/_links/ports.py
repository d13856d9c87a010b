# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which port of a node each rail is, from the node's facts and, where given, ``rdma_links_ports``."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Reason
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Gid, Hca, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import IN_POD, PASSING, PORT_DOWN
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.addresses import interface_id
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import mac as values_mac
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names, pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, checked, wrong

PORTS = "rdma_links_ports"
# What is chosen first.
_UP, _IN_POD, _DOWN = range(3)


@dataclass
class Candidate:
    """One port of the facts, as a rail may need it.

    ``barred`` are the reasons why it can never be a rail, ``mac`` is that of its netdev.
    ``addresses`` are those it has now, also those that only its GIDs show because a pod has its netdev.
    """

    hca: str
    number: int
    pci: Optional[str] = None
    link_layer: Optional[str] = None
    netdev: Optional[str] = None
    mac: Optional[str] = None
    max_mtu: Optional[int] = None
    down: bool = False
    in_pod: bool = False
    barred: List[str] = field(default_factory=list)
    barred_codes: FrozenSet[str] = frozenset()
    vf: bool = False
    pkeys: List[str] = field(default_factory=list)
    networks: List[str] = field(default_factory=list)
    addresses: FrozenSet[str] = frozenset()
    interface_ids: FrozenSet[int] = frozenset()

    @property
    def name(self) -> str:
        return f"{self.hca}/{self.number}" if self.hca else str(self.pci or self.mac)

    @property
    def selector(self) -> Dict[str, Any]:
        """How the module finds it again."""
        if self.hca:
            return {"hca": self.hca, "port": self.number}
        return {"pci": self.pci} if self.pci else {"mac": self.mac}

    @property
    def configurable(self) -> bool:
        """An InfiniBand port works without a netdev (IPoIB), and then there is nothing to give an address to."""
        return self.netdev is not None or self.in_pod


def _of_gids(gids: Sequence[Gid]) -> Iterator[ipaddress.IPv6Address]:
    for gid in gids:
        try:
            yield ipaddress.IPv6Address(gid.gid)
        except ValueError:
            continue


def _candidate(hca: Hca, port: Port, reasons: Sequence[Reason]) -> Candidate:
    netdev = port.netdev
    networks = netdev.addresses if netdev else []
    gids = list(_of_gids(port.gids))
    codes = {reason.code for reason in reasons}
    known = {str(gid.ipv4_mapped or gid) for gid in gids if not gid.is_link_local}
    return Candidate(
        hca=hca.name,
        number=port.number,
        pci=hca.pci.address if hca.pci else None,
        link_layer=port.link_layer,
        netdev=netdev.name if netdev else None,
        mac=netdev.mac if netdev else None,
        max_mtu=netdev.max_mtu if netdev else None,
        down=PORT_DOWN in codes,
        in_pod=IN_POD in codes,
        barred=[reason.text for reason in reasons if reason.code not in PASSING],
        barred_codes=frozenset(codes - PASSING),
        vf=hca.sriov.role == "vf",
        pkeys=list(port.pkeys),
        networks=list(networks),
        addresses=frozenset(known | {text.split("/")[0] for text in networks}),
        interface_ids=frozenset(int(gid) & (1 << 64) - 1 for gid in gids),
    )


def _order(port: Candidate) -> Tuple[bool, Tuple[int, str], int, List[Any]]:
    return (port.pci is None, pci.order(port.pci or ""), port.number, natural_key(port.hca))


def ports(facts: Facts) -> List[Candidate]:
    """All ports of a node in PCI order, those without a PCI function last."""
    reasons = facts.unmovable
    found = [
        _candidate(hca, port, reasons.get((hca.name, port.number), [])) for hca in facts.hcas for port in hca.ports
    ]
    return sorted(found, key=_order)


def candidates(every: Sequence[Candidate], layer: Optional[str]) -> List[Candidate]:
    """Ports that may be rails, also those that are down or in a pod at the moment; all of one link layer, if given."""
    return [port for port in every if not port.barred and layer in (None, port.link_layer)]


def _rank(port: Candidate) -> int:
    # A port in a pod may be down only until the pod has set it up; one that is down on the host lacks a cable.
    return (_IN_POD if port.in_pod else _DOWN) if port.down else _UP


def undecided(every: Sequence[Candidate], rails: Mapping[int, Candidate]) -> List[str]:
    """The link layers of the ports from which those of the rails were chosen; empty if there was no choice."""
    fit = candidates(every, None)
    if len(fit) <= len(rails):
        return []
    # What pods have at the moment must not decide.
    last = max(_IN_POD, *map(_rank, rails.values()))
    return sorted({port.link_layer for port in fit if port.link_layer and _rank(port) <= last})


def _matching(at: str, selector: Mapping[str, Any], every: Sequence[Candidate]) -> List[Candidate]:
    given = [key for key in ("hca", "pci", "mac") if selector.get(key) is not None]
    if len(given) != 1:
        raise PlanError(wrong(at, dict(selector), "it must have exactly one of hca, pci and mac"))
    number = selector.get("port")
    if given == ["hca"]:
        if not names.is_rdma_device(selector["hca"]):
            raise PlanError(wrong(f"{at}.hca", selector["hca"], "it must be the name of an RDMA device like mlx5_0"))
        return [port for port in every if port.hca == selector["hca"] and port.number == (number or 1)]
    if given == ["pci"]:
        address = checked(f"{at}.pci", selector["pci"], pci.address)
        return [port for port in every if port.pci == address and number in (None, port.number)]
    octets = values_mac.octets(selector["mac"])
    if octets is None:
        raise PlanError(wrong(at + ".mac", selector["mac"], "it must be a MAC address, 6 bytes, or IPoIB's 20 bytes"))
    mac, identity = values_mac.written(octets), interface_id(octets)
    # While a pod has the netdev, only the GIDs still show its address.
    return [port for port in every if mac == port.mac] or [port for port in every if identity in port.interface_ids]


def check_form(variable: Sequence[Mapping[str, Any]]) -> None:
    """:raises PlanError: ``rdma_links_ports`` has not the right form, whatever the facts are."""
    for position, selector in enumerate(variable):
        _matching(f"{PORTS}[{position}]", selector, [])


def _away(selector: Mapping[str, Any]) -> Candidate:
    """A port that the facts do not have, as far as its selector tells."""
    number = selector.get("port") or 1
    return Candidate(selector.get("hca") or "", number, pci=selector.get("pci"), mac=selector.get("mac"), in_pod=True)


def _named(variable: Sequence[Mapping[str, Any]], every: Sequence[Candidate], may_be_away: bool) -> List[Candidate]:
    found: List[Candidate] = []
    for position, selector in enumerate(variable):
        at, value = f"{PORTS}[{position}]", {key: given for key, given in selector.items() if given is not None}
        matching = _matching(at, selector, every)
        if not matching and may_be_away:
            matching = [_away(value)]
        if not matching:
            # Only values that can be compared with the selector, so that nodes with equal values are reported together.
            kind = next(key for key in ("pci", "mac", "hca") if key in value)
            names = [{"pci": port.pci, "mac": port.mac, "hca": port.name}[kind] or port.name for port in every]
            there = ", ".join(dict.fromkeys(names)) or "no RDMA device at all"
            raise PlanError(wrong(at, value, f"which this node does not have: it has {there}"))
        if len(matching) > 1:
            both = " and ".join(port.name for port in matching)
            raise PlanError(wrong(at, value, f"which is {both}: name one of them by hca and port"))
        port = matching[0]
        if port.barred:
            raise PlanError(wrong(at, value, f"but {port.name} cannot be an RDMA link: {'; '.join(port.barred)}"))
        if port in found:
            right = f"the same port as {PORTS}[{found.index(port)}], {port.name}: a port is one rail"
            raise PlanError(wrong(at, value, right))
        found.append(port)
    return found


def rails_of(
    variable: Sequence[Mapping[str, Any]],
    every: Sequence[Candidate],
    rails: int,
    planned: Mapping[int, str],
    may_be_away: bool,
    layer: Optional[str] = None,
) -> Dict[int, Candidate]:
    """The port of each rail. ``planned`` are the rails' addresses, without prefix length. Raises PlanError.

    ``may_be_away`` tells that an HCA can leave the host together with its netdev, so that one that is named and not
    there is no mistake. Ports of another link layer than ``layer`` are rails only where they are named, since they may
    belong to a storage network, for example.

    Rails are numbered in PCI order. Where there are more ports than rails, those that are up are taken. Where there are
    fewer, a port that has a rail's address already stays this rail: a NIC that died must not move its neighbours. The
    same goes where a port in a pod has lost its place in that order, which Soft-RoCE has from its netdev.
    """
    if variable:
        return dict(enumerate(_named(variable, every, may_be_away)))
    fit = candidates(every, layer)
    displaced = any(port.in_pod and port.pci is None for port in fit)
    if len(fit) >= rails and not displaced:
        best = sorted(fit, key=_rank)[:rails]
        return dict(enumerate(port for port in fit if port in best))
    found: Dict[int, Candidate] = {}
    for rail, address in planned.items():
        kept = next((port for port in fit if address in port.addresses and port not in found.values()), None)
        if kept is not None:
            found[rail] = kept
    others = [port for port in fit if port not in found.values()]
    found.update(zip([rail for rail in range(rails) if rail not in found], others))
    return {rail: found[rail] for rail in sorted(found)}
