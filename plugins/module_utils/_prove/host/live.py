# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Verdicts from what was tried on live hosts: packets to peers, duplicate addresses, bandwidth and latency."""

from __future__ import annotations

import functools
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import perftest_parse
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import threshold as bandwidth_threshold
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth.perftest_run import NOT_INSTALLED
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check, End, Measurement
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence, Map
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.plan import PREFIX, HostTests, Meeting
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined

_NOT_TRIED = {"code": "not_tried", "error": "it was not tested"}
_REMEDY = "Check firewalls between the nodes (TCP {} and following, UDP 4791 for RoCE), and the GIDs of both ports."


def _pings(node: HostEvidence, own: HostTests, answers: Mapping[str, Map]) -> Iterator[Check]:
    whole = []
    # Whether a rail should reach another one is up to the inventory, and judged by rails.
    probes = [probe for probe in own.probes if "peer_port" not in own.ends[probe["name"]]]
    for probe in probes:
        answer = answers.get(probe["name"])
        if answer is None:
            continue
        ends = own.ends[probe["name"]]
        way, port = f"{probe['source']} to {probe['target']} ({ends['peer']})", ends["port"]
        evidence = {**probe, "complaint": answer["complaint"], "mtu_named": answer["mtu_named"]}
        said = f": {answer['complaint']}" if answer["complaint"] else ""
        if not answer["usable"]:
            text, remedy = f"it could not be tested{said}", "Install iputils-ping on the node."
            yield node.check("path_mtu", "impossible", port, text, remedy, **evidence)
        elif not answer["reached"]:
            text = f"no packet arrives from {way}{said}"
            remedy = "Check that both ports have their addresses, and check switch, VLAN and firewall."
            yield node.check("reachable", "fail", port, text, remedy, **evidence)
        elif not answer["whole"]:
            text = f"packets of {probe['mtu']} bytes do not arrive from {way}, but small ones do{said}"
            remedy = (
                "Set the same MTU on both ends (rdma_links_mtu), and at least as much on switch ports between them."
            )
            yield node.check("path_mtu", "fail", port, text, remedy, "links", **evidence)
        else:
            whole.append(probe)
            if answer["lost"]:
                text = f"{answer['lost']} of {answer['lost'] + 1} packets from {way} were lost"
                yield node.check("reachable", "warn", port, text, "Check the error counters of the ports.", **evidence)
    if whole and len(whole) == len(probes):
        sizes = joined([str(mtu) for mtu in sorted({probe["mtu"] for probe in whole})])
        text = f"packets of {sizes} bytes arrive unfragmented over {counted(len(whole), 'path')}"
        yield node.check("path_mtu", "pass", "", text, peers=[probe["target"] for probe in whole])


def _claims(node: HostEvidence, results: List[Map]) -> Iterator[Check]:
    asked = [result for result in results if not result["skipped"]]
    for result in results:
        subject = result["netdev"]
        if result["other"]:
            text = f"{result['address']} of {subject} is also claimed by the station {result['other']}"
            remedy = "Find that station by its MAC address in the switch's table; give it or this port another address."
            yield node.check("duplicate_address", "fail", subject, text, remedy, **result)
        elif result["skipped"]:
            text = f"it is unknown whether another station has {result['address']} of {subject}: {result['skipped']}"
            yield node.check("duplicate_address", "impossible", subject, text, **result)
    if asked and not any(result["other"] for result in asked):
        text = f"no other station claims {joined([result['address'] for result in asked])}"
        yield node.check("duplicate_address", "pass", "", text)


def _end(host: str, run: Map) -> End:
    return End(host, run["hca"], run["port"])


def _judged(node: HostEvidence, run: Map, value: float, expected: Optional[float]) -> Tuple[Optional[float], str, str]:
    if run["test"] in perftest_parse.LATENCY:
        found = node.port(f"{run['hca']}/{run['port']}")
        software = found is not None and found[0].software
        return bandwidth_threshold.latency(value, software, float(node.values[PREFIX + "latency_us"]))
    demanded = node.values.get(PREFIX + "gbps")
    return bandwidth_threshold.bandwidth(value, expected, float(node.values[PREFIX + "fraction"]), demanded)


def _unmeasured(node: HostEvidence, run: Map, peer: str, result: Map, at: str) -> Check:
    """``result`` comes from the end that caused the missing value, which ran on host ``at``."""
    test, port = run["test"], f"{run['hca']}/{run['port']}"
    alone = peer == node.host
    verdict, remedy, mend = "fail", _REMEDY.format(run["tcp_port"]), ""
    if result["code"] == NOT_INSTALLED:
        where = "" if alone else f" on {at}"
        verdict, remedy = "impossible", f"Install perftest{where} (rdma_kernel_packages)."
        mend = "kernel" if at == node.host else ""
    peers = "to itself returned no result" if alone else f"with {peer} returned no result; error on {at}"
    text = f"{test} {peers}: {result['error']}"
    return node.check("bandwidth", verdict, port, text, remedy, mend, test=test, peer=peer)


def _meeting(
    node: HostEvidence, meeting: Meeting, asked: Mapping[str, Map], served: Mapping[str, Map], theirs: Sequence[Map]
) -> Iterator[Any]:
    """Measurements and checks of a meeting, from the client's and the server's results by name of the run.

    ``theirs`` are the server's runs: the n-th of the client meets the n-th of the server.
    """
    for run, other, expected in zip(meeting.runs, theirs, meeting.expected):
        result = asked.get(run["name"])
        server = served.get(other["name"], {"ok": True})
        if result is None or not result["ok"]:
            own = server["ok"]
            why, at = (result or _NOT_TRIED, node.host) if own else (server, meeting.peer)
            yield _unmeasured(node, run, meeting.peer, why, at)
            continue
        latency = run["test"] in perftest_parse.LATENCY
        value = round(result["value"], 2)
        threshold, verdict, text = _judged(node, run, value, expected)
        target = _end(meeting.peer, other)
        unit = "us" if latency else "Gb/s"
        reach = None if latency or expected is None else round(expected, 2)
        yield Measurement(
            node.group, run["test"], _end(node.host, run), target, value, unit, reach, threshold, verdict, text
        )


def _by_name(result: Optional[Map]) -> Dict[str, Map]:
    return {entry["name"]: entry for entry in (result or {}).get("results") or []}


def _of_round(node: HostEvidence, number: int) -> Optional[Map]:
    return next((result for result in node.rounds if result.get("round") == number), None)


def _untried(node: HostEvidence, why: str, *whats: str) -> List[Check]:
    return [node.check(what, "impossible", "", f"it was not tested: {why}") for what in whats]


def _of_node(node: HostEvidence, by_host: Mapping[str, HostEvidence], plan: Mapping[str, HostTests]) -> Iterator[Any]:
    own = plan[node.host]
    if node.reached is None or "pings" not in node.reached:
        why = str((node.reached or {}).get("msg") or "the host failed earlier")
        yield from _untried(node, why, "path_mtu", "duplicate_address")
    else:
        yield from _pings(node, own, {ping["name"]: ping for ping in node.reached["pings"]})
        yield from _claims(node, node.reached["addresses"])
    yield from _meeting(node, own.loopback, _by_name(node.loopback), {}, own.loopback.runs)
    for number, meeting in enumerate(own.rounds):
        if meeting.role == "client" and not meeting.crosses:
            peer = by_host[meeting.peer]
            asked, served = _by_name(_of_round(node, number)), _by_name(_of_round(peer, number))
            yield from _meeting(node, meeting, asked, served, plan[meeting.peer].rounds[number].runs)


def of_fleet(
    nodes: Sequence[HostEvidence], plan: Mapping[str, HostTests], untried: str = ""
) -> Tuple[List[Check], List[Measurement]]:
    """Checks and measurements of all hosts; ``untried`` is why nothing was tried on live hosts, if so."""
    found: List[Any] = []
    by_host = {node.host: node for node in nodes}
    for node in nodes:
        if node.host in plan and node.facts is not None:
            if untried:
                found += _untried(node, untried, "path_mtu", "duplicate_address", "bandwidth")
            else:
                found += node.guarded("what was tested", functools.partial(_of_node, node, by_host, plan))
    checks = [item for item in found if isinstance(item, Check)]
    return checks, [item for item in found if isinstance(item, Measurement)]
