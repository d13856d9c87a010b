# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is tried on live hosts: packets to peers, and perftest in rounds. Pure functions of facts and variables."""

from __future__ import annotations

import ipaddress
import itertools
import math
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import perftest_parse, threshold
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import rounds as host_rounds
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.model import Node
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.natural import natural_key

PREFIX = "rdma_verify_"
# Seconds from the end of one client to the start of the next, at most.
_BETWEEN = 30
_LATENCY_ITERATIONS = 1000

Figures = Mapping[int, Optional[float]]


@dataclass
class Meeting:
    """What one host does in one round: it is ``server`` or ``client`` of ``peer``, with these runs of the module.

    ``loopback`` is both, ``idle`` sits the round out. ``expected`` is what each of the runs should give in Gb/s,
    ``None`` where that cannot be told.
    """

    role: str = "idle"
    peer: str = ""
    seconds: int = 0
    runs: List[Dict[str, Any]] = field(default_factory=list)
    expected: List[Optional[float]] = field(default_factory=list)


@dataclass
class Own:
    """What one host tries; ``probes`` and ``addresses`` are options of the module."""

    probes: List[Dict[str, Any]] = field(default_factory=list)
    addresses: List[Dict[str, str]] = field(default_factory=list)
    loopback: Meeting = field(default_factory=Meeting)
    rounds: List[Meeting] = field(default_factory=list)


def _set(node: Node, name: str) -> Any:
    return node.values[PREFIX + name]


def _interfaces(port: Port) -> List[Interface]:
    """Addresses of a port's netdev that others can reach, IPv4 first."""
    found = [ipaddress.ip_interface(text) for text in (port.netdev.addresses if port.netdev else [])]
    own = [one for one in found if not one.ip.is_link_local and not one.ip.is_loopback]
    return sorted(own, key=lambda one: one.version)


def _pair(port: Port, other: Port) -> Optional[Tuple[str, str]]:
    """An address of each port, in the same network where there is one, at least of the same version of IP."""
    every = itertools.product(_interfaces(port), _interfaces(other))
    pairs = [(one, peer) for one, peer in every if one.version == peer.version]
    near = [(one, peer) for one, peer in pairs if one.network == peer.network]
    return next(((str(one.ip), str(peer.ip)) for one, peer in near + pairs), None)


def _live(node: Node) -> Dict[int, Tuple[Hca, Port]]:
    """HCA and port of each rail that can be tried now."""
    usable = {name: (hca, port) for hca, port, name in node.ports()}
    return {rail: usable[name] for rail, name in node.rails.items() if name in usable}


def _sharing(live: Mapping[int, Tuple[Hca, Port]]) -> Dict[int, int]:
    addresses = [hca.pci.address if hca.pci else None for hca, _port in live.values()]
    return dict(zip(live, threshold.sharing(addresses)))


def name_of(test: str, hca: Hca, port: Port) -> str:
    """The name of a run, unique on one host in one round."""
    return f"{test} {hca.name}/{port.number}"


def _runs(
    node: Node, rails: Sequence[int], tests: Sequence[str], others: Mapping[int, Optional[str]], expected: Figures
) -> List[Dict[str, Any]]:
    """Options for one end. ``others`` has the server's address by rail, for the client."""
    live = _live(node)
    found = []
    for place, (test, rail) in enumerate((test, rail) for test in tests for rail in rails):
        hca, port = live[rail]
        size = int(_set(node, "message_size")) if test in perftest_parse.BANDWIDTH else None
        run = {
            "name": name_of(test, hca, port),
            "test": test,
            "hca": hca.name,
            "port": port.number,
            "tcp_port": _set(node, "tcp_port") + place,
            "iterations": _LATENCY_ITERATIONS,
        }
        if size is not None:
            run["iterations"] = threshold.iterations(expected[rail], size, _set(node, "seconds"))
        optional = {"size": size, "gid_index": _gid_index(port), "address": others.get(rail)}
        found.append({**run, **{key: value for key, value in optional.items() if value is not None}})
    return found


def _gid_index(port: Port) -> Optional[int]:
    return port.roce_v2_gid_index if port.link_layer == "Ethernet" else None


def _possible(one: Port, other: Port) -> bool:
    """Whether two ports can talk: one link layer, and on Ethernet a GID of RoCE v2 each."""
    layers = {one.link_layer, other.link_layer}
    return layers == {"InfiniBand"} or (layers == {"Ethernet"} and None not in (_gid_index(one), _gid_index(other)))


def _meetings(server: Node, client: Node, waiting: int) -> Optional[Tuple[Meeting, Meeting]]:
    """Server's and client's part of one round; ``waiting`` is how many clients come one after another."""
    mine, theirs = _live(server), _live(client)
    rails = [rail for rail in mine if rail in theirs and _possible(mine[rail][1], theirs[rail][1])]
    if not rails or not _set(server, "tests"):
        return None
    tests, limit = _set(server, "tests"), int(_set(server, "time_limit"))
    shares = (_sharing(mine), _sharing(theirs))
    expected: Dict[int, Optional[float]] = {}
    addresses: Dict[int, Optional[str]] = {}
    for rail in rails:
        ends = [threshold.capacity(*live[rail], share[rail]) for live, share in zip((mine, theirs), shares)]
        expected[rail] = threshold.lower(*ends)
        pair = _pair(mine[rail][1], theirs[rail][1])
        addresses[rail] = pair[0] if pair else server.address
    until = (limit + _BETWEEN) * len(tests) * waiting
    figures = [expected[rail] for _test in tests for rail in rails]
    served = _runs(server, rails, tests, {}, expected)
    asked = _runs(client, rails, tests, addresses, expected)
    # Both ends have to agree in these, whatever the variables of the client say.
    for one, other in zip(asked, served):
        one.update({key: other[key] for key in ("tcp_port", "iterations", "size") if key in other})
        if ":" in one["address"]:
            one["ipv6"] = other["ipv6"] = True
    return (
        Meeting("server", client.host, until, served, figures),
        Meeting("client", server.host, limit, asked, figures),
    )


def _loopback(node: Node) -> Meeting:
    live = _live(node)
    rails = [rail for rail, (_hca, port) in live.items() if _possible(port, port)]
    tests = [test for test in _set(node, "tests") if test in perftest_parse.BANDWIDTH]
    if not _set(node, "loopback") or not rails or not tests:
        return Meeting()
    shares = _sharing(live)
    expected = {rail: threshold.capacity(*live[rail], shares[rail]) for rail in rails}
    figures = [expected[rail] for _test in tests for rail in rails]
    return Meeting(
        "loopback", node.host, int(_set(node, "time_limit")), _runs(node, rails, tests, {}, expected), figures
    )


def _probes(node: Node, peer: Node) -> Iterator[Dict[str, Any]]:
    mine, theirs = _live(node), _live(peer)
    for rail in mine:
        if rail in theirs:
            hca, port = mine[rail]
            pair = _pair(port, theirs[rail][1])
            if pair and port.netdev and port.netdev.mtu:
                name = f"{hca.name}/{port.number} {peer.host}"
                yield {"name": name, "source": pair[0], "target": pair[1], "mtu": port.netdev.mtu}


def _claims(node: Node) -> Iterator[Dict[str, str]]:
    """IPv4 addresses of the host's own that another station may have too."""
    for _hca, port, _name in node.ports():
        netdev = port.netdev
        for one in _interfaces(port):
            if netdev and netdev.present and one.version == 4:
                yield {"netdev": netdev.name, "address": str(one.ip)}


def plan(nodes: Sequence[Node], forks: int = 5) -> Dict[str, Own]:
    """What each host tries, in as many rounds as the largest group needs. ``forks`` is how many Ansible serves at once.

    Of the variables of a group, those of its first host decide about pairs.
    """
    found = {node.host: Own() for node in nodes}
    groups: Dict[str, List[Node]] = {}
    for node in sorted(nodes, key=lambda node: natural_key(node.host)):
        if node.facts is not None:
            groups.setdefault(node.group, []).append(node)
            found[node.host].addresses = list({tuple(one.values()): one for one in _claims(node)}.values())
            found[node.host].loopback = _loopback(node)
    schedules = [host_rounds.rounds(members, _set(members[0], "pairs")) for members in groups.values()]
    for pairs_of_groups in itertools.zip_longest(*schedules, fillvalue=[]):
        pairs = [pair for of_group in pairs_of_groups for pair in of_group]
        waiting = math.ceil(len(pairs) / max(forks, 1))
        for own in found.values():
            own.rounds.append(Meeting())
        for one, other in pairs:
            found[one.host].probes += _probes(one, other)
            found[other.host].probes += _probes(other, one)
            both = _meetings(one, other, waiting)
            if both is not None:
                found[one.host].rounds[-1], found[other.host].rounds[-1] = both
    return found


def own(value: Mapping[str, Any]) -> Own:
    """What one host tries, from its dictionary."""
    rounds = [Meeting(**one) for one in value["rounds"]]
    return Own(value["probes"], value["addresses"], Meeting(**value["loopback"]), rounds)
