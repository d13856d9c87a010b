# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Figures, names and changes as reports have them, each rule by itself."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    Check,
    DocumentHost,
    End,
    Measurement,
    VerifyDocument,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import bandwidth, drift, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.causes import Causes
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.findings import picture
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import junit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.html import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.summary import failure, summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (0.0, "0.00"),
        (1.235, "1.24"),
        (9.99, "9.99"),
        (10.0, "10.0"),
        (99.9, "99.9"),
        (100.0, "100"),
        (371.5, "372"),
        (-10.0, "-10.0"),
    ],
)
def test_figures(value: float | None, shown: str) -> None:
    assert text.figure(value) == shown


@pytest.mark.parametrize(
    ("values", "shown"),
    [([], "-"), ([None], "-"), ([5.0, None], "5.00"), ([9.0, 5.0, 7.0], "5.00 to 9.00"), ([5.001, 5.002], "5.00")],
)
def test_spans(values: list[float | None], shown: str) -> None:
    assert text.span(values) == shown


def test_counts_and_evidence() -> None:
    assert [counted(number, "host") for number in (0, 1, 2)] == ["0 hosts", "1 host", "2 hosts"]
    assert text.evidence({"mtu": 1500, "state": "DOWN", "ports": ["b", "a"], "on": {"z": 1, "a": None}}) == (
        'mtu=1500, state=DOWN, ports=["b", "a"], on={"a": null, "z": 1}'
    )


@pytest.mark.parametrize(
    ("many", "limit", "shown"),
    [
        (["n1", "n2", "n3"], 40, "n[1-3]"),
        (["n1", "n2", "n3"], 6, "n[1-3]"),
        (["n1", "n2", "n3"], 5, "n1 and 2 more"),
        # Of one there is nothing to leave out, however long it is.
        (["a-long-name"], 5, "a-long-name"),
        (["a-long-name"] * 2, 5, "a-long-name"),
    ],
)
def test_names(many: list[str], limit: int, shown: str) -> None:
    assert text.names(many, limit) == shown


def test_characters_that_move_a_cursor_are_written_out() -> None:
    assert text.clean("a\x1b[2Jb\tc\nd\x7f\ud800") == "a\\u001b[2Jb\tc\nd\\u007f\\ud800"


def change(kind: str, name: str, before: Any, after: Any) -> dict[str, Any]:
    return {"kind": kind, "name": name, "before": before, "after": after}


def concern(*changes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"error": None, "changes": list(changes), "changed": bool(changes), **more}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([change("service", "x", "running", "restarted")], "restart x"),
        ([change("service", "x", "running", "reloaded")], "reload x"),
        ([change("service", "x", "stopped", "started")], "start x"),
        ([change("service", "x", "running", "stopped")], "stop x"),
        ([change("module", "m", "loaded", "unloaded")], "unload m"),
        ([change("image", "i", None, "sha256:1")], "import i"),
        ([change("rdma_netns_mode", "ib_core", "shared", "exclusive")], "RDMA netns mode ib_core shared -> exclusive"),
        ([change("vf_guid", "v", "none", "1")], "GUID of VF v none -> 1"),
        ([change("sandbox_record", "b", "left behind", "absent")], "sandbox record b left behind -> absent"),
        (
            [change("module", f"m{number}", "unloaded", "loaded") for number in range(4)],
            "load m0, m1, m2, m3",
        ),
        (
            [change("module", f"m{number}", "unloaded", "loaded") for number in range(6)],
            "load m0, m1, m2, m3 and 2 more",
        ),
        (
            [
                change("file", "/a", "present", "absent"),
                change("file", "/b", "absent", "present"),
                change("file", "/c", "absent", "present"),
                change("file", "/d", "present", "present"),
                change("file", "/e.nmconnection", "present", "absent"),
            ],
            "+2 files (/b, /c), ~1 file (/d), -1 file (/a), -1 profile",
        ),
    ],
)
def test_changes_in_a_few_words(changes: list[dict[str, Any]], words: str) -> None:
    assert drift.described("kernel", concern(*changes)) == words
    assert drift.described("kernel", concern(*changes, unfinished=True)) == f"{words}; complete an interrupted run"


@pytest.mark.parametrize(
    ("concerns", "prepared"),
    [
        ({"kernel": {"changed": True}}, True),
        ({"links": {"changed": False, "unfinished": True}}, True),
        ({"daemons": {"error": "x"}}, True),
        ({"images": {"changed": True}}, False),
        ({"kernel": {"changed": False, "unfinished": False, "error": None}}, False),
        ({}, False),
    ],
)
def test_which_nodes_are_prepared(concerns: dict[str, Any], prepared: bool) -> None:
    assert drift.to_prepare({"concerns": concerns}) is prepared


def document(*checks: Check, **more: Any) -> VerifyDocument:
    return VerifyDocument(None, "0.1.0", {name: DocumentHost("g") for name in ("n1", "n2")}, list(checks), **more)


def check(verdict: str, host: str | None = "n1", name: str = "host.mtu", **more: Any) -> Check:
    return Check(name.partition(".")[0], name, host, "g", more.pop("subject", ""), verdict, f"it is {verdict}", **more)


@pytest.mark.parametrize(
    ("checks", "headline"),
    [
        ([], "Nothing was checked"),
        ([check("impossible")], "Nothing could be checked here"),
        ([check("pass")], "All 2 hosts passed"),
        ([check("warn")], "All 2 hosts passed, 1 with warnings"),
        ([check("fail"), check("fail", "n2")], "2 of 2 hosts failed"),
        ([check("fail"), check("pass", "n2")], "1 of 2 hosts failed"),
        ([check("fail", None, "cluster.objects")], "A check of the cluster failed"),
        ([check("fail", None, "host.rails"), check("warn", None, "cluster.objects")], "A check of group g failed"),
        ([check("pass"), check("warn", None, "host.rails")], "All 2 hosts passed, group g has warnings"),
        ([check("pass"), check("warn", None, "cluster.objects")], "All 2 hosts passed, the cluster has warnings"),
    ],
)
def test_headlines(checks: list[Check], headline: str) -> None:
    assert picture(document(*checks)).headline == headline


def test_the_first_failure_is_the_first_of_the_report() -> None:
    checks = [check("fail", name="host.mtu"), check("fail", "n2", name="host.pcie_link")]
    known = document(*checks, check("warn", name="host.acs"))
    first = picture(known).findings[0]
    assert (first.id, first.hosts) == ("host.mtu", ["n1"])
    assert "2 of 3 checks and measurements failed. The first is host.mtu of n1: it is fail." in failure(known, "d")
    many = document(check("fail", name="host.mtu"), *(check("fail", host, "host.pcie_link") for host in ("n1", "n2")))
    assert "The first is host.pcie_link of n[1-2]: it is fail." in failure(many, "d")
    assert "The first is host.rails of group g: it is fail." in failure(
        document(check("fail", None, "host.rails")), "d"
    )
    assert failure(document(check("warn")), "d") == ""


def test_what_is_not_judged_has_hosts_and_reason() -> None:
    names = ("host.path_mtu", "host.bandwidth")
    text = summary(document(*(check("impossible", host, name) for name in names for host in ("n1", "n2"))))
    lines = text.splitlines()
    assert lines[lines.index("Not judged:") + 1 :] == ["  host.bandwidth, host.path_mtu  n[1-2]: it is impossible"]


def test_what_is_not_judged_is_no_finding_of_a_host() -> None:
    page = html(document(check("impossible", "n1", "host.path_mtu"), check("fail", "n1", "host.mtu")))
    row = page[page.index('<tr id="host-1"') :].partition("</tr>")[0]
    assert ">host.mtu</a>" in row
    assert "host.path_mtu" not in row


def test_cases_of_junit_in_all_words() -> None:
    measured = Measurement(
        "g", "write_bw", End("n1", "m", 1), End("n2", "m", 2), 9.5, "Gb/s", None, 90.0, "fail", "slow"
    )
    found = junit.junit(
        document(
            check("fail", evidence={"mtu": 1500}, remedy="Look.", subject="m/1"),
            check("warn", "n2", evidence={}),
            check("impossible", None),
            check("pass"),
            bandwidth=[measured],
        )
    )
    root = ElementTree.fromstring(found)  # ours, not somebody's
    assert root.attrib == {"name": "zerocopy.rdma.verify", "tests": "5", "failures": "2", "errors": "0", "skipped": "1"}
    host, pairs = root
    assert {name: host.attrib[name] for name in ("tests", "failures", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "skipped": "1",
    }
    assert "timestamp" not in host.attrib
    failed, warned, skipped, passed = host
    assert (failed.get("classname"), failed.get("name")) == ("zerocopy.rdma.verify.host.n1", "host.mtu m/1")
    assert failed[0].text == "it is fail\nEvidence: mtu=1500\nWhat to do: Look."
    assert failed[0].attrib == {"message": "it is fail", "type": "fail"}
    assert (warned[0].tag, warned[0].text) == ("system-out", "warning: it is warn")
    assert (skipped[0].tag, skipped.get("classname")) == ("skipped", "zerocopy.rdma.verify.host.g")
    assert list(passed) == []
    assert pairs[0].get("name") == "write_bw m/1 to n2 m/2"
    assert pairs[0][0].text == "slow\nEvidence: value=9.50 Gb/s, threshold=90.0 Gb/s, expected=none"


def test_how_good_a_measurement_is() -> None:
    def one(value: float, unit: str, threshold: float | None) -> Measurement:
        return Measurement("g", "t", End("a", "m", 1), End("b", "m", 1), value, unit, None, threshold, "fail", "")

    assert bandwidth.quality(one(45.0, "Gb/s", 90.0)) == 0.5
    assert bandwidth.quality(one(20.0, "us", 10.0)) == 0.5
    assert bandwidth.quality(one(0.0, "us", 10.0)) == float("inf")
    assert bandwidth.quality(one(1.0, "us", None)) is None
    assert bandwidth.quality(one(1.0, "Gb/s", 0.0)) is None


def test_a_host_without_a_name_has_no_causes() -> None:
    causes = Causes([check("fail", None, "host.runtime"), check("fail", "n1", "host.runtime")])
    assert causes.root("n1", "pod.runs", "fail") == ("host.runtime", "fail")
    assert causes.root(None, "pod.runs", "fail") is None
    assert causes.root("n2", "pod.runs", "fail") is None
    # A warning does not follow from less than itself, and may follow from more.
    warned = Causes([check("warn", "n1", "host.runtime")])
    assert warned.root("n1", "pod.runs", "fail") is None
    assert warned.root("n1", "pod.runs", "warn") == ("host.runtime", "warn")
