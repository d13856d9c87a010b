# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Cabling as a page for a browser: a map of each unit, a row for each node and a column for each rail and its leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import report
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.check import Cabling, Fault, Group
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import DARK, SEEN, PortView
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.units import Unit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import page
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

_At = Tuple[str, str]
# What a browser shows at once of one list.
_UP_TO = 500


@dataclass(frozen=True)
class Cell:
    """A port in the map: ``look`` as that of a verdict, the text in it, and all that is known of it."""

    look: str
    text: str
    title: str


@dataclass(frozen=True)
class Map:
    """The nodes of a unit: the rail (or HCA) and the usual leaf of each column, and each node with its cells."""

    title: str
    heads: Sequence[Tuple[str, str]]
    rows: Sequence[Tuple[str, Sequence[Cell]]]


@dataclass(frozen=True)
class _Columns:
    """The slots of a group in their order, and its ports by host and slot: once for all units, or it takes too long."""

    group: Group
    slots: Sequence[str]
    views: Mapping[_At, PortView]


def _columns(group: Group) -> _Columns:
    known = report.slots(group)
    rest = sorted({view.slot for view in group.views}.difference(known), key=natural_key)
    return _Columns(group, [*known, *rest], {(view.host, view.slot): view for view in group.views})


class _Drawing:
    def __init__(self, cabling: Cabling) -> None:
        self._cabling = cabling
        self._faults: Dict[_At, Fault] = {(fault.host, port): fault for fault in cabling.faults for port in fault.ports}
        self._unclear: Dict[_At, str] = {
            (entry.host, entry.port): report.reason(entry.code) for entry in cabling.unclear
        }

    def _cell(self, view: PortView) -> Cell:
        at, found = (view.host, view.name), view.neighbour
        where = f"{self._cabling.names.get(found.id, found.id)}/{found.port}" if found else ""
        fault = self._faults.get(at)
        if fault:
            return Cell("fail", where or "no link", fault.line)
        why = self._unclear.get(at)
        if view.state == SEEN and found and not why:
            return Cell("pass", str(found.port), f"{view.name}: {where}")
        shown = "no link" if view.state == DARK else "?"
        return Cell("impossible", where or shown, f"{view.name}: {why or report.reason(view.reason) or shown}")

    def _map(self, columns: _Columns, unit: Unit, title: str) -> Map:
        empty = Cell("none", "", "")
        rows = []
        for host in unit.hosts:
            own = (columns.views.get((host, slot)) for slot in columns.slots)
            rows.append((host, [self._cell(view) if view else empty for view in own]))
        heads = [(columns.group.called(slot), report.leaf(self._cabling, unit, slot)) for slot in columns.slots]
        return Map(title, heads, rows)

    def maps(self) -> Iterator[Map]:
        for group in self._cabling.groups:
            columns = _columns(group)
            for unit in group.units:
                yield self._map(columns, unit, f"{group.name}: {fold(unit.hosts)}")
            placed = {host for unit in group.units for host in unit.hosts}
            rest = sorted({view.host for view in group.views} - placed, key=natural_key)
            if rest:
                yield self._map(columns, Unit(rest), f"{group.name}: {fold(rest)}, of which no neighbour is known")


def _headline(cabling: Cabling) -> str:
    seen = f"{sum(view.state == SEEN for view in cabling.views)} of {counted(len(cabling.views), 'port')} seen"
    return f"{counted(len(cabling.faults), 'cabling fault')}, {seen}" if cabling.faults else f"No cabling fault, {seen}"


def html(cabling: Cabling, notes: List[str], collection: str) -> str:
    """The whole page; ``collection`` is the version of the collection."""
    return page.rendered(
        "cabling.html.j2",
        {"counted": counted},
        headline=_headline(cabling),
        faults=cabling.faults,
        maps=list(_Drawing(cabling).maps()),
        unclear=list(report.unclear(cabling)),
        notes=notes,
        collection=collection,
        up_to=_UP_TO,
    )
