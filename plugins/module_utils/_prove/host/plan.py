# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is tried on live hosts: packets to peers, and perftest in rounds. Pure functions of facts and variables.

In a round, each host is in at most one pair.
"""

from __future__ import annotations

import ipaddress
import itertools
import math
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import perftest_parse, threshold
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import fabric as host_fabric
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

# All pairs of this many hosts take 15 rounds, some minutes; more hosts would take proportionally longer.
ALL_UP_TO = 16

_T = TypeVar("_T")


def tournament(hosts: Sequence[_T]) -> List[List[Tuple[_T, _T]]]:
    """All pairs, each once, in N-1 rounds for even N and N for odd N (circle method: one stays, the others rotate)."""
    seats = list(range(len(hosts)))
    if len(seats) % 2:
        # Who meets nobody sits this round out.
        seats.append(-1)
    half = len(seats) // 2
    found = []
    for turn in range(len(seats) - 1):
        order = seats[:1] + seats[1 + turn :] + seats[1 : 1 + turn]
        pairs = list(zip(order[:half], reversed(order[half:])))
        found.append([(hosts[min(pair)], hosts[max(pair)]) for pair in pairs if -1 not in pair])
    return found


def ring(hosts: Sequence[_T]) -> List[List[Tuple[_T, _T]]]:
    """Each host with the next one and the last with the first: two rounds for even N, three for odd N above one."""
    count = len(hosts)
    pairs = [(hosts[at], hosts[(at + 1) % count]) for at in range(count if count > 2 else count - 1)]
    # Around an odd ring, the last pair meets a host of the first in either of the two.
    last = [pairs.pop()] if len(pairs) % 2 and count > 2 else []
    return [matching for matching in (pairs[0::2], pairs[1::2], last) if matching]


def rounds(hosts: Sequence[_T], pairs: str) -> List[List[Tuple[_T, _T]]]:
    """The rounds of one group. ``auto`` is ``all`` up to ALL_UP_TO hosts, else ``ring``."""
    if pairs == "none" or len(hosts) < 2:
        return []
    if pairs == "all" or (pairs == "auto" and len(hosts) <= ALL_UP_TO):
        return tournament(hosts)
    return ring(hosts)


PREFIX = "rdma_verify_"
# Seconds from the end of one client to the start of the next, at most.
BETWEEN = 30
_LATENCY_ITERATIONS = 1000
# About how long a bandwidth test takes, and the first TCP port of perftest, as everywhere.
_SECONDS, TCP_PORT = 3.0, 18515

Figures = Mapping[int, Optional[float]]
Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]


@dataclass
class Meeting:
    """What one host does in one round: it is ``server`` or ``client`` of ``peer``, with these runs of the module.

    ``loopback`` is both, ``idle`` sits the round out. ``expected`` is what each of the runs should give in Gb/s,
    ``None`` where that cannot be told. ``crosses`` is whether its runs are between different rails.
    """

    role: str = "idle"
    peer: str = ""
    seconds: int = 0
    runs: List[Dict[str, Any]] = field(default_factory=list)
    expected: List[Optional[float]] = field(default_factory=list)
    crosses: bool = False


@dataclass
class HostTests:
    """What one host tries; ``probes``, ``addresses`` and ``fabric_ports`` are options of the module.

    ``ends`` has the ``port`` of each probe and the ``peer`` (a host) that it is sent to, by the probe's name, and the
    ``peer_port`` if that is on another rail.
    """

    probes: List[Dict[str, Any]] = field(default_factory=list)
    ends: Dict[str, Dict[str, str]] = field(default_factory=dict)
    addresses: List[Dict[str, str]] = field(default_factory=list)
    fabric_ports: List[Dict[str, Any]] = field(default_factory=list)
    loopback: Meeting = field(default_factory=Meeting)
    rounds: List[Meeting] = field(default_factory=list)


def setting(node: HostEvidence, name: str) -> Any:
    return node.values[PREFIX + name]


def _interfaces(port: Port) -> List[Interface]:
    """Addresses of a port's netdev that others can reach, IPv4 first."""
    found = [ipaddress.ip_interface(text) for text in (port.netdev.addresses if port.netdev else [])]
    own = [address for address in found if not address.ip.is_link_local and not address.ip.is_loopback]
    return sorted(own, key=lambda address: address.version)


def _of_gid(port: Port) -> Optional[Address]:
    """The address in the GID that RoCE v2 would use; ``None`` where it is not known."""
    text = next((gid.gid for gid in port.gids if gid.index == port.roce_v2_gid_index), None)
    try:
        gid = ipaddress.IPv6Address(text or "")
    except ValueError:
        return None
    return gid.ipv4_mapped or gid


def address_pair(port: Port, other: Port) -> Optional[Tuple[str, str]]:
    """An address of each port, of the same version of IP: those of their GIDs, or in one network, or any."""
    every = itertools.product(_interfaces(port), _interfaces(other))
    pairs = [(address, peer) for address, peer in every if address.version == peer.version]
    gids = (_of_gid(port), _of_gid(other))
    used = [(address, peer) for address, peer in pairs if (address.ip, peer.ip) == gids]
    near = [(address, peer) for address, peer in pairs if address.network == peer.network]
    return next(((str(address.ip), str(peer.ip)) for address, peer in used + near + pairs), None)


def usable_rails(node: HostEvidence) -> Dict[int, Tuple[Hca, Port]]:
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
    node: HostEvidence,
    rails: Sequence[int],
    tests: Sequence[str],
    others: Mapping[int, Optional[str]],
    expected: Figures,
) -> List[Dict[str, Any]]:
    """Options for one end. ``others`` has the server's address by rail, for the client."""
    live = usable_rails(node)
    found = []
    for place, (test, rail) in enumerate((test, rail) for test in tests for rail in rails):
        hca, port = live[rail]
        size = int(setting(node, "message_size")) if test in perftest_parse.BANDWIDTH else None
        run = {
            "name": name_of(test, hca, port),
            "test": test,
            "hca": hca.name,
            "port": port.number,
            "tcp_port": TCP_PORT + place,
            "iterations": _LATENCY_ITERATIONS,
        }
        if size is not None:
            run["iterations"] = threshold.iterations(expected[rail], size, _SECONDS)
        optional = {"size": size, "gid_index": gid_index(port), "address": others.get(rail)}
        found.append({**run, **{key: value for key, value in optional.items() if value is not None}})
    return found


def gid_index(port: Port) -> Optional[int]:
    return port.roce_v2_gid_index if port.link_layer == "Ethernet" else None


def possible(port: Port, other: Port) -> bool:
    """Whether two ports can talk: one link layer, and on Ethernet a GID of RoCE v2 each."""
    layers = {port.link_layer, other.link_layer}
    return layers == {"InfiniBand"} or (layers == {"Ethernet"} and None not in (gid_index(port), gid_index(other)))


def _meetings(server: HostEvidence, client: HostEvidence, waiting: int) -> Optional[Tuple[Meeting, Meeting]]:
    """Server's and client's part of one round; ``waiting`` is how many clients come one after another."""
    mine, theirs = usable_rails(server), usable_rails(client)
    rails = [rail for rail in mine if rail in theirs and possible(mine[rail][1], theirs[rail][1])]
    if not rails or not setting(server, "tests"):
        return None
    tests, limit = setting(server, "tests"), int(setting(server, "time_limit"))
    shares = (_sharing(mine), _sharing(theirs))
    expected: Dict[int, Optional[float]] = {}
    addresses: Dict[int, Optional[str]] = {}
    for rail in rails:
        ends = [threshold.capacity(*live[rail], share[rail]) for live, share in zip((mine, theirs), shares)]
        expected[rail] = threshold.lower(*ends)
        pair = address_pair(mine[rail][1], theirs[rail][1])
        addresses[rail] = pair[0] if pair else server.address
    until = (limit + BETWEEN) * len(tests) * waiting
    figures = [expected[rail] for _test in tests for rail in rails]
    served = _runs(server, rails, tests, {}, expected)
    asked = _runs(client, rails, tests, addresses, expected)
    # Both ends have to agree in these, whatever the variables of the client say.
    for near, far in zip(asked, served):
        near.update({key: far[key] for key in ("tcp_port", "iterations", "size") if key in far})
        if ":" in near["address"]:
            near["ipv6"] = far["ipv6"] = True
    return (
        Meeting("server", client.host, until, served, figures),
        Meeting("client", server.host, limit, asked, figures),
    )


def _loopback(node: HostEvidence) -> Meeting:
    live = usable_rails(node)
    rails = [rail for rail, (_hca, port) in live.items() if possible(port, port)]
    tests = [test for test in setting(node, "tests") if test in perftest_parse.BANDWIDTH]
    if not setting(node, "loopback") or not rails or not tests:
        return Meeting()
    shares = _sharing(live)
    expected = {rail: threshold.capacity(*live[rail], shares[rail]) for rail in rails}
    figures = [expected[rail] for _test in tests for rail in rails]
    return Meeting(
        "loopback", node.host, int(setting(node, "time_limit")), _runs(node, rails, tests, {}, expected), figures
    )


def _add_probes(tests: HostTests, node: HostEvidence, peer: HostEvidence) -> None:
    mine, theirs = usable_rails(node), usable_rails(peer)
    for rail in mine:
        if rail in theirs:
            hca, port = mine[rail]
            pair = address_pair(port, theirs[rail][1])
            if pair and port.netdev and port.netdev.mtu:
                ends = {"port": f"{hca.name}/{port.number}", "peer": peer.host}
                name = " ".join(ends.values())
                tests.ends[name] = ends
                tests.probes.append({"name": name, "source": pair[0], "target": pair[1], "mtu": port.netdev.mtu})


def _claims(node: HostEvidence) -> Iterator[Dict[str, str]]:
    """IPv4 addresses of the host's own that another station may have too."""
    for _hca, port, _name in node.ports():
        netdev = port.netdev
        for address in _interfaces(port):
            if netdev and netdev.present and address.version == 4:
                yield {"netdev": netdev.name, "address": str(address.ip)}


def groups_of(nodes: Sequence[HostEvidence]) -> Dict[str, List[HostEvidence]]:
    """The hosts with facts by group, in natural order."""
    groups: Dict[str, List[HostEvidence]] = {}
    for node in sorted(nodes, key=lambda node: natural_key(node.host)):
        if node.facts is not None:
            groups.setdefault(node.group, []).append(node)
    return groups


def plan(nodes: Sequence[HostEvidence], forks: int = 5) -> Dict[str, HostTests]:
    """What each host tries, in as many rounds as the largest group needs. ``forks`` is how many Ansible serves at once.

    Of the variables of a group, those of its first host decide about pairs.
    """
    found = {node.host: HostTests() for node in nodes}
    groups = groups_of(nodes)
    for members in groups.values():
        for node in members:
            found[node.host].addresses = list({tuple(claim.values()): claim for claim in _claims(node)}.values())
            found[node.host].loopback = _loopback(node)
    for members in groups.values():
        # Whoever asks gets the links of the whole fabric.
        able = [(node, host_fabric.ports(node)) for node in members if setting(node, "fabric")]
        asking = next(((node, ports) for node, ports in able if ports), None)
        if asking:
            found[asking[0].host].fabric_ports = asking[1]
    schedules = [rounds(members, setting(members[0], "pairs")) for members in groups.values()]
    for members, schedule in zip(groups.values(), schedules):
        # Where nothing is measured, each host still has to reach the next: a few packets are no load.
        for node, other in itertools.chain(*(schedule or rounds(members, "ring"))):
            _add_probes(found[node.host], node, other)
            _add_probes(found[other.host], other, node)
    for pairs_of_groups in itertools.zip_longest(*schedules, fillvalue=[]):
        pairs = [pair for of_group in pairs_of_groups for pair in of_group]
        waiting = math.ceil(len(pairs) / max(forks, 1))
        for own in found.values():
            own.rounds.append(Meeting())
        for node, other in pairs:
            both = _meetings(node, other, waiting)
            if both is not None:
                found[node.host].rounds[-1], found[other.host].rounds[-1] = both
    return found


def own(value: Mapping[str, Any]) -> HostTests:
    """What one host tries, from its dictionary."""
    rounds = [Meeting(**entry) for entry in value["rounds"]]
    meetings = (Meeting(**value["loopback"]), rounds)
    return HostTests(value["probes"], value["ends"], value["addresses"], value["fabric_ports"], *meetings)
