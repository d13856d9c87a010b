# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The RDMA links of one host, from its variables and its facts: what ``_prepare/links`` is then asked for."""

from __future__ import annotations

import contextlib
import ipaddress
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import SOFTWARE_DEVICE, VF
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses as links_addresses
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import limits, qos, reachability, vfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import LAYER, MODE, MTU, VLAN
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.ports import (
    PORTS,
    Candidate,
    candidates,
    check_form,
    ports,
    rails_of,
    undecided,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pkey
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import ranges
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

UNMANAGE_VFS = "rdma_links_unmanage_vfs"
# Any of these makes the role plan links. In the order in which a message names them.
_ADDRESSING = (links_addresses.SUBNET, links_addresses.RAIL_SUBNETS, links_addresses.ADDRESSES)
_ASKING = (*_ADDRESSING, MTU, vfs.VFS, qos.QOS)
# What the number of rails is from, the first that is set.
_COUNTING = (links_addresses.RAIL_SUBNETS, links_addresses.RAILS, links_addresses.EXPECTED)

# Room for all rails below the kernel's own routing tables (253 to 255).
_FIRST_TABLE = 100

_TYPES = {"InfiniBand": "infiniband", "Ethernet": "ethernet"}


@dataclass
class LinkPlan:
    """``links``, ``unmanaged`` and ``qos`` are options of ``_prepare/links``; ``warnings`` is what it cannot do.

    ``rails`` are the ports of all rails, also those that have no netdev to configure.
    """

    links: List[Dict[str, Any]] = field(default_factory=list)
    unmanaged: List[Dict[str, Any]] = field(default_factory=list)
    qos: List[Dict[str, Any]] = field(default_factory=list)
    rails: List[Dict[str, Any]] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)


def asked(values: Mapping[str, Any]) -> Optional[str]:
    """The variable that requests links, ``None`` if none does."""
    return next((name for name in _ASKING if values.get(name)), None)


def addresses(host: str, values: Mapping[str, Any]) -> Dict[int, Interface]:
    """The address of each rail of a host. Raises PlanError."""
    return links_addresses.addresses(host, links_addresses.intent(values))


def _of_variables(host: str, values: Mapping[str, Any]) -> Iterator[Problem]:
    yield from limits.of_values(values)
    yield from reachability.of_values(values)
    # Problems with the number of rails are reported with the addresses.
    with contextlib.suppress(PlanError):
        yield from vfs.of_values(values, links_addresses.number_of_rails(links_addresses.intent(values)))
    try:
        addresses(host, values)
    except PlanError as error:
        yield error.problem
    try:
        check_form(values.get(PORTS) or [])
        rails = links_addresses.number_of_rails(links_addresses.intent(values))
        if len(values.get(PORTS) or []) > rails:
            number, more = len(values[PORTS]), links_addresses.RAILS
            text = f"has {number} ports for {counted(rails, 'rail')}: name one for each rail, or set {more}"
            yield Problem(PORTS, text)
    except PlanError as error:
        # The number of rails is reported above.
        if error.problem.variable.startswith(PORTS):
            yield error.problem


def _of_ports(values: Mapping[str, Any], rails: Mapping[int, Candidate]) -> Iterator[Problem]:
    layers = sorted({port.link_layer or "" for port in rails.values()})
    for layer in layers:
        names = [port.name for port in rails.values() if port.link_layer == layer]
        # Equal nodes may differ in which port it is, and are to be told together.
        whose = f"this node's {' and '.join(names)}" if len(layers) > 1 else "this node's links"
        verb = "is" if len(layers) > 1 and len(names) == 1 else "are"
        yield from limits.of_layer(values, layer, f"{whose} {verb} {layer}")
    mtu = values.get(MTU)
    if mtu is not None:
        for port in rails.values():
            if port.max_mtu is not None and mtu > port.max_mtu:
                yield wrong(MTU, mtu, f"but {port.name} ({port.netdev}) takes at most {port.max_mtu}")
                return


def _nothing_fit(values: Mapping[str, Any], every: Sequence[Candidate]) -> Iterator[Problem]:
    # Without any RDMA device a driver may only not be loaded yet, which is for the kernel's role to put right.
    layer = values.get(LAYER)
    if every and not candidates(every, layer) and not values.get(PORTS):
        name = str(asked(values))
        other = f"but {LAYER} is {layer}"
        why = "; ".join(f"{port.name}: {', '.join(port.barred) or f'{port.link_layer}, {other}'}" for port in every)
        yield wrong(name, values[name], f"but no port of this node can be an RDMA link ({why})")


def _of_choice(
    values: Mapping[str, Any], every: Sequence[Candidate], rails: Mapping[int, Candidate]
) -> Iterator[Problem]:
    if values.get(PORTS) or values.get(LAYER):
        return
    layers = undecided(every, rails)
    if len(layers) > 1:
        has = f"this node has ports of {' and '.join(layers)}, and more than {counted(len(rails), 'rail')}"
        right = f"set it to the link layer of the RDMA links, or name their ports in {PORTS}"
        yield Problem(LAYER, f"is not set, but {has}: {right}")


def _of_other_networks(
    planned: Mapping[int, Interface], every: Sequence[Candidate], values: Mapping[str, Any]
) -> Iterator[Problem]:
    for port in every:
        # VFs may well be in their physical function's subnet.
        for text in port.networks if port.barred_codes - {VF, SOFTWARE_DEVICE} else []:
            other = ipaddress.ip_interface(text).network
            if any(other.overlaps(address.network) for address in planned.values()):
                name = str(asked(values))
                right = f"but {port.netdev}, which is not an RDMA link, has {text} in the same network"
                yield wrong(name, values[name], right)
                return


def _of_netns_mode(values: Mapping[str, Any], mode: Optional[str]) -> Iterator[Problem]:
    name = asked(values)
    if mode == "exclusive" and name is not None and not values.get(PORTS):
        why = "in RDMA netns mode exclusive a pod takes the HCA along with the NIC, and the facts then lack both"
        yield Problem(PORTS, f"is not set, but {name} is: {why}; name the ports of all rails")


def _left(values: Mapping[str, Any], every: Sequence[Candidate], rails: Mapping[int, Candidate]) -> List[Candidate]:
    """Ports that could be a rail now and are none, although nobody has chosen between them."""
    if values.get(PORTS):
        return []
    fit = candidates(every, values.get(LAYER))
    return [port for port in fit if port not in rails.values() and (port.in_pod or not port.down)]


def _warnings(
    values: Mapping[str, Any], rails: Mapping[int, Candidate], wanted: int, left: Sequence[Candidate]
) -> Iterator[str]:
    missing = [str(rail) for rail in range(wanted) if rail not in rails]
    if missing:
        rest = (
            f"{counted(len(rails), 'port')} for {counted(wanted, 'rail')}, so there is none for rail {ranges(missing)}"
        )
        yield f"{rest}; without {PORTS}, the assignment of ports to rails is a guess"
    if left:
        variable = next((name for name in _COUNTING if values.get(name)), links_addresses.RAILS)
        both = f"{counted(len(rails) + len(left), 'port')} for {counted(wanted, 'rail')}"
        verb = "get no address" if asked(values) in _ADDRESSING else "are not set up"
        names = ", ".join(port.name for port in left)
        yield f"{both}, so these {verb}: {names}; raise {variable}, or name the ports of all rails in {PORTS}"
    away = [port.name for port in rails.values() if port.link_layer is None and port.in_pod]
    if away:
        yield f"not on the host, so assumed to be in a pod: {', '.join(away)}"
    bare = [port.name for port in rails.values() if not port.configurable]
    if bare:
        yield f"no IPoIB netdev, so nothing to configure (is ib_ipoib loaded?): {', '.join(bare)}"
    for key in limits.pkeys(values):
        own = _partition(key)
        outside = [port.name for port in rails.values() if port.pkeys and own not in map(_partition, port.pkeys)]
        if outside:
            yield f"not in partition {key} yet (the subnet manager assigns it): {', '.join(outside)}"


def _partition(key: str) -> int:
    return pkey.partition(int(key, 16))


def _link(
    rail: int, port: Candidate, address: Optional[Interface], values: Mapping[str, Any], guids: Sequence[str]
) -> Dict[str, Any]:
    link: Dict[str, Any] = {
        "name": f"rdma-rail{rail}",
        **port.selector,
        "type": _TYPES.get(port.link_layer or "", "auto"),
    }
    mtu = {} if values.get(MTU) is None else {"mtu": values[MTU]}
    own = [] if address is None else [str(address)]
    link.update(mtu)
    if values.get(vfs.VFS):
        link["vfs"] = values[vfs.VFS]
    if guids:
        link["vf_guids"] = list(guids)
    if values.get(MODE) is not None:
        link["transport_mode"] = values[MODE]
    keys = limits.pkeys(values)
    if keys:
        # One rail, one address: it is the partition named first that traffic of this rail is in.
        link["pkeys"] = [dict(mtu, pkey=key, addresses=[] if place else own) for place, key in enumerate(keys)]
    elif values.get(VLAN) is not None:
        link["vlans"] = [dict(mtu, id=values[VLAN], addresses=own)]
    elif own:
        link["addresses"] = own
    return link


def _qos(values: Mapping[str, Any], rails: Mapping[int, Candidate]) -> List[Dict[str, Any]]:
    """Of a port that a pod has taken together with its HCA nobody knows the link layer; the node does."""
    wanted = qos.intent(values)
    given = {} if wanted is None else {name: value for name, value in asdict(wanted).items() if value is not None}
    ports_ = [port for port in rails.values() if given and port.hca and port.link_layer in (None, "Ethernet")]
    return [{"hca": port.hca, "port": port.number, **given} for port in ports_]


def _unmanaged(every: Sequence[Candidate]) -> List[Dict[str, Any]]:
    addresses_ = [port.pci for port in every if port.vf and port.pci and port.barred_codes == {VF}]
    return [{"pci": address} for address in dict.fromkeys(addresses_)]


def _planned(
    host: str, values: Mapping[str, Any], every: Sequence[Candidate], facts: Facts
) -> Tuple[Dict[int, Interface], Dict[int, Candidate], int]:
    planned = addresses(host, values)
    wanted = links_addresses.number_of_rails(links_addresses.intent(values))
    texts = {rail: str(address.ip) for rail, address in planned.items()}
    # A software device does not survive the move of its netdev.
    may_be_away = facts.system.netns_mode == "exclusive" or bool(values.get("rdma_discover_allow_software"))
    return planned, rails_of(values.get(PORTS) or [], every, wanted, texts, may_be_away, values.get(LAYER)), wanted


def problems(host: str, values: Mapping[str, Any], facts: Optional[Facts] = None) -> List[Problem]:
    """Everything that makes a host's links impossible; without facts only what its variables alone show."""
    found = list(_of_variables(host, values))
    layer = values.get(LAYER)
    if layer is not None:
        found += limits.of_layer(values, layer, f"{LAYER} is {layer}")
    found += _of_netns_mode(values, values.get("rdma_kernel_netns_mode"))
    if found or facts is None or asked(values) is None:
        return found
    found += _of_netns_mode(values, facts.system.netns_mode)
    every = ports(facts)
    found += _nothing_fit(values, every)
    if not found:
        try:
            planned, rails, _wanted = _planned(host, values, every, facts)
            found += _of_choice(values, every, rails)
            found += _of_ports(values, rails)
            found += vfs.of_ports(values, rails, facts)
            found += _of_other_networks(planned, every, values)
        except PlanError as error:
            found.append(error.problem)
    return found


def configured(host: str, values: Mapping[str, Any], facts: Facts) -> Dict[int, Candidate]:
    """The ports of the rails whose links are set up, none where nothing is asked for. Raises PlanError."""
    if asked(values) is None:
        return {}
    _addresses, rails, _wanted = _planned(host, values, ports(facts), facts)
    return {rail: port for rail, port in rails.items() if port.configurable}


def rail_tables(planned: Mapping[int, Interface]) -> Dict[int, int]:
    """The routing table of each rail that shares its network with another."""
    return {rail: _FIRST_TABLE + rail for rail in links_addresses.shared(planned)}


def guid_host(host: str, values: Mapping[str, Any], facts: Optional[Facts], chosen: bool) -> vfs.GuidHost:
    """The host as far as GUIDs of VFs have to be unique; without facts with those of its variables alone."""
    found = vfs.GuidHost(host, chosen=chosen)
    with contextlib.suppress(PlanError):
        # Problems of the host itself are reported elsewhere.
        if facts is not None:
            found.of_hcas = vfs.node_guids(facts, vfs=False)
        if values.get(vfs.VFS) and facts is not None:
            found.of_rails = vfs.guids(values, _planned(host, values, ports(facts), facts)[1], facts)
        elif values.get(vfs.VFS):
            found.of_rails = vfs.given(values, values[vfs.VFS], links_addresses.MOST_RAILS)
    return found


def _entries(rails: Mapping[int, Candidate]) -> List[Dict[str, Any]]:
    return [
        {"name": str(rail), "hca": port.hca, "port": port.number, "pci": port.pci or ""} for rail, port in rails.items()
    ]


def rail_ports(host: str, values: Mapping[str, Any], facts: Facts) -> List[Dict[str, Any]]:
    """The ports of all rails, as ``LinkPlan.rails`` has them. Raises PlanError."""
    return _entries(_planned(host, values, ports(facts), facts)[1]) if asked(values) is not None else []


def plan(host: str, values: Mapping[str, Any], facts: Facts) -> LinkPlan:
    """The links of one host. Raises PlanError with the first of its problems."""
    found = problems(host, values, facts)
    if found:
        raise PlanError(found[0])
    every = ports(facts)
    result = LinkPlan(unmanaged=_unmanaged(every) if values.get(UNMANAGE_VFS) else [])
    if asked(values) is None:
        return result
    planned, rails, wanted = _planned(host, values, every, facts)
    result.rails = _entries(rails)
    result.qos = _qos(values, rails)
    tables, guids = rail_tables(planned), vfs.guids(values, rails, facts)
    for rail, port in rails.items():
        if not port.configurable or not (rail in planned or values.get(MTU) or values.get(vfs.VFS)):
            continue
        link = _link(rail, port, planned.get(rail), values, guids.get(rail, ()))
        if rail in tables:
            link["rail_table"] = tables[rail]
        result.links.append(link)
    result.warnings = list(_warnings(values, rails, wanted, _left(values, every, rails)))
    return result
