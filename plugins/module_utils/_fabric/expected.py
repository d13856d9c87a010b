# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Cabling as a CSV file with the columns host, port, switch and switch port: read as expected, written as found.

A spreadsheet runs a cell that begins like a formula, and switches choose their names, so such a cell is written with an
apostrophe before it, which spreadsheets hide and which is taken off when the file is read.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import MOST_CHARACTERS, Neighbour
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import PortView
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined, visible

HEADER = ("host", "port", "switch", "switch_port")
_FORMULA = re.compile(r"\s*[=+\-@\t\r]")
_BY_ID = "give the GUID or the chassis ID instead"
_ESCAPED = re.compile(r"'\s*[=+\-@\t\r]")


class ExpectedError(ValueError):
    """The file cannot be used; the message has one line for each mistake in it."""


@dataclass(frozen=True)
class Place:
    """Where a cable should be: a switch by its name, GUID or chassis ID, and its port. ``line`` is that of the file."""

    switch: str
    port: str
    line: int = 0

    def is_switch(self, neighbour: Neighbour) -> bool:
        """Whether a neighbour is this switch, by any of its names."""
        return _same(self.switch) in {_same(name) for name in (neighbour.switch, neighbour.id, neighbour.description)}

    def is_port(self, neighbour: Neighbour) -> bool:
        return _same(self.port) in {_same(neighbour.port), _same(neighbour.alias)}


@dataclass
class Expected:
    """The places by host and port as the file names it, and the hosts that the inventory lacks."""

    places: Dict[Tuple[str, str], Place]
    elsewhere: List[str]

    def of(self, view: PortView) -> Optional[Place]:
        """The row of a port, by the names that it has: HCA, HCA and port, netdev, PCI address or rail."""
        return next((self.places[view.host, name] for name in view.names if (view.host, name) in self.places), None)


def _same(text: str) -> str:
    return text.strip().lower()


def _cell(text: str) -> str:
    return text[1:] if _ESCAPED.match(text) else text.strip()


def read(text: str, inventory: Iterable[str], views: Sequence[PortView], path: str) -> Expected:
    """The expected cabling, for hosts of the inventory; ``views`` are the ports of those that are looked at.

    Raises ExpectedError, with the number of each line that is wrong and what would be right.
    """
    try:
        rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff")), strict=True))
    except csv.Error as error:
        raise ExpectedError(f"{path} is no CSV file: {error}") from error
    known = set(inventory)
    looked_at: Dict[str, List[PortView]] = {}
    # A host may lack a port at the moment that others of its group have.
    alike: Dict[str, Set[str]] = {}
    for view in views:
        looked_at.setdefault(view.host, []).append(view)
        alike.setdefault(view.group, set()).update(view.names)
    several = _several(views)
    places: Dict[Tuple[str, str], Place] = {}
    taken: Dict[Tuple[str, str], int] = {}
    wrong: List[str] = []
    elsewhere: Dict[str, None] = {}
    for line, cells in enumerate(rows, 1):
        row = [_cell(cell) for cell in cells]
        if (
            not any(row)
            or row[0].startswith("#")
            or (line == 1 and [_same(cell) for cell in row[:2]] == ["host", "port"])
        ):
            continue
        if len(row) != len(HEADER) or not all(row):
            wrong.append(f"line {line} has {counted(sum(map(bool, row)), 'value')}: it must have {', '.join(HEADER)}")
            continue
        if any(len(cell) > MOST_CHARACTERS for cell in row):
            wrong.append(f"line {line} has a value of more than {MOST_CHARACTERS} characters")
            continue
        host, port, switch, number = row
        if host not in known:
            elsewhere[host] = None
            continue
        end = (_same(switch), _same(number))
        if _same(switch) in several:
            wrong.append(f"line {line}: {several[_same(switch)]} switches are called {switch}: {_BY_ID}")
        elif (host, port) in places:
            wrong.append(f"line {line}: {host} {port} is in line {places[host, port].line} as well")
        elif end in taken:
            wrong.append(f"line {line}: port {number} of {switch} is in line {taken[end]} as well")
        elif host in looked_at and port not in alike[looked_at[host][0].group]:
            names = joined(sorted({view.name for view in looked_at[host]}), 16)
            wrong.append(f"line {line}: {host} has no port {port}: it has {names}")
        taken.setdefault(end, line)
        places.setdefault((host, port), Place(switch, number, line))
    if wrong:
        raise ExpectedError(visible(f"{path} cannot be used:\n" + "\n".join(wrong[:20]) + _more(wrong)))
    return Expected(places, list(elsewhere))


def _several(views: Sequence[PortView]) -> Dict[str, int]:
    """How many switches have a name, of those that several have: unmanaged ones often have that of their model."""
    found: Dict[str, Set[str]] = {}
    for neighbour in filter(None, (view.neighbour for view in views)):
        for name in filter(None, (neighbour.switch, neighbour.description)):
            found.setdefault(_same(name), set()).add(neighbour.id)
    return {name: len(ids) for name, ids in found.items() if len(ids) > 1}


def _more(wrong: Sequence[str]) -> str:
    return f"\nand {len(wrong) - 20} more" if len(wrong) > 20 else ""


def unseen_switches(expected: Expected, neighbours: Sequence[Neighbour]) -> List[str]:
    """Switches of the file that no source knows: rather a misspelt name than hundreds of wrong cables."""
    known = {_same(name) for each in neighbours for name in (each.switch, each.id, each.description)}
    return sorted({place.switch for place in expected.places.values() if _same(place.switch) not in known})


def _safe(text: str) -> str:
    shown = visible(text, kept="")
    return f"'{shown}" if _FORMULA.match(shown) else shown


def written(views: Sequence[PortView]) -> str:
    """The file of the cabling as found, without ports whose neighbour is not seen."""
    several = _several(views)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for view in views:
        if view.neighbour:
            own = view.neighbour.id if _same(view.neighbour.switch) in several else view.neighbour.switch
            writer.writerow([_safe(cell) for cell in (view.host, view.name, own, view.neighbour.port)])
    return out.getvalue()
