# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""RoCE's quality of service of ports: what differs from what is wanted, and what a port had before us. Reads only.

A port is noted in the ledger before it is first changed: by the name of its HCA and port, which may change, with its
MAC address, what its driver had (``before``) and what we want of it (``wanted``), by which what somebody else has set
since is known.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import qos as discover_qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import qos as model
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Ets, Qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import guard, qos_unit, resolve
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import QosPort, Selector
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import LinkState, QosChange, QosPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.roce import RoceQos

# In the order in which they are set: what is paused last, since mlx5 takes the link down for it.
DSCP, ETS, PFC, TOS = "dscp", "ets", "pfc", "tos"
_DCB = (DSCP, ETS, PFC)
# The priorities of class selectors, which NICs have of themselves.
_CLASS_SELECTORS = [dscp // 8 for dscp in range(64)]
_TOOL = "dcb"


def current(qos: Qos) -> Dict[str, Any]:
    """The settings of a port as notes have them; without DCB only RDMA-CM's, ``None`` while that is unknown."""
    found: Dict[str, Any] = {TOS: qos.roce_tos}
    if qos.dcb == model.OFFERED:
        found[DSCP] = list(qos.dscp or ())
        found.update({ETS: asdict(qos.ets)} if qos.ets else {})
        found.update({PFC: list(qos.pfc)} if qos.pfc is not None else {})
    return found


def is_right(what: str, value: Any, wanted: RoceQos) -> bool:
    """Whether a setting is as wanted; a driver may have more of it than was asked for."""
    if what == DSCP:
        pairs = ((wanted.dscp, wanted.priority), (wanted.cnp_dscp, wanted.cnp_priority))
        return len(value) == len(_CLASS_SELECTORS) and all(value[dscp] == priority for dscp, priority in pairs)
    if what == ETS:
        return wanted.bandwidth is None or Ets(**value).share(wanted.priority) >= wanted.bandwidth
    return bool(value == ([wanted.priority] if what == PFC else wanted.tos))


def _is_goal(what: str, value: Any, goal: Any, wanted: RoceQos) -> bool:
    """Of a map of DSCPs all counts: a DSCP that was RoCE's before must not stay so."""
    return bool(value == goal) if what == DSCP else is_right(what, value, wanted)


def _dscp(before: Sequence[int], wanted: RoceQos) -> List[int]:
    found = list(before or _CLASS_SELECTORS)
    found[wanted.dscp], found[wanted.cnp_dscp] = wanted.priority, wanted.cnp_priority
    return found


def _ets(before: Ets, wanted: RoceQos) -> Ets:
    """RoCE alone in a traffic class with its share; the others divide the rest. Raises HostError."""
    classes, algorithms = list(before.traffic_classes), list(before.algorithms)
    if classes.count(classes[wanted.priority]) > 1:
        free = [tc for tc in range(len(algorithms)) if tc not in classes]
        if not free:
            raise HostError(f"qos: bandwidth: there is no traffic class left for priority {wanted.priority} alone")
        classes[wanted.priority] = free[0]
    own = classes[wanted.priority]
    others = sorted({tc for tc in classes if tc != own and algorithms[tc] != "strict"})
    bandwidth, share = [0] * len(algorithms), wanted.bandwidth or 0
    for place, tc in enumerate(others):
        algorithms[tc] = "ets"
        # All together have to be 100.
        bandwidth[tc] = (100 - share) // len(others) + (place < (100 - share) % len(others))
    algorithms[own], bandwidth[own] = "ets", share if others else 100
    return Ets(classes, algorithms, bandwidth)


def _targets(before: Mapping[str, Any], wanted: RoceQos) -> Dict[str, Any]:
    """What is set on a port that had ``before``."""
    found: Dict[str, Any] = {}
    if DSCP in before:
        found[DSCP] = _dscp(before[DSCP], wanted)
    if ETS in before and wanted.bandwidth is not None:
        found[ETS] = asdict(_ets(Ets(**before[ETS]), wanted))
    if PFC in before:
        found[PFC] = [wanted.priority]
    return {**found, TOS: wanted.tos}


def _script(mac: str, targets: Mapping[str, Any], wanted: RoceQos) -> qos_unit.Port:
    return qos_unit.Port(
        mac=mac,
        tos=wanted.tos,
        dscp=tuple(targets[DSCP]) if DSCP in targets else None,
        pfc=wanted.priority if PFC in targets else None,
        ets=Ets(**targets[ETS]) if ETS in targets else None,
    )


def _check(node: LinkState, port: QosPort, netdev: str) -> None:
    """:raises HostError: the port must not be touched."""
    physical = resolve.is_physical(node.tree, netdev)
    problem = guard.problem(node.tree, netdev, node.routes, node.session, physical)
    if problem:
        raise HostError(f"qos: {port.name} cannot be used: {problem}")


def _read(node: LinkState, name: str) -> Optional[Qos]:
    """The quality of service of an Ethernet port by its name (``mlx5_0/1``)."""
    for hca in node.hcas:
        for port in hca.ports:
            if f"{hca.name}/{port.number}" == name and port.link_layer == "Ethernet":
                discover_qos.attach(node.tree, [hca])
                return port.qos
    return None


def now(node: LinkState, name: str) -> Dict[str, Any]:
    """The settings of a port as they are."""
    return current(_read(node, name) or Qos())


def _macs(node: LinkState) -> Dict[str, str]:
    """The address of each Ethernet port whose netdev is on the host, by the port's name."""
    found = {}
    for hca in node.hcas:
        for port in hca.ports:
            name = port.netdev.name if port.netdev and port.netdev.present else ""
            here = node.interfaces.get(name)
            if here and here.mac and port.link_layer == "Ethernet":
                found[f"{hca.name}/{port.number}"] = resolve.profile_mac(here.mac)
    return found


def _rename(node: LinkState) -> None:
    """Let notes have the names that their ports have now: another driver, or udev, may name an RDMA device anew."""
    notes, macs = node.ledger.notes.get("qos", {}), _macs(node)
    kept = {name for name, note in notes.items() if macs.get(name) == note["mac"]}
    moved: Dict[str, str] = {}
    for name in sorted(set(notes) - kept):
        # Several ports of a bond have one address.
        others = {port for port, mac in macs.items() if mac == notes[name]["mac"]} - kept - set(moved.values())
        moved.update((name, port) for port in sorted(others)[:1])
    if moved:
        # Ports that are away had some of these names, and none now.
        taken = sorted(name for name in moved.values() if name in notes and name not in moved)
        moved.update(zip(taken, sorted(set(moved) - set(moved.values()))))
        node.ledger.notes["qos"] = {moved.get(name, name): note for name, note in notes.items()}


def _asked(plan: QosPlan, node: LinkState, port: QosPort) -> None:
    """What one port needs. Raises HostError."""
    note = node.ledger.notes.get("qos", {}).get(port.name, {})
    target = resolve.resolve(
        f"qos: {port.name}", node.tree, node.interfaces, node.hcas, Selector("hca", port.hca, port.port), note
    )
    if target.kind == "infiniband":
        raise HostError(f"qos: {port.name} is InfiniBand, which loses no packets: only RoCE needs it")
    here = target.interface
    if here is None or target.mac is None:
        if note:
            plan.notes[port.name] = {**note, "wanted": asdict(port.wanted)}
            plan.ports.append(_script(note["mac"], _targets(note["before"], port.wanted), port.wanted))
        else:
            plan.warnings.append(f"qos: {port.name} is not on the host now: repeat the run when it is back")
        return
    _check(node, port, here.name)
    qos = _read(node, port.name) or Qos()
    have = current(qos)
    known = {what: value for what, value in have.items() if value is not None}
    # An image's driver is taken for one that has DCB, off as when it is loaded.
    before = {**({DSCP: [], PFC: []} if node.snapshot is None else {}), **known, **note.get("before", {})}
    goal = _targets(before, port.wanted)
    plan.notes[port.name] = {
        "netdev": here.name,
        "mac": target.mac,
        "before": before,
        "wanted": asdict(port.wanted),
        "made": note.get("made", False),
    }
    plan.ports.append(_script(target.mac, goal, port.wanted))
    if node.snapshot is None:
        return
    changes = [
        QosChange(port.name, here.name, what, have[what], goal[what])
        for what in (*_DCB, TOS)
        if what in goal and what in have and not _is_goal(what, have[what], goal[what], port.wanted)
    ]
    if qos.dcb == model.NOT_OFFERED:
        text = (
            "its driver, or the kernel, offers no Data Center Bridging (DCB), so only RDMA-CM's type of service is set"
        )
        plan.warnings.append(f"qos: {here.name}: {text}")
    elif qos.dcb != model.OFFERED:
        raise HostError(f"qos: {here.name}: the kernel does not tell its settings by DCB netlink")
    for what, word in ((PFC, "PFC"), (ETS, "ETS")):
        if qos.dcb == model.OFFERED and what not in have and (what == PFC or port.wanted.bandwidth is not None):
            plan.warnings.append(f"qos: {here.name}: its driver offers no {word}, which is not set")
    if qos.managed_by == model.FIRMWARE and any(change.what in _DCB for change in changes):
        raise HostError(
            f"qos: {here.name}: its firmware takes the settings from the switch (DCBX), so those of the host would not "
            f"stay: let the host manage them ('dcb dcbx set dev {here.name} host ieee', or in the NIC's firmware)"
        )
    plan.changes += changes


def _left(plan: QosPlan, node: LinkState, name: str, note: Mapping[str, Any]) -> None:
    """What a port gets back that is asked for no more."""
    here = resolve.with_mac(node.tree, node.interfaces, note["mac"])
    qos = _read(node, name) if here else None
    if here is None or qos is None:
        plan.notes[name] = dict(note)
        plan.warnings.append(
            f"qos: {name} ({note['mac']}) is not on the host now, so what it had before cannot be restored: repeat the "
            "run when it is back"
        )
        return
    have, wanted = current(qos), RoceQos(**note["wanted"])
    for what in (PFC, ETS, DSCP, TOS):
        # The kernel's default, if nobody could read it.
        before = note["before"].get(what, 0 if what == TOS and note["made"] else None)
        if before is None or have.get(what) in (None, before):
            continue
        change = QosChange(name, here.name, what, have[what], before)
        if is_right(what, have[what], wanted):
            plan.changes.append(change)
        else:
            text = change.change
            plan.warnings.append(f"{text.name} was {text.after} before us; somebody has changed it since, so it stays")


def build(node: LinkState, asked: Sequence[QosPort]) -> QosPlan:
    """What has to change so that these ports have what is wanted, and others what they had.

    :raises HostError: it is impossible, or a port must not be touched; nothing was changed.
    """
    plan = QosPlan()
    _rename(node)
    for port in asked:
        _asked(plan, node, port)
    if node.snapshot is not None:
        names = {port.name for port in asked}
        for name, note in sorted(node.ledger.notes.get("qos", {}).items()):
            if name not in names:
                _left(plan, node, name, note)
    needing = [change.netdev for change in plan.changes if change.what in _DCB]
    if needing and not command.find(_TOOL):
        raise HostError(f"qos: {needing[0]}: the tool {_TOOL!r} is not installed; it is part of iproute2 since 5.11")
    return plan
