# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Looks at recorded (synthesised) nodes: what makes a NIC sick, since when, and what is known of one in a pod."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import figures as exporter
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import health_policy, variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.exporter import DAEMON
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import figures, look, memory
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.document import document, plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.look import FleetLook
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import Memory, NicMemory
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.metrics import metrics
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.page import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.table import failure, table
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import LAB, Facts, changed, node

NOW = 1_800_000_000
SCHEMA = json.loads((Path(__file__).parents[4] / "docs" / "health.schema.json").read_text("utf-8"))
DEFAULTS = variables.defaults(variables.with_prefix(health_policy.PREFIX, variables.options_of()))
NIC = "0000:66:00.0"
DOWN = {"state": "DOWN", "physical_state": "Disabled"}


def looked(facts: dict[str, Any] | None, before: Memory | None = None, now: int = NOW, **more: Any) -> FleetLook:
    """A look at one node of which the facts are these; ``told`` are the figures of its exporter."""
    told = more.pop("told", None)
    evidence = node(facts, **{**DEFAULTS, **LAB, **more})
    return look.look([evidence], before or {}, now, {evidence.host: figures.read(told)})


def nic(found: FleetLook) -> NicMemory:
    (known,) = found.memory["lab-01"].nics.values()
    return known


@pytest.fixture(name="facts")
def make_facts(facts_of: Facts) -> dict[str, Any]:
    return facts_of("lab-01")


@pytest.fixture(name="sick")
def make_sick(facts: dict[str, Any]) -> dict[str, Any]:
    """The only NIC is slower than the group expects."""
    return changed(facts, rate_gbps=10)


RATE: dict[str, Any] = {"rdma_discover_expect_rate_gbps": 25}


def test_a_nic_is_sick_by_the_verdict_of_verify(facts: dict[str, Any], sick: dict[str, Any]) -> None:
    assert nic(looked(facts, **RATE)).bad == 0
    found = nic(looked(sick, **RATE))
    assert (found.bad, found.times, found.since) == (1, 1, NOW)
    assert [finding.check for finding in found.findings] == ["port_rate"]


@pytest.mark.parametrize(
    ("mode", "module", "is_sick"),
    [("shared", "loaded", True), ("exclusive", "loaded", False), ("shared", "available", False)],
)
def test_a_nic_that_has_lost_its_rdma_device(facts: dict[str, Any], mode: str, module: str, is_sick: bool) -> None:
    known = looked(facts).memory
    lost = copy.deepcopy(facts)
    lost["system"].update(netns_mode=mode, modules={"mlx5_ib": module})
    fields = {"driver": "mlx5_core", "module": "mlx5_ib"}
    lost.update(hcas=[], usable=[], warnings=[{"code": "no_rdma_device", "subject": NIC, "text": "", "fields": fields}])
    # Nobody knows whether a NIC that was never seen with a device should have one.
    assert looked(lost).nics == []
    found = looked(lost, known, NOW + 60)
    told = [(state.name, state.key, state.check) for state in found.nics if state.state == memory.SICK]
    assert told == [("mlx5_0", NIC, "device_lost")] * is_sick
    assert nic(found).name == "mlx5_0"


def test_what_a_run_of_site_mends_makes_no_nic_sick(facts: dict[str, Any]) -> None:
    found = looked(changed(facts, netdev_mtu=1500), **LAB)
    assert "host.mtu" in {check.id for check in found.checks if check.verdict == "fail"}
    assert nic(found).bad == 0


def test_since_when_and_how_often(facts: dict[str, Any], sick: dict[str, Any]) -> None:
    found = looked(sick, **RATE)
    found = looked(sick, found.memory, NOW + 60, **RATE)
    assert (nic(found).bad, nic(found).times, nic(found).since) == (2, 1, NOW)
    found = looked(facts, found.memory, NOW + 120, **RATE)
    assert (nic(found).good, nic(found).well_since, nic(found).since) == (1, NOW + 120, NOW)
    found = looked(sick, found.memory, NOW + 180, **RATE)
    assert (nic(found).bad, nic(found).times, nic(found).since, nic(found).well_since) == (3, 2, NOW + 180, None)


def test_the_history_of_a_nic(facts: dict[str, Any], sick: dict[str, Any]) -> None:
    found = looked(sick, **RATE)
    known = memory.tainted(found.memory, {("lab-01", found.nics[0].key): "None"}, NOW + 1)
    # Neither the same findings again nor the same effect is news.
    known = memory.tainted(
        looked(sick, known, NOW + 60, **RATE).memory, {("lab-01", found.nics[0].key): "None"}, NOW + 61
    )
    fault = {"code": "hca_unhealthy", "subject": "mlx5_0", "text": "the kernel said so", "fields": {}}
    known = looked({**sick, "warnings": [fault]}, known, NOW + 120, **RATE).memory
    known = memory.tainted(looked(facts, known, NOW + 180, **RATE).memory, {}, NOW + 181)
    found = looked(facts, known, NOW + 240, **RATE)
    assert [(event.at - NOW, event.what, event.effect) for event in nic(found).history] == [
        (0, "sick", ""),
        (1, "tainted", "None"),
        (120, "sick", ""),
        (180, "well", ""),
        (181, "untainted", ""),
    ]
    checks = [[finding.check for finding in event.findings] for event in nic(found).history]
    assert checks == [["port_rate"], [], ["port_rate", "kernel_log"], [], []]
    whole = document(found, {}, "2027-01-15T08:00:00Z", "1.0.0")
    assert "lab-01 mlx5_0: 2027-01-15T08:00:01Z tainted (None), " in table(whole)
    assert "2027-01-15T08:03:00Z well, 2027-01-15T08:03:01Z untainted" in table(whole)
    (past,) = whole.histories
    assert (past.nic, past.times, len(past.events)) == (NIC, 1, 5)
    # The newest first.
    shown = html(whole).partition("<h2>History</h2>")[2]
    assert shown.index("2027-01-15T08:03:01Z") < shown.index("2027-01-15T08:03:00Z") < shown.index("08:02:00Z")


def test_a_history_is_bounded(facts: dict[str, Any], sick: dict[str, Any]) -> None:
    long = {**sick, "warnings": [{"code": "hca_unhealthy", "subject": "mlx5_0", "text": "x" * 999, "fields": {}}]}
    found = looked(facts, **RATE)
    for number in range(30):
        found = looked(long if number % 2 else facts, found.memory, NOW + number, **RATE)
    history = nic(found).history
    assert (len(history), history[-1].at, nic(found).times) == (20, NOW + 29, 15)
    assert max(len(finding.text) for event in history for finding in event.findings) == 300


def test_nothing_that_a_node_sends_becomes_markup(facts: dict[str, Any]) -> None:
    evil = "<script>alert(1)</script>\x1b[31m\u202e"
    hostile = {**facts, "warnings": [{"code": "hca_unhealthy", "subject": "mlx5_0", "text": evil, "fields": {}}]}
    found = looked(hostile)
    found.notes.append(evil)
    (state,) = found.nics
    whole = document(
        replace(found, nics=[replace(state, exempt=evil)]), {"problems": [evil]}, "2027-01-15T08:00:00Z", "1"
    )
    shown = html(whole)
    assert "&lt;script&gt;alert" in shown
    assert "<script>alert" not in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    ("looks", "step", "state"),
    [(3, 300, "well"), (2, 600, "settling"), (3, 299, "settling"), (9, 10, "settling"), (3, -300, "settling")],
)
def test_well_again_after_so_many_looks_and_seconds(
    facts: dict[str, Any], sick: dict[str, Any], looks: int, step: int, state: str
) -> None:
    found, now = looked(sick, **RATE), NOW
    for _number in range(looks):
        now += step
        found = looked(facts, found.memory, now, **RATE)
    assert nic(found).state(now, health_policy.hysteresis(DEFAULTS)) == state
    assert [each.state for each in found.nics] == ([] if state == "well" else [state])


@pytest.mark.parametrize(
    ("pattern", "bad"),
    [
        # One blip, two with enough good looks between them, and a link that goes down every second or third look.
        ("b", 1),
        ("bggg", 0),
        ("bgggb", 1),
        ("bb", 2),
        ("bgb", 2),
        ("bggb", 2),
        ("bgbg", 2),
        ("bgbggg", 0),
    ],
)
def test_bad_looks_count_until_the_nic_is_well(
    facts: dict[str, Any], sick: dict[str, Any], pattern: str, bad: int
) -> None:
    found, now = looked(facts, **RATE), NOW
    for letter in pattern:
        now += 300
        found = looked(sick if letter == "b" else facts, found.memory, now, **RATE)
    assert nic(found).bad == bad
    assert nic(found).is_sick is pattern.endswith("b")


def test_a_host_without_facts_keeps_what_is_known_of_it(sick: dict[str, Any]) -> None:
    first = looked(sick, **RATE)
    found = looked(None, first.memory, NOW + 60)
    assert found.memory == first.memory
    assert [each.state for each in found.nics] == ["unseen"]
    assert found.nodes["lab-01"].well == frozenset()


def test_a_host_that_was_never_reached_is_told(facts: dict[str, Any]) -> None:
    whole = document(looked(None), {"rules": []}, "2027-01-15T08:00:00Z", "1.0.0")
    assert 'zerocopy_rdma_health_host_timestamp_seconds{host="lab-01"} 0' in metrics(whole).splitlines()
    assert table(whole).startswith("0 of 0 NICs are sick, 0 kept from new pods, lab-01 was never looked at (collection")
    known = document(looked(facts), {"rules": []}, "2027-01-15T08:00:00Z", "1.0.0")
    assert f'zerocopy_rdma_health_host_timestamp_seconds{{host="lab-01"}} {NOW}' in metrics(known).splitlines()
    assert "never" not in table(known)


def test_counters_are_judged_between_looks(facts: dict[str, Any]) -> None:
    first = looked(changed(facts, error_counters={"link_downed": 1}))
    assert nic(first).bad == 0
    found = looked(changed(facts, error_counters={"link_downed": 2}), first.memory, NOW + 300)
    (finding,) = nic(found).findings
    assert finding.text == "mlx5_0/1 counted 1 link_downed in 300 s, since the last look"
    # Of readings that are days apart, the threshold since boot says more.
    late = looked(changed(facts, error_counters={"link_downed": 2}), first.memory, NOW + 200_000)
    assert nic(late).bad == 0


def test_an_exempt_nic_is_excused_until_its_day(sick: dict[str, Any]) -> None:
    exempt = [{"nic": "mlx5_0", "reason": "on order", "until": "2027-01-15"}]
    found = looked(sick, rdma_health_exempt=exempt, **RATE)
    (failed,) = [check for check in found.checks if check.id == "host.port_rate"]
    assert found.excused(failed)
    assert found.nics[0].exempt == "on order, until 2027-01-15"
    late = looked(sick, now=NOW + 86_400, rdma_health_exempt=exempt, **RATE)
    assert not late.excused(failed)
    assert late.notes == ["lab-01: mlx5_0 is no longer exempt, which ended with 2027-01-15 (on order)"]


def in_pod(facts: dict[str, Any], **port: Any) -> dict[str, Any]:
    """The NIC is in a pod; its RDMA device is still on the host (netns mode shared)."""
    found = changed(facts, netdev_present=False, **port)
    found["usable"] = []
    reasons = [{"code": "in_pod", "text": "in a pod", "fields": {}}]
    if port:
        reasons.append({"code": "port_down", "text": "down", "fields": {}})
    found["excluded"] = [{"hca": "mlx5_0", "port": 1, "reasons": reasons}]
    return found


def told(state: int = 4, physical: int = 5, rate: float = 3.125e9, age: float = 5.0, **more: Any) -> dict[str, Any]:
    """What the exporter of the node tells of the NIC in a pod."""
    port = {
        "state_id": state,
        "physical_state_id": physical,
        "rate_bytes_per_second": int(rate),
        "link_layer": "Ethernet",
        "counters": {},
        **more,
    }
    device = {"pci_address": NIC, "driver": "mlx5_core", "board_id": "MT_0000000838", "place": "pod"}
    return {"age": age, "devices": {"mlx5_0": device}, "ports": {"mlx5_0/1": port}}


def test_a_nic_in_a_pod_is_judged_by_the_same_rules(facts: dict[str, Any]) -> None:
    assert nic(looked(in_pod(facts), **RATE)).bad == 0
    found = looked(in_pod(facts, **DOWN), **RATE)
    assert [finding.check for finding in nic(found).findings] == ["port_state"]


def gone(facts: dict[str, Any]) -> dict[str, Any]:
    """The RDMA device has left the host as well (netns mode exclusive)."""
    found = copy.deepcopy(in_pod(facts))
    found["hcas"], found["excluded"], found["warnings"], found["affinity"] = [], [], [], []
    return found


def test_a_nic_that_has_left_the_host_is_judged_by_its_exporter(facts: dict[str, Any]) -> None:
    first = looked(facts, **RATE)
    without = looked(gone(facts), first.memory, NOW + 60, **RATE)
    assert nic(without) == nic(first)
    well = looked(gone(facts), first.memory, NOW + 60, told=told(), **RATE)
    assert (nic(well).bad, nic(well).good) == (0, 2)
    down = looked(gone(facts), first.memory, NOW + 60, told=told(1, 3), **RATE)
    assert [finding.check for finding in nic(down).findings] == ["port_state"]
    old = looked(gone(facts), first.memory, NOW + 60, told=told(1, 3, age=301.0), **RATE)
    assert nic(old) == nic(first)


VF = "0000:66:00.2"


def vf_in_pod(state: int = 4, **more: Any) -> dict[str, Any]:
    """What the exporter tells of a VF of the NIC (netns mode exclusive)."""
    port = told(state)["ports"]["mlx5_0/1"]
    device = {"pci_address": VF, "driver": "mlx5_core", "board_id": "", "place": "pod", **more}
    return {"age": 5.0, "devices": {"mlx5_1": device}, "ports": {"mlx5_1/1": port}}


def unplugged(facts: dict[str, Any]) -> dict[str, Any]:
    """The cable of the NIC, which is on the host."""
    found = changed(facts, **DOWN)
    down = {"code": "port_down", "text": "mlx5_0/1 is DOWN", "fields": {}}
    found["usable"] = []
    found["excluded"] = [{"hca": "mlx5_0", "port": 1, "reasons": [down]}]
    found["warnings"] = [{**down, "subject": "mlx5_0/1"}]
    return found


@pytest.mark.parametrize("state", [4, 1])
def test_a_vf_in_a_pod_is_a_part_of_its_nic(facts: dict[str, Any], state: int) -> None:
    sent = vf_in_pod(state, pf_address=NIC)
    well = looked(facts, told=sent)
    assert [(each.name, each.functions, each.bad) for each in well.memory["lab-01"].nics.values()] == [
        ("mlx5_0", [NIC, VF], 0)
    ]
    found = looked(unplugged(facts), well.memory, NOW + 60, told=sent)
    assert [(each.name, each.state, each.check) for each in found.nics] == [("mlx5_0", "sick", "port_state")]
    assert found.nodes["lab-01"].nics == 1


def test_a_vf_with_a_fault_of_its_own_is_still_judged(facts: dict[str, Any]) -> None:
    sent = vf_in_pod(pf_address=NIC, faults={"hca_unhealthy": 1}, active_faults={"hca_unhealthy": 1})
    found = looked(facts, told=sent)
    assert [(each.key, each.check) for each in found.nics if each.state == "sick"] == [(VF, "kernel_log")]


def test_a_vf_that_was_a_nic_is_a_part_of_its_pf_once_it_is_well(facts: dict[str, Any]) -> None:
    fault: dict[str, Any] = {"faults": {"hca_unhealthy": 1}, "active_faults": {"hca_unhealthy": 1}}
    found = looked(facts, told=vf_in_pod(pf_address=NIC, **fault))
    known = memory.tainted(found.memory, {("lab-01", VF): "NoSchedule"}, NOW + 1)
    states = []
    for number in range(1, 6):
        now = NOW + 300 * number
        found = looked(facts, known, now, told=vf_in_pod(pf_address=NIC))
        states.append({each.key: each.state for each in found.nics}.get(VF, "well"))
        # The rule goes, as a run without a cluster cannot do it, only in the fourth one.
        known = memory.tainted(found.memory, {("lab-01", VF): "NoSchedule"} if number < 4 else {}, now)
        assert (VF in found.nodes["lab-01"].well) == (number in (3, 4))
    assert states == ["settling", "settling", "well", "well", "well"]
    assert sorted(found.memory["lab-01"].nics) == [NIC]


def test_a_vf_that_an_older_exporter_made_a_nic_is_forgotten(facts: dict[str, Any]) -> None:
    found = looked(facts, told=vf_in_pod())
    for number in range(1, 5):
        found = looked(facts, found.memory, NOW + 300 * number, told=vf_in_pod(pf_address=NIC))
    assert sorted(found.memory["lab-01"].nics) == [NIC]


@pytest.mark.parametrize("address", [{}, {"pf_address": ""}, {"pf_address": "../x"}, {"pf_address": 7}])
def test_what_an_older_exporter_tells_of_a_vf_is_read_as_before(facts: dict[str, Any], address: dict[str, Any]) -> None:
    found = looked(facts, told=vf_in_pod(**address))
    assert sorted(found.memory["lab-01"].nics) == [NIC, VF]


def test_a_software_device_is_the_same_nic_while_its_netdev_is_in_a_pod(facts: dict[str, Any]) -> None:
    away = in_pod(facts, **DOWN)
    away["hcas"][0]["pci"] = None
    found = looked(away, told=told(pci_address=NIC), **RATE)
    assert [*found.memory["lab-01"].nics] == [NIC]
    # What a node sends may be anything.
    assert [*looked(away, told=told(pci_address="../x"), **RATE).memory["lab-01"].nics] == ["mlx5_0"]


@pytest.mark.parametrize("kernel", [{}, {"link_downed": 0}])
def test_flaps_count_where_the_kernel_counts_none(facts: dict[str, Any], kernel: dict[str, int]) -> None:
    bare = changed(facts, error_counters=kernel)
    first = looked(bare, told={**told(flaps=3), "devices": {}})
    found = looked(bare, first.memory, NOW + 60, told={**told(flaps=4), "devices": {}})
    assert [finding.check for finding in nic(found).findings] == ["link_errors"]
    # The exporter was restarted.
    again = looked(bare, first.memory, NOW + 60, told={**told(flaps=0), "devices": {}})
    assert nic(again).bad == 0


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize(
    ("kernel", "flaps", "count"),
    [((0, 0), (0, 2), 2), ((0, 3), (0, 1), 3), ((0, 1), (5, 0), 1), ((4, 4), (7, 7), 0), ((9, 0), (3, 4), 1)],
)
def test_of_two_counters_of_links_that_went_down_the_one_that_grew_more_counts(
    facts: dict[str, Any], away: bool, kernel: tuple[int, int], flaps: tuple[int, int], count: int
) -> None:
    known: Memory = {}
    for number in range(2):
        own = {"link_downed": kernel[number]}
        here = gone(facts) if away else changed(facts, error_counters=own)
        figures_of = told(flaps=flaps[number], counters=own)
        sent = figures_of if away else {**figures_of, "devices": {}}
        found = looked(here, known, NOW + 60 * number, told=sent)
        known = found.memory
    expected = f"mlx5_0/1 counted {count} link_downed in 60 s, since the last look"
    assert [finding.text for finding in nic(found).findings] == ([expected] if count else [])


def faults(active: bool = True, address: Any = NIC, **counts: Any) -> dict[str, Any]:
    """What the exporter has counted in the kernel's log."""
    sent = told()
    sent["devices"]["mlx5_0"].update(
        pci_address=address, faults=counts, active_faults=dict.fromkeys(counts, int(active))
    )
    return sent


@pytest.mark.parametrize("away", [False, True])
def test_faults_that_only_the_exporter_still_knows_are_judged_by_the_same_rule(
    facts: dict[str, Any], away: bool
) -> None:
    first = looked(facts, **RATE)
    now = gone(facts) if away else facts
    found = looked(now, first.memory, NOW + 60, told=faults(hca_unhealthy=2), **RATE)
    (finding,) = nic(found).findings
    assert finding.check == "kernel_log"
    assert finding.text == "mlx5_0: the kernel has reported hca_unhealthy 2 times, as the exporter has counted"
    (check,) = [check for check in found.checks if check.id == "host.kernel_log"]
    assert check.remedy.startswith("Power-cycle the node")
    over = looked(now, found.memory, NOW + 120, told=faults(active=False, hca_unhealthy=2), **RATE)
    assert (nic(over).is_sick, nic(over).good) == (False, 1)
    assert [(state.state, state.check) for state in over.nics] == [("settling", "")]
    assert [check.verdict for check in over.checks if check.id == "host.kernel_log"] == ["warn"]
    # What only warns when facts have it, only warns here.
    hot = looked(now, first.memory, NOW + 60, told=faults(hca_temperature=1), **RATE)
    assert nic(hot).bad == 0
    assert [check.verdict for check in hot.checks if check.id == "host.kernel_log"] == ["warn"]


@pytest.mark.parametrize("subject", ["mlx5_0", NIC])
def test_a_fault_that_facts_have_is_told_once_with_its_message(facts: dict[str, Any], subject: str) -> None:
    fields = {"message": "health compromised", "count": 1, "first": "then", "last": "then", "recovered": "later"}
    known = {"code": "hca_unhealthy", "subject": subject, "text": "health compromised", "fields": fields}
    found = looked({**facts, "warnings": [known]}, told=faults(hca_unhealthy=1), **RATE)
    (check,) = [check for check in found.checks if check.id == "host.kernel_log"]
    assert check.verdict == "warn"
    assert "health compromised" in check.text


def test_faults_count_only_for_devices_for_which_facts_listen(facts: dict[str, Any]) -> None:
    excluded = [{"code": "driver_not_allowed", "text": "no", "fields": {}}]
    other = {**facts, "usable": [], "excluded": [{"hca": "mlx5_0", "port": 1, "reasons": excluded}]}
    for sent in (faults(hca_unhealthy=1), faults(address="all of them", hca_unhealthy=1), faults(invented=3)):
        found = looked(other, told=sent)
        assert [check.id for check in found.checks if check.id == "host.kernel_log"] == []


def test_a_nic_that_has_left_its_host_is_forgotten_in_the_end(facts: dict[str, Any]) -> None:
    first = looked(facts)
    found = looked(gone(facts), first.memory, NOW + 29 * 86_400)
    assert found.nodes["lab-01"].nics == 1
    found = looked(gone(facts), found.memory, NOW + 31 * 86_400)
    assert found.nodes["lab-01"].nics == 0


@pytest.mark.parametrize(
    "sent",
    [
        [],
        "x",
        {"age": 1.0, "devices": [], "ports": {}},
        {"age": 1.0, "devices": {}, "ports": {"mlx5_0/1": 3}},
        {"age": 1.0, "devices": {}, "ports": {"mlx5_0/1": {"counters": {"link_downed": "many"}}}},
        {"age": 1.0, "devices": {"mlx5_0": {"faults": 7}}, "ports": {}},
        {"age": 1.0, "devices": {"mlx5_0": {"active_faults": {"pcie_fatal": "x"}}}, "ports": {}},
    ],
)
def test_figures_that_no_exporter_writes_are_refused(sent: Any) -> None:
    with pytest.raises(figures.UnusableError):
        figures.read(sent)


def test_hostile_figures_break_nothing(facts: dict[str, Any]) -> None:
    sent = told()
    sent["ports"]["mlx5_0/1"].update(state_id="x", rate_bytes_per_second=[], physical_state_id=None, flaps={})
    sent["devices"]["mlx5_0"].update(current_speed="fast", max_width=None, pci_address=7)
    found = looked(gone(facts), told=sent)
    assert all("Traceback" not in check.text for check in found.checks)


def test_what_is_written_is_read_back_the_same(sick: dict[str, Any]) -> None:
    found = looked(sick, **RATE)
    assert memory.read(memory.text(found.memory)) == found.memory
    assert look.read(look.kept(found)) == found


def test_a_plan_knows_the_functions_of_all_nics(facts: dict[str, Any]) -> None:
    assert looked(facts).nodes["lab-01"].functions == {NIC: (NIC,)}


def test_the_configuration_of_the_exporter_is_where_prepare_writes_it() -> None:
    assert DAEMON.config == exporter.CONFIG


def test_the_report(sick: dict[str, Any]) -> None:
    found = looked(sick, **RATE)
    tainted = {
        "api_version": "resource.k8s.io/v1",
        "rules": [{"host": "lab-01", "nic": found.nics[0].key, "effect": "NoSchedule"}],
        "outcomes": [{"host": "lab-01", "nic": found.nics[0].key, "outcome": "tainted"}],
        "problems": ["lab: over its budget"],
        "notes": ["a note"],
    }
    whole = document(found, tainted, "2027-01-15T08:00:00Z", "1.0.0")
    shown = table(whole)
    assert shown.startswith("1 of 1 NIC is sick, 1 kept from new pods (collection 1.0.0, 2027-01-15T08:00:00Z)")
    assert "2027-01-15T08:00:00Z  1      NoSchedule" in shown
    assert "lab: over its budget" in shown
    said = failure(whole, ["first.", "second"], "/there/health.json")
    assert said == (
        "1 NIC is sick. 2 checks failed, the first because: first. lab: over its budget. Everything is in"
        " /there/health.json."
    )
    assert failure(replace(whole, problems=[]), [], "/there") == ""
    lines = metrics(whole).splitlines()
    assert "zerocopy_rdma_health_run_timestamp_seconds 1800000000" in lines
    assert 'zerocopy_rdma_health_nics{group="lab",state="sick"} 1' in lines
    assert "zerocopy_rdma_health_problems 1" in lines
    assert plain(whole)["version"] == 1


@pytest.mark.parametrize(
    ("tainted", "known"), [({}, False), ({"problems": ["no answer"]}, False), ({"rules": []}, True)]
)
def test_rules_that_nobody_asked_for_are_not_none(sick: dict[str, Any], tainted: dict[str, Any], known: bool) -> None:
    """``device_taints`` is skipped with --limit and without a cluster, and may fail."""
    whole = document(looked(sick, **RATE), tainted, "2027-01-15T08:00:00Z", "1.0.0")
    jsonschema.validate(plain(whole), SCHEMA)
    (own,) = plain(whole)["nics"]
    assert (own["effects"], plain(whole)["rules"]) == (([], "") if known else (None, None))
    shown = table(whole)
    assert ("sick, 0 kept from new pods" in shown) == known
    assert ("sick, unknown how many are kept from new pods" in shown) == (not known)
    (line,) = [line for line in shown.splitlines() if NIC in line]
    assert ("  unknown  " in line) == (not known)
    assert ("<td>unknown</td>" in html(whole)) == (not known)
    assert f"zerocopy_rdma_health_rules_known {int(known)}" in metrics(whole).splitlines()


def test_a_report_is_clean_of_what_nobody_sees(sick: dict[str, Any]) -> None:
    found = looked(sick, **RATE)
    (state,) = found.nics
    hostile = replace(state, exempt="\x1b[31m\u202e")
    shown = table(document(replace(found, nics=[hostile]), {}, "2027-01-15T08:00:00Z", "1.0.0"))
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_nic_that_was_never_sick_is_well_and_yet_its_rules_wait(facts: dict[str, Any], sick: dict[str, Any]) -> None:
    def states(found: FleetLook, **tainted: Any) -> dict[str, int]:
        (group,) = document(found, tainted, "", "").groups.values()
        return {state: number for state, number in group.states.items() if number}

    never = looked(facts)
    assert states(never) == {"well": 1}
    # What was remembered may be lost: its rule stays, and it is not taken for one that was never sick.
    assert (never.nodes["lab-01"].well, [each.state for each in never.nics]) == (frozenset(), ["settling"])
    rule = {"host": "lab-01", "nic": never.nics[0].key, "effect": "NoSchedule"}
    assert states(never, rules=[rule]) == {"settling": 1}
    again = looked(facts, looked(sick, **RATE).memory, NOW + 60, **RATE)
    assert states(again) == {"settling": 1}


@pytest.mark.parametrize(
    ("run", "strategy", "why"),
    [
        ("", "shared_device", "rdma_strategy is shared_device, and only dra has device taints"),
        ("rdma_cluster is none", "dra", "rdma_cluster is none"),
        ("rdma_cluster is none", "shared_device", "rdma_cluster is none"),
        ("", "dra", None),
    ],
)
def test_a_group_whose_nics_cannot_be_kept_from_pods_is_told(
    facts: dict[str, Any], run: str, strategy: str, why: str | None
) -> None:
    own = {**DEFAULTS, **LAB, "rdma_strategy": strategy}
    assert look.unenforced([node(facts, **own)], run) == []
    evidence = node(facts, **{**own, "rdma_health_effect": "NoSchedule"})
    said = (
        f"{evidence.group} (lab-01): rdma_health_effect is NoSchedule, but this run keeps no NIC from new pods: {why}"
    )
    assert look.unenforced([evidence], run) == ([said] if why else [])


def test_a_report_that_was_not_written_is_not_named(sick: dict[str, Any]) -> None:
    whole = document(looked(sick, **RATE), {}, "", "")
    assert failure(whole, ["too slow"], "/x/health.json").endswith("too slow. Everything is in /x/health.json.")
    assert failure(whole, ["too slow"], "").endswith("too slow.")
