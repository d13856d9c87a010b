# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which rails of a group reach each other, as a matrix, and whether that is as the inventory says.

Where it says nothing, what was found is shown and not judged.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._links import reachability
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.reachability import REACHABILITY, RailReachability
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth.perftest_run import NOT_INSTALLED
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.rails import (
    ID,
    NOT_REACHED,
    PARTLY,
    REACHED,
    STATES,
    UNKNOWN,
    RailMatrix,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check, guarded
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.answers import REMEDY
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import RING, HostEvidence, Map
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.plan import HostTests
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined

_PING, _RDMA = "ping", "RDMA connection"
_SAY = f"or say otherwise in {REACHABILITY}."
_CONNECT = f"Route between these rails on the switches, with a gateway for each rail on nodes and in pods, {_SAY}"
_STRICT = "Let netdevs answer ARP for their own addresses only (arp_ignore 1, arp_announce 2), as links of site do."
_SEPARATE = f"Separate these rails on the switches (VLAN, VRF or partition), {_SAY}"
# Of what contradicts the inventory, in the document.
_SHOWN = 64
# perftest says so where it has no TCP connection to its server, which says nothing of the rails.
_NO_SERVER = "Couldn't connect"

Pair = Tuple[int, int]
# Makes a check of verdict, text, remedy and evidence.
_Checked = Callable[..., Check]


@dataclass(frozen=True)
class _Try:
    """One ping or RDMA connection; ``reached`` is ``None`` where it could not be tried, and ``said`` is why.

    ``partial`` is whether only small packets arrived.
    """

    kind: str
    source: str
    target: str
    reached: Optional[bool]
    said: str = ""
    partial: bool = False

    def __str__(self) -> str:
        answer = "" if self.reached and not self.partial else f": {self.said or 'no answer'}"
        return f"{self.kind} from {self.source} to {self.target}{answer}"

    def contradicts(self, must: bool) -> bool:
        return self.reached != must or (must and self.partial)


@dataclass
class _Matrix:
    """What was tried in a group, by the rails of source and target."""

    rails: List[int]
    tries: Dict[Pair, List[_Try]] = field(default_factory=dict)

    def add(self, pair: Pair, tried: _Try) -> None:
        self.tries.setdefault(pair, []).append(tried)

    def known(self, pair: Pair) -> List[_Try]:
        return [tried for tried in self.tries.get(pair, ()) if tried.reached is not None]

    def state(self, pair: Pair) -> str:
        found = {tried.reached for tried in self.known(pair)}
        found |= {False for tried in self.known(pair) if tried.partial}
        return UNKNOWN if not found else PARTLY if len(found) > 1 else REACHED if True in found else NOT_REACHED

    @property
    def pairs(self) -> List[Pair]:
        """Each two rails, in both directions."""
        return [(rail, other) for rail in self.rails for other in self.rails if rail != other]


def _rails(node: HostEvidence) -> Dict[str, int]:
    return {name: rail for rail, name in node.rails.items()}


def _pings(node: HostEvidence, own: HostTests, peers: Mapping[str, HostEvidence]) -> Iterator[Tuple[Pair, _Try]]:
    """Of each ping, also those along one rail, which are judged elsewhere."""
    answers = {ping["name"]: ping for ping in (node.reached or {}).get("pings", ())}
    rails = _rails(node)
    for probe in own.probes:
        ends, answer = own.ends[probe["name"]], answers.get(probe["name"])
        rail = rails.get(ends["port"])
        other = _rails(peers[ends["peer"]]).get(ends["peer_port"]) if "peer_port" in ends else rail
        if rail is None or other is None:
            continue
        way = (f"{node.host} {ends['port']}", f"{ends['peer']} {ends.get('peer_port', '')}".rstrip())
        if answer is None or not answer["usable"]:
            yield (rail, other), _Try(_PING, *way, None, (answer or {}).get("complaint", ""))
        else:
            small = answer["reached"] and not answer["whole"]
            said = f"only small packets arrive, not those of {probe['mtu']} bytes" if small else answer["complaint"]
            yield (rail, other), _Try(_PING, *way, answer["reached"], said, small)


def _connections(
    node: HostEvidence, peers: Mapping[str, HostEvidence], tests: Mapping[str, HostTests]
) -> Iterator[Tuple[Pair, _Try]]:
    """Of each RDMA connection of which this host was the client, in both directions."""
    rails = _rails(node)
    for number, meeting in enumerate(tests[node.host].rounds):
        if not meeting.crosses or meeting.role != "client":
            continue
        peer = peers[meeting.peer]
        asked, served = _of_round(node, number), _of_round(peer, number)
        for run, other in zip(meeting.runs, tests[peer.host].rounds[number].runs):
            ports = f"{run['hca']}/{run['port']}", f"{other['hca']}/{other['port']}"
            mine, theirs = rails.get(ports[0]), _rails(peer).get(ports[1])
            if mine is None or theirs is None:
                continue
            tried = _connection(
                f"{node.host} {ports[0]}", f"{peer.host} {ports[1]}", asked.get(run["name"]), served.get(other["name"])
            )
            yield (mine, theirs), tried
            yield (theirs, mine), tried


def _connection(source: str, target: str, asked: Optional[Map], served: Optional[Map]) -> _Try:
    if asked is None:
        return _Try(_RDMA, source, target, None, "it was not tested")
    if asked["ok"]:
        return _Try(_RDMA, source, target, True)
    if served is not None and not served["ok"]:
        return _Try(_RDMA, source, target, None, served["error"])
    untold = asked["code"] == NOT_INSTALLED or _NO_SERVER in asked["error"]
    return _Try(_RDMA, source, target, None if untold else False, asked["error"])


def _of_round(node: HostEvidence, number: int) -> Dict[str, Map]:
    found = next((result for result in node.rounds if result.get("round") == number), {})
    return {entry["name"]: entry for entry in found.get("results") or ()}


def _matrix(
    members: Sequence[HostEvidence], tests: Mapping[str, HostTests], wanted: Optional[RailReachability]
) -> _Matrix:
    peers = {node.host: node for node in members}
    named = {rail for together in (wanted.sets if wanted else None) or () for rail in together}
    found = _Matrix(sorted(named.union(*(node.rails for node in members))))
    for node in members:
        for pair, tried in _pings(node, tests[node.host], peers):
            found.add(pair, tried)
        for pair, tried in _connections(node, peers, tests):
            found.add(pair, tried)
    return found


def _named(pairs: Sequence[Pair]) -> str:
    """``0 and 1, 0 and 3``, each two rails once."""
    both = sorted({(min(pair), max(pair)) for pair in pairs})
    return joined([f"{rail} and {other}" for rail, other in both], at_most=8)


def _tried(matrix: _Matrix) -> str:
    """How much was tried, and could not be tried, in words."""
    # A connection is in the cells of both directions.
    every = {tried for pair in matrix.pairs for tried in matrix.tries.get(pair, ())}
    kinds = Counter(tried.kind for tried in every if tried.reached is not None)
    failed = sorted(str(tried) for tried in every if tried.reached is None)
    said = " and ".join(counted(kinds[kind], kind) for kind in (_PING, _RDMA) if kinds[kind])
    return f"{said}; {len(failed)} could not be tried, such as {failed[0]}" if failed else said


def _evidence(
    matrix: _Matrix, wanted: Optional[RailReachability], contrary: Mapping[Pair, Sequence[_Try]]
) -> Dict[str, Any]:
    tries = dict.fromkeys(str(tried) for pair in sorted(contrary) for tried in contrary[pair])
    rails = matrix.rails
    found = RailMatrix(
        rails,
        [[matrix.state((rail, other)) for other in rails] for rail in rails],
        [[wanted.between(rail, other) for other in rails] for rail in rails] if wanted else None,
        {f"{rail} {other}": len(matrix.known((rail, other))) for rail, other in matrix.pairs},
        [*tries][:_SHOWN],
    )
    return asdict(found)


def _contrary(matrix: _Matrix, wanted: RailReachability, must: bool) -> Dict[Pair, List[_Try]]:
    """What was tried with another result than wanted, of rails that must reach each other or of those that must not."""
    found = {
        pair: [tried for tried in matrix.known(pair) if tried.contradicts(must)]
        for pair in matrix.pairs
        if wanted.between(*pair) == must
    }
    return {pair: tries for pair, tries in found.items() if tries}


def _figure(matrix: _Matrix, contrary: Mapping[Pair, Sequence[_Try]]) -> str:
    tries = {tried for pair in contrary for tried in contrary[pair]}
    every = {tried for pair in contrary for tried in matrix.known(pair)}
    first = contrary[min(contrary)][0]
    return f"({REACHABILITY}): {len(tries)} of {counted(len(every), 'test')}, such as {first}"


def _shown(matrix: _Matrix) -> str:
    states = Counter(matrix.state(pair) for pair in matrix.pairs)
    said = [f"{states[state]} {state}" for state in STATES if states[state]]
    return f"of {counted(len(matrix.pairs), 'way')} from a rail to another, {joined(said)} ({_tried(matrix)})"


def _lost(check: _Checked, matrix: _Matrix, wanted: RailReachability) -> Iterator[Check]:
    contrary = _contrary(matrix, wanted, True)
    if contrary:
        text = f"rails {_named([*contrary])} do not reach each other, but must {_figure(matrix, contrary)}"
        yield check("fail", text, _CONNECT, **_evidence(matrix, wanted, contrary))


def _open(check: _Checked, matrix: _Matrix, wanted: RailReachability) -> Iterator[Check]:
    contrary = _contrary(matrix, wanted, False)
    # Without strict ARP, a host answers for the address of one rail on another one, and RDMA gets nowhere.
    by_ping = {
        pair: tries
        for pair, tries in contrary.items()
        if any(tried.kind == _RDMA and not tried.reached for tried in matrix.known(pair))
    }
    reached = {pair: tries for pair, tries in contrary.items() if pair not in by_ping}
    if reached:
        text = f"rails {_named([*reached])} reach each other, but must not {_figure(matrix, reached)}"
        yield check("fail", text, _SEPARATE, **_evidence(matrix, wanted, reached))
    if by_ping:
        text = f"rails {_named([*by_ping])} answer pings from each other, but no RDMA {_figure(matrix, by_ping)}"
        yield check("warn", text, _STRICT, **_evidence(matrix, wanted, by_ping))


def _judged(check: _Checked, matrix: _Matrix, wanted: RailReachability) -> Iterator[Check]:
    bad = [*_lost(check, matrix, wanted), *_open(check, matrix, wanted)]
    yield from bad
    untold = [pair for pair in matrix.pairs if matrix.state(pair) == UNKNOWN]
    if untold:
        why = next((tried.said for pair in untold for tried in matrix.tries.get(pair, ()) if tried.said), "")
        why = why or "no two hosts have such ports that are up, with addresses or GIDs to try them by"
        text = f"it is unknown whether rails {_named(untold)} reach each other: {why}"
        yield check("impossible", text, "", **({} if bad else _evidence(matrix, wanted, {})))
    if not bad and len(untold) < len(matrix.pairs):
        yield check(
            "pass",
            f"rails reach each other as in {REACHABILITY}: {_shown(matrix)}",
            "",
            **_evidence(matrix, wanted, {}),
        )


def _of_group(
    group: str, members: Sequence[HostEvidence], tests: Mapping[str, HostTests], untried: str
) -> Iterator[Check]:
    try:
        wanted = reachability.intent(members[0].values)
    except PlanError:
        # Preflight reports the problem.
        wanted = None

    def check(verdict: str, text: str, remedy: str, **evidence: Any) -> Check:
        return Check(RING, ID, None, group, "", verdict, text, evidence, remedy)

    matrix = _matrix(members, tests, wanted)
    if len(matrix.rails) < 2:
        return
    if untried:
        if wanted is not None:
            yield check("impossible", f"it was not tested which rails reach each other: {untried}", "")
    elif wanted is not None:
        yield from _judged(check, matrix, wanted)
    elif any(matrix.known(pair) for pair in matrix.pairs):
        text = f"{_shown(matrix)}; {REACHABILITY} is not set, so this is not judged"
        yield check("pass", text, "", **_evidence(matrix, None, {}))


def of_fleet(nodes: Sequence[HostEvidence], tests: Mapping[str, HostTests], untried: str = "") -> List[Check]:
    """Verdicts on the rails of each group; ``untried`` is why nothing was tried on live hosts, if so."""
    found: List[Check] = []
    for group, members in plan.groups_of([node for node in nodes if node.host in tests]).items():

        def unjudged(why: str, group: str = group) -> Check:
            text = f"what was tried between rails cannot be judged: {why}"
            return Check(RING, f"{RING}.answers", None, group, "", "fail", text, {}, REMEDY)

        found += guarded(functools.partial(_of_group, group, members, tests, untried), unjudged)
    return found
