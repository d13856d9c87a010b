# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The alerts as files: rules for Prometheus, the same as a PrometheusRule, and as a table for people."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import faults, links, runs
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.alert import Alert, AlertGroup

_HEAD = """\
# Alerts of zerocopy.rdma, generated from the checks of verify: sentences and remedies are the same.
# Delete the groups of what you do not run: those of health and verify fire if it has never run.
# yamllint disable rule:line-length
---
"""


def groups() -> List[AlertGroup]:
    """All alerts, by what has to run for them."""
    return [
        AlertGroup("rdma-ports", [*links.alerts(), *faults.alerts()]),
        AlertGroup("rdma-exporter", runs.exporter()),
        AlertGroup("rdma-health", runs.health()),
        AlertGroup("rdma-verify", runs.verify()),
    ]


def _rule(alert: Alert) -> Dict[str, Any]:
    labels = {"severity": alert.severity, **({"check": alert.check} if alert.check else {}), **alert.labels}
    annotations = {"summary": alert.text, "description": alert.remedy, "command": alert.command}
    lasts = {"for": alert.lasts} if alert.lasts else {}
    return {"alert": alert.name, "expr": alert.expression, **lasts, "labels": labels, "annotations": annotations}


def plain() -> Dict[str, Any]:
    """The content of a file of rules."""
    return {"groups": [{"name": group.name, "rules": [_rule(each) for each in group.alerts]} for group in groups()]}


def _written(content: Mapping[str, Any]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def scalar(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, scalar)
    return _HEAD + str(yaml.dump(dict(content), Dumper=Dumper, sort_keys=False, width=math.inf))


def prometheus() -> str:
    """The file that Prometheus loads (``rule_files``)."""
    return _written(plain())


def prometheus_rule() -> str:
    """The object for the Prometheus operator (monitoring.coreos.com/v1)."""
    made = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "zerocopy-rdma"},
        "spec": plain(),
    }
    return _written(made)


def _fires(alerts: Sequence[Alert]) -> str:
    said: Dict[str, List[str]] = {}
    for alert in alerts:
        said.setdefault(alert.fires, []).extend([alert.among] if alert.among else [])
    return "; ".join(f"{fires}: {', '.join(among)}" if among else fires for fires, among in said.items())


def table() -> str:
    """All alerts in Markdown, those with one name and severity in one row."""
    rows: Dict[Tuple[str, str, str], List[Alert]] = {}
    for group in groups():
        for alert in group.alerts:
            rows.setdefault((group.name, alert.name, alert.severity), []).append(alert)
    lines = ["| group | alert | severity | fires if |", "|---|---|---|---|"]
    lines += [f"| `{group}` | `{name}` | {how} | {_fires(own)} |" for (group, name, how), own in rows.items()]
    return "\n".join(lines) + "\n"
