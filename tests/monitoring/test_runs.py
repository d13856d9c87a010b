# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Alerts about the exporter, health and verify themselves, as the real promtool evaluates them; and the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import rules
from ansible_collections.zerocopy.rdma.tests.monitoring.programs import promtool
from ansible_collections.zerocopy.rdma.tests.monitoring.rule_test import evaluated

HEALTH, VERIFY = "zerocopy_rdma_health", "zerocopy_rdma_verify"
LOOK, NODE = "rdma_exporter_last_look_timestamp_seconds", "rdma_node_info"
_LAST = "0+60x2000"
# Prometheus asks once a minute, and all is well.
WELL = {
    **{f'{NODE}{{job="node",instance="{host}",host="{host}",group="g"}}': "1x2000" for host in ("a", "b")},
    **{f'{LOOK}{{job="node",instance="{host}"}}': _LAST for host in ("a", "b")},
    f"{HEALTH}_run_timestamp_seconds": _LAST,
    f"{VERIFY}_run_timestamp_seconds": _LAST,
    **{f'{HEALTH}_host_timestamp_seconds{{host="{host}"}}': _LAST for host in ("a", "b")},
}
_NODE = {"job": "node", "instance": "a", "host": "a", "group": "g", "severity": "warning", "check": "host.daemons"}
_SITE = "ansible-playbook -i inventory zerocopy.rdma.site --tags runtime --limit 'a'"
_SILENT = (
    "a: the exporter has told nothing for {}: it does not run or hangs, its file cannot be written, or Prometheus does"
    " not reach it"
)
_VERIFY = "ansible-playbook -i inventory zerocopy.rdma.verify"
_SEE = "See the report of verify, which says what was found and how to mend it."


def alert(labels: Mapping[str, str], summary: str, description: str, command: str) -> dict[str, Any]:
    """An alert as promtool expects it."""
    annotations = {"summary": summary, "description": description, "command": command}
    return {"exp_labels": dict(labels), "exp_annotations": annotations}


def silent(after: str) -> dict[str, list[Any]]:
    found = alert(_NODE, _SILENT.format(after), "Configure the exporter as planned.", _SITE)
    return {"RdmaExporterSilent": [found]}


def outdated(what: str, hours: int) -> dict[str, list[Any]]:
    found = alert(
        {"severity": "warning"},
        f"{what} has not completed for more than {hours} h",
        f"See the log of rdma-{what}.service on the controller.",
        f"ansible-playbook -i inventory zerocopy.rdma.{what}",
    )
    return {f"Rdma{what.capitalize()}Outdated": [found]}


GONE = f"{' '.join(str(60 * step) for step in range(60))} stale"
NAMED = f'{NODE}{{job="node",instance="a",host="a",group="g"}}'
CASES: dict[str, tuple[dict[str, str | None], str, dict[str, list[Any]]]] = {
    "all is well": ({}, "20h", {}),
    "a file that is not written any more": ({f'{LOOK}{{job="node",instance="a"}}': "0x2000"}, "10m", silent("10m 0s")),
    "a target that does not answer": (
        {f'{LOOK}{{job="node",instance="a"}}': GONE, NAMED: "1x59 stale"},
        "2h",
        silent("1h 1m 0s"),
    ),
    # Of two names on one day, Prometheus takes one: with both, it would refuse to evaluate the rule for any node.
    "a node that was moved to another group before it fell silent": (
        {
            f'{LOOK}{{job="node",instance="a"}}': GONE,
            NAMED: "1x29 stale",
            NAMED.replace('group="g"', 'group="h"'): "_x29 1x29 stale",
        },
        "2h",
        silent("1h 1m 0s"),
    ),
    "something hangs": (
        {'rdma_exporter_hung{job="node",instance="a",step="hca:mlx5_0"}': "1x2000"},
        "10m",
        {
            "RdmaExporterIncomplete": [
                alert(
                    {**_NODE, "step": "hca:mlx5_0"},
                    "a: the exporter leaves out hca:mlx5_0, since reading it hangs or fails",
                    "See its log (journalctl --unit=zerocopy-rdma-exporter.service) and the kernel's.",
                    "ansible-playbook -i inventory zerocopy.rdma.verify --tags host --limit 'a'",
                )
            ]
        },
    ),
    "health does not run any more": ({f"{HEALTH}_run_timestamp_seconds": "0x2000"}, "80m", outdated("health", 1)),
    "health has never run": (
        {
            f"{HEALTH}_run_timestamp_seconds": None,
            **{f'{HEALTH}_host_timestamp_seconds{{host="{host}"}}': None for host in "ab"},
        },
        "15m",
        outdated("health", 1),
    ),
    "verify does not run any more": ({f"{VERIFY}_run_timestamp_seconds": "0x2000"}, "200m", outdated("verify", 3)),
    "a host that health cannot reach": (
        {f'{HEALTH}_host_timestamp_seconds{{host="a"}}': "60x2000"},
        "91m",
        {
            "RdmaHostUnseen": [
                alert(
                    {"host": "a", "severity": "warning"},
                    "a: health has not looked at it for 1h 30m 0s",
                    "Find out why it cannot be reached; until then, its NICs keep their state and their rules.",
                    "ansible-playbook -i inventory zerocopy.rdma.health --limit 'a'",
                )
            ]
        },
    ),
    "a host that health has never reached": (
        {f'{HEALTH}_host_timestamp_seconds{{host="a"}}': "0x2000"},
        "5m",
        {
            "RdmaHostUnseen": [
                alert(
                    {"host": "a", "severity": "warning"},
                    "a: health has never looked at it",
                    "Find out why it cannot be reached; until then, its NICs keep their state and their rules.",
                    "ansible-playbook -i inventory zerocopy.rdma.health --limit 'a'",
                )
            ]
        },
    ),
    "a sick NIC, and one that is exempt": (
        {
            f'{HEALTH}_sick{{host="a",device="mlx5_{number}",check="pcie_link",exempt="{exempt}"}}': "1x2000"
            for number, exempt in enumerate(("false", "true"))
        },
        "10m",
        {
            "RdmaNicSick": [
                alert(
                    {"host": "a", "device": "mlx5_0", "check": "pcie_link", "exempt": "false", "severity": "warning"},
                    "a: mlx5_0 is sick (pcie_link)",
                    "See health.html, which says what was found and since when.",
                    "ansible-playbook -i inventory zerocopy.rdma.health",
                )
            ]
        },
    ),
    "findings of verify, of a host and of the cluster": (
        {
            f'{VERIFY}_finding{{check="host.mtu",host="a",subject="mlx5_0/1",verdict="fail"}}': "1x2000",
            f'{VERIFY}_finding{{check="cluster.driver",verdict="fail"}}': "1x2000",
        },
        "10m",
        {
            "RdmaCheckFailed": [
                alert(
                    {**labels, "verdict": "fail", "severity": "critical"},
                    text,
                    _SEE,
                    "ansible-playbook -i inventory zerocopy.rdma.verify",
                )
                for labels, text in (
                    (
                        {"check": "host.mtu", "host": "a", "subject": "mlx5_0/1"},
                        "a: host.mtu failed (mlx5_0/1)",
                    ),
                    ({"check": "cluster.driver"}, "the cluster: cluster.driver failed"),
                )
            ]
        },
    ),
    # A name that a node has made up gets into no shell.
    "a name of a host that is none": (
        {f'{HEALTH}_host_timestamp_seconds{{host="a\';reboot"}}': "60x2000"},
        "91m",
        {
            "RdmaHostUnseen": [
                alert(
                    {"host": "a';reboot", "severity": "warning"},
                    "a';reboot: health has not looked at it for 1h 30m 0s",
                    "Find out why it cannot be reached; until then, its NICs keep their state and their rules.",
                    "ansible-playbook -i inventory zerocopy.rdma.health --limit 'a__reboot'",
                )
            ]
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_alerts_about_what_finds_faults(name: str, tmp_path: Path) -> None:
    changed, at, expected = CASES[name]
    series = [{"series": key, "values": value} for key, value in {**WELL, **changed}.items() if value is not None]
    names = [each.name for group in rules.groups() if group.name != "rdma-ports" for each in group.alerts]
    assert evaluated(tmp_path, series, expected, names, at, 60) == ""


def test_promtool_accepts_the_file(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(rules.prometheus())
    said = promtool("check", "rules", "rules.yml", cwd=tmp_path)
    assert (said.returncode, said.stderr) == (0, "")


def test_the_object_for_the_operator_has_the_same_rules() -> None:
    made = yaml.safe_load(rules.prometheus_rule())
    assert (made["apiVersion"], made["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert made["spec"] == yaml.safe_load(rules.prometheus())
