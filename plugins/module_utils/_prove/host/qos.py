# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Verdicts on RoCE's quality of service: as the inventory wants it, consistent in itself, equal in a group."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import qos as model
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Congestion, Ets, Qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import qos as links_qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import fleet
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.roce import RoceQos
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

_WHAT, _PAUSES = "qos", "pauses"
_GUESSED = (
    "If the port is to be lossless, set rdma_links_qos to have it checked; if not, switch PFC off (docs/roce.md)."
)
# Why there is no Data Center Bridging to judge.
_DCB = {
    model.NOT_OFFERED: "its driver, or the kernel, offers no Data Center Bridging (DCB)",
    model.AWAY: "its netdev is not on the host",
    model.NOT_ASKED: "a recorded node cannot be asked",
    model.REFUSED: "the kernel did not answer",
}


def _words(priorities: Sequence[int]) -> str:
    return joined([str(priority) for priority in priorities]) or "none"


def _at(values: Optional[Sequence[int]], index: int) -> Optional[int]:
    """A value that a node sent, in a list that may be of any length."""
    return values[index] if values is not None and 0 <= index < len(values) else None


def _ports(node: HostEvidence) -> Iterator[Tuple[str, Qos]]:
    """Name and quality of service of each rail that is Ethernet and can be judged now."""
    rails = set(node.rails.values())
    for _hca, port, name in node.ports():
        if port.link_layer == "Ethernet" and name in rails:
            yield name, port.qos or Qos()


def _label(name: str, qos: Qos) -> str:
    return f"{name} ({qos.netdev})" if qos.netdev else name


def _share(ets: Optional[Ets], wanted: RoceQos) -> Iterator[str]:
    own = ets.share(wanted.priority) if ets else 0
    if wanted.bandwidth is not None and own < wanted.bandwidth:
        yield f"{own} % of the bandwidth for priority {wanted.priority} alone instead of {wanted.bandwidth} %"


def _congestion(found: Congestion, wanted: RoceQos) -> Iterator[str]:
    if found.notify is not None and wanted.priority not in found.notify:
        yield f"no CNPs sent for priority {wanted.priority}"
    if found.react is not None and wanted.priority not in found.react:
        yield f"no reaction to CNPs on priority {wanted.priority}"
    if found.cnp_dscp not in (None, wanted.cnp_dscp):
        yield f"CNPs with DSCP {found.cnp_dscp} instead of {wanted.cnp_dscp}"


def _differences(qos: Qos, wanted: RoceQos) -> Iterator[str]:
    """What is known to be otherwise than wanted."""
    if qos.dcb == model.OFFERED:
        if qos.trust != model.DSCP:
            yield f"trust {qos.trust} instead of dscp"
        for dscp, priority in ((wanted.dscp, wanted.priority), (wanted.cnp_dscp, wanted.cnp_priority)):
            own = _at(qos.dscp, dscp)
            # Without trust in DSCP, there may be no map.
            if own != priority and (qos.dscp is not None or qos.trust == model.DSCP):
                yield f"priority {own or 0} for DSCP {dscp} instead of {priority}"
        if qos.pfc != [wanted.priority]:
            has = "no PFC" if qos.pfc is None else f"PFC on {_words(qos.pfc)}"
            yield f"{has} instead of on {wanted.priority} alone"
        yield from _share(qos.ets, wanted)
    if qos.roce_tos not in (None, wanted.tos):
        yield f"RDMA-CM's type of service {qos.roce_tos} instead of {wanted.tos}"
    yield from _congestion(qos.congestion or Congestion(), wanted)


def _unknown(qos: Qos) -> Iterator[str]:
    if qos.roce_tos is None:
        yield "RDMA-CM's type of service (its directory in configfs does not exist)"
    known = qos.congestion or Congestion()
    if known.cnp_dscp is None:
        yield "the DSCP of CNPs"
    if known.notify is None or known.react is None:
        yield "whether CNPs are sent and obeyed"


def _against_intent(node: HostEvidence, wanted: RoceQos) -> Iterator[Check]:
    right = []
    for name, qos in _ports(node):
        label, why = _label(name, qos), _DCB.get(qos.dcb)
        wrong = list(_differences(qos, wanted))
        if wrong:
            yield node.check(_WHAT, "fail", name, f"{label} has {joined(wrong, 9)}", "", "links", wrong=wrong)
        if qos.managed_by == model.FIRMWARE:
            text = (
                f"{label} takes its settings from the switch (DCBX in firmware), which may overwrite those of the host"
            )
            remedy = f"Let the host manage them: dcb dcbx set dev {qos.netdev} host ieee."
            yield node.check(_WHAT, "warn", name, text, remedy)
        if why:
            text = f"it is unknown whether {label} is lossless: {why}"
            yield node.check(_WHAT, "impossible", name, text, dcb=qos.dcb)
            continue
        unknown = list(_unknown(qos))
        if unknown:
            yield node.check(_WHAT, "impossible", name, f"unknown of {label}: {joined(unknown)}", unknown=unknown)
        if not wrong:
            right.append(name)
    if right:
        text = f"DSCP {wanted.dscp} has priority {wanted.priority}, with PFC on it alone, on {joined(right)}"
        yield node.check(_WHAT, "pass", "", text, ports=right)


def wrong_netdevs(node: HostEvidence) -> List[str]:
    """Netdevs of which the facts already show that they are not as wanted."""
    wanted = links_qos.intent(node.values)
    return [qos.netdev for _name, qos in _ports(node) if any(_differences(qos, wanted))] if wanted else []


def _consistent(node: HostEvidence) -> Iterator[Check]:
    """Of ports that somebody made lossless, although nothing in the inventory says so: what cannot work."""
    for name, qos in _ports(node):
        label, on = _label(name, qos), qos.pfc or []
        if len(on) > 1:
            text = f"{label} has PFC on priorities {_words(on)}: RoCE needs one, and each more takes buffers from it"
            yield node.check(_WHAT, "warn", name, text, _GUESSED, pfc=on)
        elif on and qos.trust != model.DSCP:
            text = f"{label} has PFC on priority {on[0]}, but trusts {qos.trust}: what has no VLAN tag is not lossless"
            yield node.check(_WHAT, "warn", name, text, _GUESSED, pfc=on, trust=qos.trust)
        elif on and qos.roce_tos is not None:
            own = _at(qos.dscp, qos.roce_tos >> 2)
            if own not in on:
                text = f"{label} has PFC on priority {on[0]}, but RDMA-CM's type of service {qos.roce_tos}"
                text += f" (DSCP {qos.roce_tos >> 2}) has priority {own or 0}"
                yield node.check(_WHAT, "warn", name, text, _GUESSED, pfc=on, tos=qos.roce_tos)


def _earlier(node: HostEvidence) -> Dict[str, Qos]:
    ports = ((hca, port) for hca in node.earlier.hcas for port in hca.ports) if node.earlier else ()
    return {f"{hca.name}/{port.number}": port.qos for hca, port in ports if port.qos}


def _grown(now: Optional[int], before: Optional[int]) -> int:
    return max((now or 0) - (before or 0), 0)


def _without_cnps(node: HostEvidence) -> Iterator[Check]:
    """Ports that the switch paused, and that nobody had told to send more slowly before."""
    earlier = _earlier(node)
    for name, qos in _ports(node):
        if qos.cnp_handled is None or qos.pauses_received is None:
            continue
        before = earlier.get(name, Qos())
        when = "while verify ran" if before.pauses_received is not None else "since its counters began"
        pauses = _grown(sum(qos.pauses_received), sum(before.pauses_received or ()))
        if pauses and not _grown(qos.cnp_handled, before.cnp_handled):
            text = f"{_label(name, qos)} was paused {pauses} times {when}, and got no CNP: ECN does not slow it down"
            remedy = "Check that switches mark RoCE's queue before they pause it (ECN), and that CNPs reach the sender."
            yield node.check(_PAUSES, "warn", name, text, remedy, pauses=pauses, cnps=qos.cnp_handled)


def of_node(node: HostEvidence) -> List[Check]:
    """Verdicts on one host's RoCE ports."""
    if node.facts is None:
        return []
    wanted = links_qos.intent(node.values)
    found = list(_against_intent(node, wanted) if wanted else _consistent(node))
    return found + list(_without_cnps(node))


def _aspects(qos: Qos, with_intent: bool) -> Iterator[Tuple[str, str]]:
    """What of a port should be as in the rest of its group, with its value in words."""
    if qos.dcb not in (model.OFFERED, model.NOT_OFFERED):
        return
    yield "DCB", qos.dcb.replace("_", " ")
    if qos.ets:
        yield "ETS", str(qos.ets)
    if qos.buffers:
        yield "buffers", ", ".join(map(str, qos.buffers.sizes))
    # All else is compared with what is wanted.
    if with_intent or qos.dcb != model.OFFERED:
        return
    yield "trust", str(qos.trust)
    yield "PFC", _words(qos.pfc or ())
    if qos.dscp is not None:
        yield "DSCP map", model.dscp_text(qos.dscp)
    if qos.roce_tos is not None:
        yield "RDMA-CM's type of service", str(qos.roce_tos)


def of_fleet(nodes: Sequence[HostEvidence]) -> Iterator[Check]:
    """Ports that are not as most of their group are."""
    members: Dict[Tuple[str, str], List[fleet.Entry]] = {}
    for node in nodes:
        with_intent = links_qos.intent(node.values) is not None
        for name, qos in _ports(node) if node.facts else ():
            for aspect, value in _aspects(qos, with_intent):
                members.setdefault((node.group, aspect), []).append((node, name, value))
    for (group, aspect), entries in members.items():
        for node, name, value, usual, table in fleet.odd(entries):
            text = f"{name} has {aspect} {value}, most ports of group {group} have {usual}"
            remedy = "Configure the ports of a group alike; rdma_links_qos says how they should be."
            yield node.check(_WHAT, "warn", name, text, remedy, aspect=aspect, hosts=table[value])
