# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is tried between different rails of a group: pings, and an RDMA connection for each two rails.

All rails of all hosts would be too many. Where the inventory says which rails reach each other, each host pings the
next one from each of its rails to another one, which differs from host to host, and each two rails are connected by
RDMA once. Otherwise each two rails are pinged once.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.reachability import REACHABILITY
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.plan import HostTests, Meeting

# Enough to see that data arrives, and no load.
TEST, _SIZE, _ITERATIONS = "write_bw", 65536, 100
# A server whose client never came still listens in the next round.
_TCP_PORTS, _TCP_PORTS_OF_ROUND = plan.TCP_PORT + 1000, 64

Pair = Tuple[int, int]
Meetings = List[Tuple[str, str, Meeting, Meeting]]


class _Group:
    """The hosts of a group with the rails that can be tried."""

    def __init__(self, members: Sequence[HostEvidence], tests: Mapping[str, HostTests]) -> None:
        self.members, self.tests = members, tests
        self.live: Dict[str, Dict[int, Tuple[Hca, Port]]] = {node.host: plan.usable_rails(node) for node in members}
        self.rails = sorted({rail for own in self.live.values() for rail in own})
        # Each host is first in one of these.
        self.links = list(itertools.chain(*plan.ring(members))) if len(members) > 1 else []

    def _probe(self, near: HostEvidence, rail: int, far: HostEvidence, other: int) -> bool:
        """Whether a ping from a rail of one host to another rail of the other can be sent; it is then planned."""
        mine, theirs = self.live[near.host].get(rail), self.live[far.host].get(other)
        if mine is None or theirs is None:
            return False
        (hca, port), (peer_hca, peer_port) = mine, theirs
        pair = plan.address_pair(port, peer_port)
        netdev = port.netdev
        if pair is None or netdev is None or not netdev.mtu or port.link_layer != peer_port.link_layer:
            return False
        named = {
            "port": f"{hca.name}/{port.number}",
            "peer": far.host,
            "peer_port": f"{peer_hca.name}/{peer_port.number}",
        }
        name, own = " ".join(named.values()), self.tests[near.host]
        if name not in own.ends:
            own.ends[name] = named
            probe: Dict[str, Any] = {"name": name, "source": pair[0], "target": pair[1], "mtu": netdev.mtu}
            # The address alone leaves the kernel the choice of another rail's port to send from.
            own.probes.append({**probe, "netdev": netdev.name})
        return True

    def add_probes(self, every_host: bool) -> None:
        count = len(self.rails)
        left = set(itertools.permutations(self.rails, 2))
        for number in range(max(count - 1, len(self.links) if every_host else 0)):
            near, far = self.links[number % len(self.links)]
            shift = number % (count - 1) + 1
            for place, rail in enumerate(self.rails):
                other = self.rails[(place + shift) % count]
                if self._probe(near, rail, far, other):
                    left.discard((rail, other))
        for rail, other in sorted(left):
            # Those that were asked first lack one of the rails.
            ways = itertools.chain(self.links, ((far, near) for near, far in self.links))
            any(self._probe(near, rail, far, other) for near, far in ways)

    def _chosen(self, server: HostEvidence, client: HostEvidence, left: Set[Pair], at_most: int) -> List[Pair]:
        """Rails of server and client that can be connected at the same time, each port once; no longer in ``left``."""
        mine, theirs = self.live[server.host], self.live[client.host]
        found: List[Pair] = []
        for pair in sorted(left):
            for rail, other in (pair, pair[::-1]):
                free = all(rail != known and other != taken for known, taken in found)
                if free and rail in mine and other in theirs and plan.possible(mine[rail][1], theirs[other][1]):
                    found.append((rail, other))
                    left.discard(pair)
                    break
            if len(found) == at_most:
                break
        return found

    def _meeting(self, server: HostEvidence, client: HostEvidence, pairs: Sequence[Pair], tcp_port: int) -> Meetings:
        served, asked = [], []
        for place, (rail, other) in enumerate(pairs):
            (hca, port), (peer_hca, peer_port) = self.live[server.host][rail], self.live[client.host][other]
            # What perftest says before it measures goes along one rail, or over the host's own network.
            beside = self.live[server.host].get(other)
            address = plan.address_pair(beside[1], peer_port) if beside else None
            both = {"test": TEST, "tcp_port": tcp_port + place, "iterations": _ITERATIONS, "size": _SIZE}
            both["ipv6"] = bool(address and ":" in address[0])
            served.append({**both, **_of_port(hca, port)})
            asked.append(
                {**both, **_of_port(peer_hca, peer_port), "address": address[0] if address else server.address}
            )
        limit, nothing = int(plan.setting(server, "time_limit")), [None] * len(pairs)
        return [
            (
                server.host,
                client.host,
                Meeting("server", client.host, limit + plan.BETWEEN, served, [*nothing], True),
                Meeting("client", server.host, limit, asked, [*nothing], True),
            )
        ]

    def meetings(self) -> Iterator[Meetings]:
        """Those of each round, until each two rails have been connected or no hosts can."""
        left = set(itertools.combinations(self.rails, 2))
        number, idle = 0, 0
        matchings = plan.ring(self.members) if len(self.members) > 1 else []
        while left and idle < len(matchings):
            matching = matchings[number % len(matchings)]
            at_most = math.ceil(len(left) / len(matching))
            tcp_port = _TCP_PORTS + number * _TCP_PORTS_OF_ROUND
            found: Meetings = []
            for server, client in matching:
                pairs = self._chosen(server, client, left, at_most)
                found += self._meeting(server, client, pairs, tcp_port) if pairs else []
            idle = 0 if found else idle + 1
            number += 1
            if found:
                yield found


def _of_port(hca: Hca, port: Port) -> Dict[str, Any]:
    index = plan.gid_index(port)
    own = {"name": plan.name_of(TEST, hca, port), "hca": hca.name, "port": port.number}
    return own if index is None else {**own, "gid_index": index}


def with_rails(nodes: Sequence[HostEvidence], tests: Dict[str, HostTests], forks: int = 5) -> Dict[str, HostTests]:
    """The tests of each host with those between rails. Of the variables of a group, those of its first host decide."""
    schedules: List[List[Meetings]] = []
    for members in plan.groups_of(nodes).values():
        group = _Group(members, tests)
        said = members[0].values.get(REACHABILITY) is not None
        if len(group.rails) > 1 and group.links:
            group.add_probes(said)
            if said and plan.setting(members[0], "pairs") != "none":
                schedules.append(list(group.meetings()))
    for of_groups in itertools.zip_longest(*schedules, fillvalue=[]):
        meetings: Meetings = [meeting for of_group in of_groups for meeting in of_group]
        waiting = math.ceil(len(meetings) / max(forks, 1))
        for own in tests.values():
            own.rounds.append(Meeting())
        for server, client, served, asked in meetings:
            served.seconds *= waiting
            tests[server].rounds[-1], tests[client].rounds[-1] = served, asked
    return tests
