# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The overview of the fleet as text and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import paths
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.fleet import COLUMNS, Fleet, FleetGroup, alike
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import aligned, counted

DETAILS = ("auto", "full", "summary")
# Beyond this many hosts a terminal page no longer holds the table and only what differs is worth reading.
_FULL_UP_TO = 16
_LABEL_UP_TO = 24

_TITLES = {"link_layer": "LINK", "rate": "GBIT/S"}


def table(rows: Sequence[Mapping[str, str]]) -> List[str]:
    """Aligned lines with a heading; columns as wide as their widest value."""
    titles = {column: _TITLES.get(column, column.upper()) for column in COLUMNS}
    return aligned([[row[column] for column in COLUMNS] for row in (titles, *rows)])


def _condensed(fleet: Fleet) -> List[Dict[str, str]]:
    rows: List[Dict[str, str]] = []
    for group in fleet.groups:
        own = [row for row in fleet.rows if row["group"] == group.name]
        for position, (hosts, differing) in enumerate(alike(own)):
            label = fold(hosts)
            if len(hosts) > 1 and len(label) > _LABEL_UP_TO:
                label = f"{len(hosts)} hosts"
            if not differing and position:
                differing = [dict(dict.fromkeys(COLUMNS, "-"), group=group.name, note="fewer rows than its group")]
            rows.extend(dict(row, host=label) for row in differing)
    return rows


def _shape_lines(group: FleetGroup) -> List[str]:
    lines = []
    total = len(group.hosts)
    if len(group.shapes) == 1 and not group.silent:
        what = "one node" if total == 1 else f"{total} nodes alike"
        return [f"{group.name}: {what} (shape {group.shapes[0].signature}): {fold(group.hosts)}"]
    lines.append(f"{group.name}: {counted(total, 'node')}, {counted(len(group.shapes), 'shape')}")
    for shape in group.shapes:
        lines.append(f"  shape {shape.signature}: {counted(len(shape.hosts), 'node')}: {fold(shape.hosts)}")
        lines.extend(f"    {difference}" for difference in shape.differences)
    if group.silent:
        lines.append(f"  no facts: {counted(len(group.silent), 'node')}: {fold(group.silent)}")
    return lines


def _matrices(fleet: Fleet) -> List[str]:
    """Of each shape, whatever its groups, the paths between GPUs and HCAs."""
    hosts: Dict[str, List[str]] = {}
    found: Dict[str, List[str]] = {}
    for shape in (shape for group in fleet.groups for shape in group.shapes):
        hosts.setdefault(shape.signature, []).extend(shape.hosts)
        found.setdefault(shape.signature, paths.matrix(shape.gpus))
    lines: List[str] = []
    for signature, drawn in found.items():
        if drawn:
            first, *others = hosts[signature]
            more = f", {counted(len(others), 'more node')} alike" if others else ""
            lines += [f"  shape {signature} ({first}{more}):", *("    " + line for line in drawn)]
    return ["", "Paths between GPUs and HCAs:", *lines, "", *("  " + line for line in paths.LEGEND)] if lines else []


def text(fleet: Fleet, detail: str = "auto") -> str:
    """Table, groups and findings. ``summary`` prints equal hosts of a group once and then only what differs.

    ``full`` has the paths between GPUs and HCAs as well.
    """
    hosts = {row["host"] for row in fleet.rows}
    condensed = detail == "summary" or (detail == "auto" and len(hosts) > _FULL_UP_TO)
    lines = table(_condensed(fleet) if condensed else fleet.rows)
    lines += ["", "Groups:"] + ["  " + line for group in fleet.groups for line in _shape_lines(group)]
    lines += _matrices(fleet) if detail == "full" else []
    for kind, title in (("intent", "Differs from the inventory:"), ("warning", "Warnings:")):
        found = [finding for finding in fleet.findings if finding.kind == kind]
        if found:
            lines += ["", title] + [f"  {fold(finding.hosts)}: {finding.text}" for finding in found]
    return "\n".join(lines) + "\n"


def is_rows(result: Any) -> bool:
    """Whether the result of a query is rows of the table."""
    return isinstance(result, list) and all(isinstance(row, dict) and set(row) == set(COLUMNS) for row in result)


def of_query(result: Any) -> str:
    """The result of a query: rows as a table, a list of plain values with one per line, anything else as JSON."""
    if result is None or result == []:
        return "The query has no result.\n"
    if is_rows(result):
        return "\n".join(table(result)) + "\n"
    if isinstance(result, list) and not any(isinstance(item, (dict, list)) for item in result):
        return "".join(f"{_scalar(item)}\n" for item in result)
    return f"{_scalar(result)}\n"


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _inert(cell: str) -> str:
    is_value = cell == "-" or re.fullmatch(r"[-+]?[0-9]+(?:\.[0-9]+)?", cell)
    # The writer leaves a carriage return unquoted.
    text = cell.replace("\r", " ")
    return "'" + text if cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not is_value else text


def as_csv(fleet: Fleet) -> str:
    """All rows, never condensed, with COLUMNS as heading (RFC 4180, but with plain line feeds).

    Spreadsheets take a cell that begins like a formula for one, so such a cell gets an apostrophe in front.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: _inert(value) for column, value in row.items()} for row in fleet.rows)
    return out.getvalue()
