# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Cabling as text for a terminal, and as plain data for a file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, Iterator, List, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.check import (
    ALONE,
    NO_MAJORITY,
    Cabling,
    Group,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.leaf_groups import leaf_groups, of_part
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import DARK, REASONS, SEEN, UNKNOWN
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.units import Unit
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import aligned, counted, joined

# Of lines of one kind in the text; the file has all.
_SHOWN = 200
_OWN = {
    NO_MAJORITY: "no leaf is that of most nodes, so that it takes the expected cabling to judge",
    ALONE: "no other node of the group is on these leaves, so that it takes the expected cabling to judge",
}


def reason(code: str) -> str:
    """Why a port cannot be judged, in words."""
    return _OWN.get(code) or REASONS.get(code) or code


def leaf(cabling: Cabling, unit: Unit, slot: str) -> str:
    """Where a unit has a slot: the name of the leaf, how many leaves if most nodes agree on none, or ``-``."""
    usual = unit.usual.get(slot)
    if usual:
        return cabling.names.get(usual.leaf, usual.leaf)
    return f"{len(unit.split[slot])} leaves" if slot in unit.split else "-"


def slots(group: Group) -> List[str]:
    """The slots of which a neighbour is known: rails first, in their order."""
    return sorted(
        {slot for unit in group.units for slot in (*unit.usual, *unit.split)},
        key=lambda slot: (group.rails.get(slot) is None, group.rails.get(slot) or 0, natural_key(slot)),
    )


def _table(cabling: Cabling, group: Group) -> Iterator[str]:
    known = slots(group)
    rows = [["nodes", *(group.called(slot) for slot in known)]]
    rows += [[fold(unit.hosts), *(leaf(cabling, unit, slot) for slot in known)] for unit in group.units]
    hosts = len({view.host for view in group.views})
    seen = sum(view.state == SEEN for view in group.views)
    yield f"{group.name}: {counted(hosts, 'node')}, {seen} of {counted(len(group.views), 'port')} seen"
    if known:
        yield from (f"  {line}" for line in aligned(rows))


def unclear(cabling: Cabling) -> Iterator[str]:
    """Lines for the ports that cannot be judged, those with one reason in one."""
    found: Dict[Tuple[str, str], Dict[str, List[str]]] = {}
    for entry in cabling.unclear:
        more = entry.more if entry.code == NO_MAJORITY else ""
        found.setdefault((entry.code, more), {}).setdefault(entry.host, []).append(entry.port)
    for (code, more), hosts in found.items():
        alike: Dict[Tuple[str, ...], List[str]] = {}
        for host, ports in hosts.items():
            alike.setdefault(tuple(ports), []).append(host)
        where = joined([f"{fold(names)} {joined(ports, 16)}" for ports, names in alike.items()], 8, "; ")
        yield f"{reason(code)}{f' ({more})' if more else ''}: {where}"


def text(cabling: Cabling, notes: List[str]) -> str:
    """What people read; each line of a fault stands for itself."""
    lines: List[str] = []
    for group in cabling.groups:
        lines += [*_table(cabling, group), ""]
    judged = sum(view.state != UNKNOWN for view in cabling.views)
    if cabling.faults:
        lines.append(f"{counted(len(cabling.faults), 'fault')}:")
        lines += [f"  {fault.line}" for fault in cabling.faults[:_SHOWN]]
        if len(cabling.faults) > _SHOWN:
            lines.append(f"  and {len(cabling.faults) - _SHOWN} more")
    elif cabling.views and judged:
        source = "the expected cabling" if cabling.expected else "the other nodes"
        lines.append(f"No fault: compared with {source}.")
    else:
        lines.append("Nothing is known of any cable.")
    if cabling.unclear:
        lines += ["", f"Unknown, {counted(len(cabling.unclear), 'port')}:", *(f"  {line}" for line in unclear(cabling))]
    if notes:
        lines += ["", *notes]
    return "\n".join(lines)


def failure(cabling: Cabling) -> str:
    """Why the check fails; empty if no cable is wrong. Nothing seen is no proof that all is well."""
    if cabling.faults:
        number = len(cabling.faults)
        return f"{counted(number, 'cabling fault')}, as shown above: {joined([each.line for each in cabling.faults])}"
    if not any(view.state == SEEN for view in cabling.views):
        return "No cable was checked: what is at the other end is unknown for every port, as shown above."
    return ""


def plain(cabling: Cabling, whole: bool = True) -> Dict[str, Any]:
    """All that was found, as JSON has it; ``whole`` tells that the run had all hosts of the fleet."""
    ports = [asdict(view) for view in cabling.views]
    for port in ports:
        port["reason"] = reason(port["reason"]) if port["reason"] else ""
    return {
        "ports": ports,
        "faults": [{**asdict(fault), "text": fault.line} for fault in cabling.faults],
        "unknown": [{**asdict(entry), "reason": reason(entry.code)} for entry in cabling.unclear],
        "units": [
            {
                "group": group.name,
                "hosts": unit.hosts,
                "leaves": {group.called(slot): leaf(cabling, unit, slot) for slot in unit.usual},
            }
            for group in cabling.groups
            for unit in group.units
        ],
        "leaf_groups": asdict(leaf_groups(cabling) if whole else of_part(cabling)),
        "links_between_switches": [asdict(link) for link in cabling.between],
        "counts": {state: sum(view.state == state for view in cabling.views) for state in (SEEN, DARK, UNKNOWN)},
    }
