# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The memory of health as a file: a damaged, foreign or newer one is one clear error, and is never replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.health_policy import Hysteresis
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import memory
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import Event, HostMemory, NicMemory
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.nics import Finding, NicLook
from ansible_collections.zerocopy.rdma.plugins.modules import health as module
from ansible_collections.zerocopy.rdma.plugins.modules import report as report_module
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _health, _report
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import LAB, Facts
from ansible_collections.zerocopy.rdma.tests.unit.action_options import options, play

DOWN = Finding("port_state", "is DOWN")
PAST = [Event(3, "sick", [DOWN]), Event(4, "tainted", effect="NoSchedule")]
HOST = HostMemory(
    "h100",
    1_800_000_000,
    {"0000:1a:00.0": NicMemory("mlx5_0", ["0000:1a:00.0"], 5, 1, 0, 2, 3, None, [DOWN], "NoSchedule", PAST)},
    {"mlx5_0/1": {"link_downed": 1}},
)
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/health"
CONTENT = json.loads(memory.text({"n1": HOST}))
NIC = ("hosts", "n1", "nics", "0000:1a:00.0")


def with_value(path: tuple[str, ...], value: Any) -> str:
    content = json.loads(json.dumps(CONTENT))
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(content)


def test_a_file_is_read_back_and_what_is_new_in_it_is_ignored() -> None:
    assert memory.read(json.dumps(CONTENT)) == {"n1": HOST}
    assert memory.read(with_value((*NIC, "color"), "red")) == {"n1": HOST}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json")), ids=lambda path: path.stem)
def test_what_earlier_versions_remembered_goes_on(path: Path) -> None:
    before = memory.read(path.read_text())
    (nic,) = [nic for host in before.values() for nic in host.nics.values() if nic.bad]
    assert (nic.name, nic.times, [finding.check for finding in nic.findings]) == ("mlx5_1", 1, ["pcie_link"])
    look = NicLook("0000:8a:00.0", "mlx5_1", ("0000:8a:00.0",))
    after = memory.looked(before["v100-02"], "v100", [look], {}, nic.seen + 60, Hysteresis(3, 600))
    assert (after.nics[look.key].since, after.nics[look.key].well_since) == (nic.since, nic.seen + 60)
    assert memory.read(memory.text({"v100-02": after})) == {"v100-02": after}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[]", "was not written by health"),
        ("{}", "was not written by health"),
        (with_value(("version",), None), "states no version"),
        (with_value(("version",), 2), "has version 2, which a newer version of this collection wrote"),
        (with_value(("hosts",), []), "has '[]' in hosts, which must be a map"),
        (with_value(("hosts", "n1"), 1), "has '1' in hosts.n1, which must be a map"),
        (with_value(("hosts", "n1", "looked"), -1), "has '-1' in hosts.n1.looked, which must be a whole number"),
        (with_value(("hosts", "n1", "group"), None), "in hosts.n1.group, which must be a list of texts"),
        (with_value((*NIC, "bad"), "2"), "in hosts.n1.nics.0000:1a:00.0.bad, which must be a whole number"),
        (with_value((*NIC, "name"), 3), "has no name in hosts.n1.nics.0000:1a:00.0"),
        (with_value((*NIC, "findings"), [{"check": 1}]), "which must be a list of texts"),
        (with_value((*NIC, "effect"), None), "which must be a list of texts"),
        (with_value((*NIC, "history"), {}), "has no list in hosts.n1.nics.0000:1a:00.0.history"),
        (with_value((*NIC, "history"), [7]), "has '7' in hosts.n1.nics.0000:1a:00.0.history, which must be a map"),
        (with_value((*NIC, "history"), [{"what": "sick", "at": "now"}]), "history.at, which must be a whole number"),
        (with_value(("hosts", "n1", "counters"), {"p": {"c": True}}), "which must be a whole number"),
    ],
)
def test_a_file_that_no_run_has_written_is_one_error_and_stays(
    content: str, why: str, tmp_path: Path, facts_of: Facts
) -> None:
    path = tmp_path / "state.json"
    path.write_text(content)
    own = {"inventory_hostname": "lab-01", "group_names": ["lab"], "ansible_facts": {"rdma": facts_of("lab-01")}, **LAB}
    with pytest.raises(AnsibleActionFail) as error:
        _health.look(play({"lab-01": own}), options(module, directory=str(tmp_path)), check=False)
    assert str(error.value).startswith(f"rdma_health_directory: {path} ")
    assert why in str(error.value)
    assert str(error.value).endswith("Nothing was changed")
    assert path.read_text() == content


@pytest.mark.parametrize("check", [False, True])
def test_only_a_run_that_is_no_dry_run_remembers(check: bool, tmp_path: Path, facts_of: Facts) -> None:
    own = {"inventory_hostname": "lab-01", "group_names": ["lab"], "ansible_facts": {"rdma": facts_of("lab-01")}, **LAB}
    given = options(module, directory=str(tmp_path / "health"), whole=True)
    found = _health.look(play({"lab-01": own}), given, check)
    path = tmp_path / "health/state.json"
    assert path.exists() is not check
    assert [nic["state"] for nic in found["nics"]] == ["settling"]
    if not check:
        # A host that is not asked about is forgotten only by a run for the whole fleet.
        other = {**own, "inventory_hostname": "lab-02"}
        _health.look(play({"lab-02": other}), options(module, directory=str(tmp_path / "health")), check)
        assert set(memory.read(path.read_text())) == {"lab-01", "lab-02"}
        _health.look(play({"lab-02": other}), given, check)
        assert set(memory.read(path.read_text())) == {"lab-02"}


@pytest.mark.parametrize(
    ("whole", "cluster", "why"),
    [(True, "none", "rdma_cluster is none"), (False, "kubernetes", "it is limited to some of the hosts")],
)
def test_a_run_that_can_taint_nothing_says_so_and_a_dry_run_names_no_file(
    whole: bool, cluster: str, why: str, tmp_path: Path, facts_of: Facts
) -> None:
    own = {"inventory_hostname": "lab-01", "group_names": ["lab"], "ansible_facts": {"rdma": facts_of("lab-01")}, **LAB}
    own.update(rdma_health_effect="NoSchedule", rdma_discover_expect_rate_gbps=999)
    context = play({"lab-01": own}, rdma_cluster=cluster)
    found = _health.look(context, options(module, directory=str(tmp_path), whole=whole), True)
    given = options(report_module, kind="health", run=found["run"], directory=str(tmp_path))
    (failed, dry) = (_health.report(context, given, "", check)["failure"] for check in (False, True))
    assert (f"{tmp_path}/health.json" in failed, str(tmp_path) in dry) == (True, False)
    assert f"keeps no NIC from new pods: {why}" in _health.report(context, given, "", True)["text"]
    done = [_report.report(context, given, check, False) for check in (True, False)]
    assert [(each["paths"], each["changed"]) for each in done] == [
        ([], False),
        ([f"{tmp_path}/health.json", f"{tmp_path}/health.html"], True),
    ]
