# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What alerts say is what health and verify say of the same page of the exporter; the real promtool evaluates them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import kernel_log
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import warnings as codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.remedies import worded
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.facts import INTENTS
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import alert, rules
from ansible_collections.zerocopy.rdma.tests.monitoring import rule_test
from ansible_collections.zerocopy.rdma.tests.unit._prove.monitoring.pages import (
    GROUP,
    HOST,
    PCIE,
    Faults,
    Node,
    Reading,
    nic,
    said,
    samples,
)

TARGET = {"job": "node", "instance": f"{HOST}:9100"}
_STEP = 15
_GROUP = "rdma-ports"
NAMES = {each.name: each.check for group in rules.groups() if group.name == _GROUP for each in group.alerts}


def series(pages: Sequence[str]) -> list[dict[str, str]]:
    """The series of these pages, each read at one step and the last one for ever after, as promtool wants them."""
    read = [samples(page) for page in pages]
    target = ",".join(f'{key}="{value}"' for key, value in TARGET.items())
    found = []
    for name in dict.fromkeys(name for page in read for name in page):
        metric, _brace, labels = name.partition("{")
        values = [page.get(name, "_") for page in read]
        last = f"{values[-1]}+0x400" if values[-1] != "_" else "_x400"
        own = ",".join(filter(None, [labels.rstrip("}"), target]))
        found.append({"series": f"{metric}{{{own}}}", "values": " ".join([*values[:-1], last])})
    return found


def evaluated(scratch: Path, pages: Sequence[str], expected: Mapping[str, list[Any]], at: str) -> str:
    """What promtool has against these alerts about ports, by name, being the only ones; empty if nothing."""
    return rule_test.evaluated(scratch, series(pages), expected, list(NAMES), at, _STEP)


def _labels(check: Check) -> dict[str, str]:
    """What tells the alerts of one name apart."""
    code = str(check.evidence["code"])
    device, _slash, port = check.subject.partition("/")
    found = {"device": device, "code": code, **({"port": port, "rail": device[-1]} if port else {})}
    if check.id == "host.kernel_log":
        # An empty label is none.
        place = {"pci_address": f"0000:{int(device[-1]) + 16:02x}:00.0"} if device.startswith("mlx5_") else {}
        found.update(kind=code, **place)
    return found


def _alert(check: Check) -> dict[str, Any]:
    labels = {**TARGET, "host": HOST, "group": GROUP, "severity": alert.SEVERITIES[check.verdict], "check": check.id}
    command = f"ansible-playbook -i inventory zerocopy.rdma.verify --tags host --limit '{HOST}'"
    annotations = {
        "summary": f"{HOST}: {check.text}",
        "description": worded(check.mend, check.remedy),
        "command": command,
    }
    return {"exp_labels": {**labels, **_labels(check)}, "exp_annotations": annotations}


def _same(checks: Sequence[Check]) -> dict[str, list[Any]]:
    """The alerts that say what these checks do."""
    of_check = {check: name for name, check in NAMES.items()}
    found: dict[str, list[Any]] = {}
    for check in checks:
        if check.verdict in alert.SEVERITIES:
            found.setdefault(of_check[check.id], []).append(_alert(check))
    return found


DOWN = {"state_id": 1, "physical_state_id": 3}
SLOW = {"rate_bytes_per_second": 25_000_000_000}
NARROW, OLD = {**PCIE, "current_width": 4}, {**PCIE, "current_speed": 8e9, "max_speed": 8e9}


def _reported(count: int) -> Faults:
    devices = {rule.code: "0000:10:00.0" for rule in kernel_log.RULES} | {codes.PEERMEM_ERROR: kernel_log.PEERMEM}
    return {(device, kind): (count, True) for kind, device in devices.items()}


SCENARIOS: dict[str, tuple[int, list[Reading], Faults]] = {
    "all is well": (2, [nic(0), nic(1, "Ethernet")], {}),
    "one of two is down": (2, [nic(0, port=DOWN), nic(1)], {}),
    "one of three is down": (3, [nic(0), nic(1, port={**DOWN, "physical_state_id": 2}), nic(2)], {}),
    "the only one is down": (1, [nic(0, "Ethernet", port=DOWN)], {}),
    "all are down": (2, [nic(0, port=DOWN), nic(1, port={"state_id": 5, "physical_state_id": 6})], {}),
    "nobody knows how it is down": (1, [nic(0, port={"state_id": 1, "physical_state_id": None})], {}),
    "cabled, and nobody has brought it up": (2, [nic(0, port={"state_id": 2}), nic(1)], {}),
    "up, and the subnet manager is gone": (1, [nic(0, port={"sm_lid": 0})], {}),
    "slower than planned": (2, [nic(0, port=SLOW), nic(1, "Ethernet", port=SLOW)], {}),
    "a link that has lost lanes": (1, [nic(0, pcie=NARROW)], {}),
    "a link that has lost lanes and still carries the port": (
        1,
        [nic(0, pcie={**PCIE, "max_speed": 64e9})],
        {},
    ),
    "a slot that is too slow": (1, [nic(0, pcie=OLD)], {}),
    "a slot of PCIe 2.0": (1, [nic(0, pcie={**PCIE, "current_speed": 5e9, "max_speed": 5e9})], {}),
    "two faults at once": (2, [nic(0, port=SLOW, pcie=NARROW), nic(1, port=DOWN)], {}),
    "each kind of the kernel's log once": (1, [nic(0)], _reported(1)),
    "each kind of the kernel's log several times": (1, [nic(0)], _reported(7)),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_alerts_say_what_verify_and_health_say(name: str, facts: dict[str, Any], tmp_path: Path) -> None:
    rails, hcas, faults = SCENARIOS[name]
    page = Node(rails).page(*hcas, faults=faults)
    checks = said(page, facts)
    found = _same(checks)
    assert bool(found) == (name != "all is well")
    assert evaluated(tmp_path, [page], found, "5m") == ""


def test_what_is_over_or_of_no_rail_fires_nothing(facts: dict[str, Any], tmp_path: Path) -> None:
    node = Node(1)
    reported = node.page(nic(0), nic(1, port=DOWN), faults={("0000:10:00.0", "hca_unhealthy"): (2, True)})
    over = node.page(nic(0), nic(1, port=DOWN), faults={("0000:10:00.0", "hca_unhealthy"): (2, False)})
    # Verify warns of both, as of what may be meant to be so.
    assert {check.verdict for check in said(over, facts) if check.id in NAMES.values()} == {"warn"}
    assert evaluated(tmp_path, [reported, over], {}, "5m") == ""


def _grown() -> Iterator[tuple[str, int, int]]:
    """Counter, by how much it may grow, and the seconds in which."""
    for group in rules.groups():
        for each in group.alerts:
            if each.check == f"host.{counters.WHAT}":
                limit = int(each.among.rpartition(" ")[2]) if each.severity == "warning" else 0
                yield each.labels["counter"], limit, 300 if limit else 3600


COUNTERS = list(_grown())


def test_each_counter_with_a_threshold_has_an_alert() -> None:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import counters as thresholds

    assert sorted(name for name, _limit, _seconds in COUNTERS) == sorted(
        [*thresholds.PER_SECOND, *thresholds.NEVER, "link_downed"]
    )


@pytest.mark.parametrize(("counter", "limit", "seconds"), COUNTERS)
@pytest.mark.parametrize("above", [False, True])
def test_counters_fire_above_their_threshold(
    counter: str, limit: int, seconds: int, above: bool, tmp_path: Path
) -> None:
    node, kind = Node(1), "hw" if counter == "local_ack_timeout_err" else "counters"
    base, steps = nic(0)["ports"]["1"][kind], seconds // _STEP
    # Evenly, so that what Prometheus adds for the ends of the time is known.
    growth = limit // steps + above
    each = [growth * step for step in range(2 * steps + 1)] if limit else [0, 0, int(above)]
    pages = [node.page(nic(0, port={kind: {**base, counter: value}})) for value in each]
    count = growth * steps if limit else 1
    text = counters.sentence("mlx5_0/1", counter, count, limit, seconds, "as the exporter has counted")
    check = Check(
        "host", f"host.{counters.WHAT}", HOST, GROUP, "mlx5_0/1", counters.verdict(limit), text, {"code": "link_errors"}
    )
    check.remedy = counters.REMEDY
    expected = _alert(check)
    expected["exp_labels"]["counter"] = counter
    at = f"{seconds + (seconds if limit else 0)}s"
    assert evaluated(tmp_path, pages, {"RdmaLinkErrors": [expected] if above else []}, at) == ""


@pytest.mark.parametrize("kernel", [{}, {"link_downed": 0}])
def test_roce_ports_that_flap_and_software_devices_that_may(kernel: dict[str, int], tmp_path: Path) -> None:
    def page(node: Node, state: int, **own: Any) -> str:
        return node.page(nic(0, "Ethernet", port={"state_id": state, "counters": kernel}, **own))

    for own, fires in (({}, True), ({"driver": "rxe"}, False)):
        node = Node(1)
        pages = [page(node, state, **own) for state in (4, 4, 1, 4, 4)]
        text = counters.sentence("mlx5_0/1", "link_downed", 1, 0, 3600, "as the exporter has counted")
        check = Check("host", "host.link_errors", HOST, GROUP, "mlx5_0/1", "fail", text, {"code": "link_errors"})
        check.remedy = counters.REMEDY
        expected = _alert(check)
        expected["exp_labels"]["counter"] = "link_downed"
        assert evaluated(tmp_path, pages, {"RdmaLinkErrors": [expected]} if fires else {}, "1h") == ""


def test_downs_of_which_the_kernel_has_counted_more(tmp_path: Path) -> None:
    """An exporter that starts in between counts from 0 again, and one of the two downs was before."""
    first, second = Node(1), Node(1)
    pages = [
        node.page(nic(0, port={"counters": {"link_downed": downed}}))
        for node, downed in ((first, 0), (first, 0), (second, 1), (second, 2))
    ]
    text = counters.sentence("mlx5_0/1", "link_downed", 2, 0, 3600, "as the exporter has counted")
    check = Check("host", "host.link_errors", HOST, GROUP, "mlx5_0/1", "fail", text, {"code": "link_errors"})
    check.remedy = counters.REMEDY
    expected = _alert(check)
    expected["exp_labels"]["counter"] = "link_downed"
    assert evaluated(tmp_path, pages, {"RdmaLinkErrors": [expected]}, "1h") == ""


def test_an_hca_that_is_gone(tmp_path: Path) -> None:
    page = Node(2).page(nic(0))
    label = {**TARGET, "host": HOST, "group": GROUP, "severity": "critical", "check": "host.ports"}
    found = {
        "exp_labels": {**label, "code": "ports_missing", "device": "mlx5_1"},
        "exp_annotations": {
            "summary": f"{HOST}: mlx5_1 is neither on the node nor in a pod",
            "description": INTENTS["ports_missing"][2],
            "command": f"ansible-playbook -i inventory zerocopy.rdma.verify --tags host --limit '{HOST}'",
        },
    }
    assert evaluated(tmp_path, [page], {"RdmaPorts": [found]}, "5m") == ""
