# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Dashboards of Grafana and their panels, in its JSON model.

https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
"""

from __future__ import annotations

import json
import string
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Sequence

# That of Grafana 10.4; newer ones migrate it when they load it.
_SCHEMA_VERSION = 39
_WIDTH = 24
_TAG = "zerocopy-rdma"
# Whoever imports a dashboard says where the data is.
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Of values of a port's state.
STATE_COLOURS: Mapping[int, str] = {1: "red", 2: "orange", 3: "yellow", 4: "green", 5: "blue"}

Plain = Dict[str, Any]


@dataclass(frozen=True)
class Query:
    """An expression, and what its series are called; of a table, the heading of its values, which may have words."""

    expression: str
    legend: str = ""
    words: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """A panel of a type of Grafana's own; ``width`` is of 24, ``description`` says what its numbers are.

    ``columns`` are the labels that a table shows, in this order. ``options`` are those of the panel's type, ``custom``
    those of its fields.
    """

    kind: str
    title: str
    queries: Sequence[Query]
    width: int
    height: int = 8
    description: str = ""
    unit: str = "short"
    columns: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    custom: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Sequence[Mapping[str, Any]] = ()

    @property
    def is_table(self) -> bool:
        """Whether it shows the labels of its series."""
        return self.kind == "table"


def stat(title: str, expression: str, bad: bool = False, description: str = "", unit: str = "short") -> Panel:
    """One number; where it is ``bad``, red from 1 on."""
    steps: List[Plain] = [{"color": "green", "value": None}, *([{"color": "red", "value": 1}] if bad else [])]
    options = {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "textMode": "value",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return Panel("stat", title, [Query(expression)], 4, 4, description, unit, options=options, thresholds=steps)


def graph(title: str, queries: Sequence[Query], width: int = 12, unit: str = "short", **more: Any) -> Panel:
    """Lines over time; ``stacked`` puts them on one another."""
    stacked = more.pop("stacked", False)
    custom = {
        "drawStyle": "line",
        "fillOpacity": 30 if stacked else 5,
        "lineWidth": 1,
        "showPoints": "never",
        "stacking": {"group": "A", "mode": "normal" if stacked else "none"},
    }
    options = {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return Panel("timeseries", title, queries, width, unit=unit, options=options, custom=custom, **more)


def timeline(title: str, query: Query) -> Panel:
    """What each port was when."""
    options = {
        "alignValue": "left",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
        "mergeValues": True,
        "rowHeight": 0.8,
        "showValue": "never",
        "tooltip": {"mode": "single", "sort": "none"},
    }
    custom = {"fillOpacity": 70, "lineWidth": 0}
    return Panel("state-timeline", title, [query], _WIDTH, options=options, custom=custom)


def bars(title: str, query: Query, width: int, unit: str, description: str = "") -> Panel:
    """A bar for each series; red, then yellow while it is not full."""
    options = {
        "displayMode": "basic",
        "minVizHeight": 10,
        "minVizWidth": 0,
        "orientation": "horizontal",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showUnfilled": True,
        "valueMode": "color",
    }
    colours = (("red", None), ("yellow", 0.9), ("green", 1))
    steps = [{"color": colour, "value": value} for colour, value in colours]
    return Panel("bargauge", title, [query], width, 8, description, unit, options=options, thresholds=steps)


def table(title: str, queries: Sequence[Query], columns: Sequence[str], width: int = _WIDTH, **more: Any) -> Panel:
    """A row for each set of these labels in the first query; values without a legend are not shown."""
    first = replace(queries[0], expression=f"max by ({', '.join(columns)}) ({queries[0].expression})")
    options = {"cellHeight": "sm", "footer": {"show": False}, "showHeader": True}
    return Panel("table", title, [first, *queries[1:]], width, columns=columns, options=options, **more)


def _target(query: Query, letter: str, is_table: bool, once: bool) -> Plain:
    found: Plain = {
        "datasource": _SOURCE,
        "editorMode": "code",
        "expr": query.expression,
        "format": "table" if is_table else "time_series",
        "instant": is_table or once,
        "range": not (is_table or once),
        "refId": letter,
    }
    return {**found, "legendFormat": query.legend} if query.legend and not is_table else found


def _values(panel: Panel) -> Dict[str, str]:
    """The values of a table by the name that Grafana gives them, with their headings."""
    letters = string.ascii_uppercase
    many = len(panel.queries) > 1
    return {f"Value #{letters[place]}" if many else "Value": each.legend for place, each in enumerate(panel.queries)}


def _columns(panel: Panel) -> List[Plain]:
    """One row for each set of labels, with the labels and values that the panel wants."""
    values = _values(panel)
    shown = [*panel.columns, *(name for name, heading in values.items() if heading)]
    hidden = ["Time", *(name for name, heading in values.items() if not heading)]
    organised = {
        "excludeByName": dict.fromkeys(hidden, True),
        "includeByName": {},
        "indexByName": {name: place for place, name in enumerate(shown)},
        "renameByName": {name: heading for name, heading in values.items() if heading},
    }
    return [
        *([{"id": "merge", "options": {}}] if len(panel.queries) > 1 else []),
        {"id": "organize", "options": organised},
    ]


def _mapped(words: Mapping[int, str]) -> List[Plain]:
    options = {
        str(value): {"color": STATE_COLOURS.get(value, "text"), "index": place, "text": text}
        for place, (value, text) in enumerate(words.items())
    }
    return [{"type": "value", "options": options}] if options else []


def _panel(panel: Panel, number: int, across: int, down: int) -> Plain:
    once = panel.kind in ("stat", "bargauge")
    steps = list(panel.thresholds) or [{"color": "green", "value": None}]
    words = {} if panel.is_table else panel.queries[0].words
    defaults: Plain = {
        "color": {"mode": "thresholds" if panel.thresholds or words else "palette-classic"},
        "custom": dict(panel.custom),
        "mappings": _mapped(words),
        "min": 0,
        "thresholds": {"mode": "absolute", "steps": steps},
        "unit": panel.unit,
    }
    if panel.kind == "bargauge":
        defaults["max"] = 1
    overrides = [
        {
            "matcher": {"id": "byName", "options": query.legend},
            "properties": [{"id": "mappings", "value": _mapped(query.words)}],
        }
        for query in panel.queries
        if panel.is_table and query.words
    ]
    made: Plain = {
        "datasource": _SOURCE,
        "description": panel.description,
        "fieldConfig": {"defaults": defaults, "overrides": overrides},
        "gridPos": {"h": panel.height, "w": panel.width, "x": across, "y": down},
        "id": number,
        "options": dict(panel.options),
        "targets": [
            _target(query, string.ascii_uppercase[place], panel.is_table, once)
            for place, query in enumerate(panel.queries)
        ],
        "title": panel.title,
        "type": panel.kind,
    }
    return {**made, "transformations": _columns(panel)} if panel.is_table else made


def _placed(panels: Sequence[Panel]) -> List[Plain]:
    """The panels in rows, as many beside each other as there is room for."""
    found: List[Plain] = []
    across = down = height = 0
    for number, panel in enumerate(panels, start=1):
        if across + panel.width > _WIDTH:
            across, down, height = 0, down + height, 0
        found.append(_panel(panel, number, across, down))
        across, height = across + panel.width, max(height, panel.height)
    return found


def variable(name: str, title: str, query: str, many: bool) -> Plain:
    """What a reader chooses: one of the values that a query gives, or with ``many`` several or all of them."""
    return {
        "allValue": ".*" if many else None,
        "current": {},
        "datasource": _SOURCE,
        "definition": query,
        "hide": 0,
        "includeAll": many,
        "label": title,
        "multi": many,
        "name": name,
        "options": [],
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "regex": "",
        "skipUrlSync": False,
        "sort": 7,
        "type": "query",
    }


def dashboard(title: str, description: str, variables: Sequence[Plain], panels: Sequence[Panel]) -> str:
    """The file. It has no uid of its own, so that an import neither needs nor replaces another dashboard."""
    source = {
        "current": {},
        "hide": 0,
        "includeAll": False,
        "label": "Data source",
        "multi": False,
        "name": "datasource",
        "options": [],
        "query": "prometheus",
        "refresh": 1,
        "regex": "",
        "skipUrlSync": False,
        "type": "datasource",
    }
    links = {
        "asDropdown": False,
        "icon": "external link",
        "includeVars": True,
        "keepTime": True,
        "tags": [_TAG],
        "targetBlank": False,
        "title": "",
        "tooltip": "",
        "type": "dashboards",
        "url": "",
    }
    made = {
        "annotations": {"list": []},
        "description": description,
        "editable": True,
        "fiscalYearStartMonth": 0,
        "graphTooltip": 1,
        "id": None,
        "links": [links],
        "panels": _placed(panels),
        "refresh": "1m",
        "schemaVersion": _SCHEMA_VERSION,
        "tags": [_TAG],
        "templating": {"list": [source, *variables]},
        "time": {"from": "now-6h", "to": "now"},
        "timepicker": {},
        "timezone": "",
        "title": title,
        "version": 1,
        "weekStart": "",
    }
    return json.dumps(made, indent=2) + "\n"
