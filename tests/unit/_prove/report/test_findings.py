# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The order of findings, consequences below their causes, and what is new since an earlier run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    Check,
    DocumentHost,
    End,
    Measurement,
    RingResult,
    VerifyDocument,
    plain,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import causes
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.findings import ReportFinding, picture
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _verify_run
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part, rendered, report

HOSTS = ("n1", "n2", "n3")


def check(name: str, host: str | None = "n1", verdict: str = "fail", subject: str = "", mend: str = "") -> Check:
    ring = name.split(".")[0]
    return Check(ring, name, host, "g", subject, verdict, f"{name} is {verdict}.", mend=mend)


def document(*checks: Check, bandwidth: tuple[Measurement, ...] = ()) -> VerifyDocument:
    hosts = {name: DocumentHost("g") for name in HOSTS}
    return VerifyDocument("2026-11-20T10:00:00Z", "0.1.0", hosts, list(checks), list(bandwidth))


def slow(source: str, target: str) -> Measurement:
    ends = End(source, "mlx5_0", 1), End(target, "mlx5_0", 1)
    return Measurement("g", "write_bw", *ends, 10.0, "Gb/s", 100.0, 90.0, "fail", "slow")


def below(findings: list[ReportFinding]) -> dict[str, list[tuple[str, list[str]]]]:
    return {one.id: [(each.id, each.hosts) for each in one.consequences] for one in findings}


def test_what_follows_from_a_finding_is_below_it_on_the_same_host_only() -> None:
    found = picture(document(check("pod.allocation"), check("pod.allocation", "n2"), check("host.runtime"))).findings
    assert [(one.id, one.hosts) for one in found] == [("host.runtime", ["n1"]), ("pod.allocation", ["n2"])]
    assert below(found) == {"host.runtime": [("pod.allocation", ["n1"])], "pod.allocation": []}


def test_the_first_cause_has_all_that_follows() -> None:
    found = picture(document(check("pod.runs"), check("cluster.slices"), check("cluster.driver"), check("host.images")))
    assert below(found.findings) == {
        "host.images": [("cluster.driver", ["n1"]), ("cluster.slices", ["n1"]), ("pod.runs", ["n1"])]
    }


@pytest.mark.parametrize(("subject", "follows"), [("mlx5_0/1", True), ("mlx5_1/1", False), ("", True)])
def test_another_port_is_no_cause(subject: str, follows: bool) -> None:
    found = picture(document(check("host.mtu", subject="mlx5_0/1"), check("host.path_mtu", subject=subject))).findings
    assert bool(below(found)["host.mtu"]) is follows
    assert len(found) == (1 if follows else 2)


def test_what_passed_is_no_cause() -> None:
    found = picture(document(check("host.runtime", verdict="pass"), check("pod.runs"))).findings
    assert [(one.id, one.consequences) for one in found] == [("pod.runs", []), ("host.runtime", [])]


def test_slow_pairs_follow_from_the_links_of_the_host_behind_them() -> None:
    pairs = (slow("n1", "n2"), slow("n1", "n3"))
    found = picture(document(check("host.pcie_link"), bandwidth=pairs)).findings
    assert below(found) == {"host.pcie_link": [("bandwidth.write_bw", ["n1"])]}
    found = picture(document(check("host.pcie_link", "n2"), bandwidth=pairs)).findings
    assert below(found) == {"bandwidth.write_bw": [], "host.pcie_link": []}


def test_no_failure_is_below_a_warning() -> None:
    found = picture(
        document(check("host.links", verdict="warn"), check("host.address"), check("host.mtu", verdict="warn"))
    )
    assert below(found.findings) == {"host.address": [], "host.links": [("host.mtu", ["n1"])]}


def test_no_finding_is_lost_below_others() -> None:
    names = [*causes.CONSEQUENCES, *(name for many in causes.CONSEQUENCES.values() for name in many if "." in name)]
    checks = [check(name) for name in dict.fromkeys(names)]
    shown = picture(document(*checks))
    found = [each.id for one in shown.findings for each in (one, *one.consequences)]
    assert sorted(found) == sorted(one.id for one in checks) == sorted(one.id for one in shown.every)
    anchors = [each.anchor for one in shown.findings for each in (one, *one.consequences)]
    assert len(set(anchors)) == len(anchors)


def test_findings_are_in_the_order_in_which_to_mend_them() -> None:
    checks = [
        check("pod.path"),
        check("cluster.objects", None, mend="provision"),
        check("host.acs"),
    ]
    checks += [check(f"host.{name}", mend=name) for name in ("runtime", "links", "kernel")]
    found = [one.id for one in picture(document(*checks)).findings]
    assert found == ["host.acs", "host.kernel", "host.links", "host.runtime", "cluster.objects", "pod.path"]


@pytest.mark.parametrize(
    ("form", "between"), [("html", "Probably a consequence"), ("summary", "probably caused by this")]
)
def test_reports_show_consequences_below(form: str, between: str) -> None:
    shown = rendered(plain(document(check("pod.allocation"), check("host.runtime"))), form)
    places = [shown.index(text) for text in ("host.runtime is fail.", between, "pod.allocation is fail.")]
    assert places == sorted(places)


def verified(tmp_path: Path, *checks: Check, earlier: str | None) -> dict[str, Any]:
    """A document of ``checks`` with an earlier file of this content."""
    path = tmp_path / "verify.json"
    if earlier is not None:
        path.write_text(earlier, "utf-8")
    hostvars: dict[str, Any] = {name: {"group_names": ["g"]} for name in HOSTS}
    run = part("begin", hostvars)["run"]
    _verify_run.keep(run, "host", RingResult(list(checks)).as_dict())
    report("verify", hostvars, run=run, directory=str(tmp_path))
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def test_a_report_of_another_form_is_not_compared(tmp_path: Path) -> None:
    other = {**plain(document(check("host.mtu"))), "version": 99}
    assert verified(tmp_path, check("host.mtu"), earlier=json.dumps(other))["earlier"] is None


def test_what_is_new_since_the_last_run_is_told(tmp_path: Path) -> None:
    before = document(check("host.mtu"), check("host.acs"), check("host.gid", verdict="pass"))
    now = [check("host.mtu", verdict="warn"), check("host.gid"), check("host.acs", verdict="pass")]
    found = verified(tmp_path, *now, earlier=json.dumps(plain(before)))
    assert found["earlier"]["created"] == "2026-11-20T10:00:00Z"
    assert [one["id"] for one in found["earlier"]["new"]] == ["host.gid"]
    assert [one["id"] for one in found["earlier"]["gone"]] == ["host.acs"]
    assert found["earlier"]["unchanged"] == 1, "host.mtu is still not well"
    summary = rendered(found, "summary")
    assert "Since the last run (2026-11-20T10:00:00Z): 1 new, 1 gone, 1 unchanged" in summary
    page = rendered(found, "html")
    assert "host.acs is fail." in page
    assert page.count('<span class="new">new</span>') == 1


def test_what_one_of_the_runs_did_not_look_at_is_neither_new_nor_gone(tmp_path: Path) -> None:
    before = document(check("host.mtu"), check("host.mtu", "n9"))
    before.hosts = {"n1": DocumentHost("g"), "n9": DocumentHost("g")}
    found = verified(
        tmp_path, check("host.mtu"), check("host.acs", "n2"), check("pod.runs"), earlier=json.dumps(plain(before))
    )
    assert found["earlier"] == {"created": before.created, "new": [], "gone": [], "unchanged": 1}


@pytest.mark.parametrize(
    "earlier",
    [
        None,
        "",
        "[1]",
        "{}",
        '"text"',
        "[" * 100_000,
        '{"version": 7}',
        '{"version": 1, "created": null, "collection": "x", "hosts": 1, "checks": []}',
        '{"version": 1, "created": null, "collection": "x", "hosts": {}, "checks": [{"id": 1}]}',
        '{"version": 1, "created": null, "collection": "x", "hosts": {}, "checks": 5}',
        "\udcff",
    ],
)
def test_a_file_that_is_no_document_is_no_earlier_run(tmp_path: Path, earlier: str | None) -> None:
    if earlier == "\udcff":
        (tmp_path / "verify.json").write_bytes(b"\xff\xfe")
        earlier = None
    found = verified(tmp_path, check("host.mtu"), earlier=earlier)
    assert found["earlier"] is None
    assert "Since the last run" not in rendered(found, "summary")
