# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The files for Prometheus and Grafana: that they are as generated, and ask for what the exporter and others write."""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any, Callable, Iterator

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.nics import IDS
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import fleet, node, rules
from ansible_collections.zerocopy.rdma.tests import monitoring_files
from ansible_collections.zerocopy.rdma.tests.report.example import example
from ansible_collections.zerocopy.rdma.tests.unit._prove.monitoring.pages import Node, full, names, of_health
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import rendered

_METRIC = re.compile(r"\b(?:zerocopy_)?rdma_[a-z0-9_]+")
_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)\}")
# What Grafana has by itself.
_TYPES = {"stat", "timeseries", "state-timeline", "bargauge", "table"}
_GLOBAL = {"__rate_interval"}
DASHBOARDS = {"fleet": json.loads(fleet.fleet()), "node": json.loads(node.node())}


def test_the_files_are_as_generated() -> None:
    for path, content in monitoring_files.files().items():
        assert path.read_text(encoding="utf-8") == content, f"python3 tests/monitoring_files.py writes {path}"
    # The table is there, or nothing would have been compared.
    assert rules.table() in monitoring_files._PAGE.read_text(encoding="utf-8")


def expressions() -> Iterator[str]:
    for group in rules.groups():
        for alert in group.alerts:
            yield alert.expression
            yield from re.findall("printf `([^`]*)`", alert.text)
    for dashboard in DASHBOARDS.values():
        for panel in dashboard["panels"]:
            yield from (target["expr"] for target in panel["targets"])
        for variable in dashboard["templating"]["list"]:
            yield from [variable["definition"]] if "definition" in variable else []


def test_nothing_is_asked_for_that_nobody_writes(facts_of: Callable[..., dict[str, Any]]) -> None:
    page = full(Node(2))
    written = (
        names(page) | names(of_health(page, facts_of("lab-01"))) | names(rendered(example(facts_of), "prometheus"))
    )
    # What they have only when something is wrong.
    written.add("zerocopy_rdma_health_problems")
    asked = {name for expression in expressions() for name in _METRIC.findall(expression)}
    assert asked <= written
    assert len(asked) > 30


def test_each_check_that_makes_a_nic_sick_has_an_alert_unless_no_metric_can_tell() -> None:
    # What the link layer should be is not among the exporter's values, and it takes a lost device for one in a pod.
    checks = {alert.check for group in rules.groups() for alert in group.alerts}
    assert set(IDS) - checks == {"host.link_layer", "host.device_lost"}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_can_be_imported_anywhere(name: str) -> None:
    dashboard = DASHBOARDS[name]
    assert "uid" not in dashboard
    assert dashboard["id"] is None
    sources = {json.dumps(found) for found in values_of(dashboard, "datasource")}
    assert sources == {json.dumps({"type": "prometheus", "uid": "${datasource}"})}
    known = {variable["name"] for variable in dashboard["templating"]["list"]} | _GLOBAL
    used = {first or second for first, second in _VARIABLE.findall(json.dumps(dashboard))}
    assert used <= known
    assert known - _GLOBAL <= used


def values_of(value: Any, key: str) -> Iterator[Any]:
    """All that has this key, however deep."""
    if isinstance(value, dict):
        for name, own in value.items():
            yield from [own] if name == key else values_of(own, key)
    elif isinstance(value, list):
        for own in value:
            yield from values_of(own, key)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_are_beside_each_other_and_their_parts_have_names(name: str) -> None:
    panels = DASHBOARDS[name]["panels"]
    assert {panel["type"] for panel in panels} <= _TYPES
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    for panel in panels:
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters) > 0
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
    cells = [
        {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        for at in (panel["gridPos"] for panel in panels)
    ]
    assert not any(one & other for one, other in combinations(cells, 2))
