# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Bandwidth in reports, and JUnit as CI systems read it."""

from __future__ import annotations

from functools import partial
from itertools import combinations, permutations
from typing import Any, Callable
from xml.etree import ElementTree

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    End,
    Measurement,
    RingResult,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import bandwidth
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import findings as report_findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _report
from ansible_collections.zerocopy.rdma.tests.report.example import example
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import rendered

Facts = Callable[..., dict[str, Any]]
html, junit, summary = (partial(rendered, form=name) for name in ("html", "junit", "summary"))


def measured(source: str, target: str, value: float, unit: str = "Gb/s", threshold: float = 90) -> Measurement:
    good = value >= threshold if unit == "Gb/s" else value <= threshold
    ends = End(source, "mlx5_0", 1), End(target, "mlx5_0", 1)
    return Measurement("g", "t", *ends, value, unit, None, threshold, "pass" if good else "fail", "text")


def series(*many: Measurement) -> bandwidth.Series:
    return bandwidth.Series("g", "t", many[0].unit, "rail 0", list(many))


def hosts(number: int) -> list[str]:
    return [f"n-{index:03}" for index in range(1, number + 1)]


@pytest.mark.parametrize(
    ("number", "slow", "named"),
    [
        (5, ["n-004"], ["n-004"]),
        (5, ["n-004", "n-005"], ["n-004", "n-005"]),
        (3, ["n-001"], ["n-001"]),
        (2, ["n-001"], ["n-001", "n-002"]),
        (4, [], []),
    ],
)
def test_who_is_behind_slow_pairs(number: int, slow: list[str], named: list[str]) -> None:
    every = [measured(*pair, 10 if set(pair) & set(slow) else 95) for pair in combinations(hosts(number), 2)]
    assert bandwidth.culprits([one for one in every if one.verdict == "fail"], every) == named


def test_of_one_slow_pair_both_ends_are_named() -> None:
    every = [measured(*pair, 10 if pair == ("n-002", "n-003") else 95) for pair in combinations(hosts(6), 2)]
    assert bandwidth.culprits([one for one in every if one.verdict == "fail"], every) == ["n-002", "n-003"]


def test_the_worst_pair_is_the_furthest_from_its_threshold() -> None:
    near, far, latency = measured("a", "b", 80), measured("a", "c", 22, threshold=22.5), measured("a", "d", 9, "us", 3)
    broken, good = measured("a", "e", 0.0), measured("a", "f", 95)
    assert bandwidth.worst([near, far, latency, broken, good], 9) == [broken, latency, near, far]
    assert bandwidth.quality(latency) == pytest.approx(1 / 3)


def test_a_matrix_of_few_hosts_has_each_pair() -> None:
    many = [measured(*pair, 95) for pair in permutations(hosts(4), 2)]
    matrix = bandwidth.matrix(series(*many))
    assert matrix.blocks == [[name] for name in hosts(4)]
    assert matrix.directed
    assert set(matrix.cells) == set(permutations(range(4), 2))


def test_pairs_measured_one_way_are_above_the_diagonal() -> None:
    many = [measured(right, left, 95) for left, right in combinations(hosts(4), 2)]
    matrix = bandwidth.matrix(series(*many))
    assert not matrix.directed
    assert set(matrix.cells) == set(combinations(range(4), 2))


def test_a_matrix_of_many_hosts_keeps_the_worst_of_each_block() -> None:
    names = hosts(200)
    many = [measured(left, right, 20.0 if "n-150" in (left, right) else 95.0) for left, right in combinations(names, 2)]
    matrix = bandwidth.matrix(series(*many))
    assert len(matrix.blocks) == bandwidth.MATRIX_UP_TO
    assert [name for block in matrix.blocks for name in block] == names
    assert {len(block) for block in matrix.blocks} == {12, 13}
    assert sum(cell.times for cell in matrix.cells.values()) == len(many)
    mine = next(index for index, block in enumerate(matrix.blocks) if "n-150" in block)
    assert {position for position, cell in matrix.cells.items() if cell.worst.value == 20} == {
        position for position in matrix.cells if mine in position
    }


def test_rails_follow_the_cable_and_not_the_name(facts_of: Facts) -> None:
    document = read(example(facts_of, {"a100": 4, "h100": 3}))
    ports = {(one.source.host, one.source.hca) for one in document.bandwidth if one.group == "a100"}
    assert {"mlx5_0", "mlx5_1"} == {hca for _host, hca in ports}, "each node has its cable in another port"
    found = [(one.group, one.test, one.rail) for one in bandwidth.series(document)]
    rails = [("h100", "write_bw", f"rail {number}") for number in range(8)]
    a100 = [("a100", "read_lat", "rail 0"), ("a100", "write_bw", "rail 0")]
    assert found == [*a100, ("h100", "read_lat", "rail 0"), *rails]


@pytest.mark.parametrize(("layer", "rail"), [("InfiniBand", "rail 7"), (None, "rail 9")])
def test_rails_are_those_that_were_planned(facts_of: Facts, layer: str | None, rail: str) -> None:
    own = {"group_names": ["b200"], "ansible_facts": {"rdma": facts_of("case-b200")}}
    hostvars = dict.fromkeys(("n1", "n2"), {**own, "rdma_discover_expect_link_layer": layer} if layer else own)
    ends = End("n1", "mlx5_15", 1), End("n2", "mlx5_15", 1)
    ring = RingResult([], [Measurement("b200", "t", *ends, 390, "Gb/s", None, None, "pass", "x")])
    document = _report.document({"hostvars": hostvars}, list(hostvars), rings=[ring])
    assert [found.rail for found in bandwidth.series(document)] == [rail]


def test_slow_pairs_are_one_finding_on_the_host_behind_them(facts_of: Facts) -> None:
    document = read(example(facts_of, {"h100": 12}))
    picture = report_findings.picture(document)
    [finding] = [one for one in picture.with_verdict("fail") if one.ring == "bandwidth"]
    assert (finding.id, finding.hosts, finding.times) == ("bandwidth.write_bw", ["h100-07"], 11)
    assert picture.hosts["h100-07"] == "fail"
    assert picture.hosts["h100-06"] == "pass"


def test_figures_of_the_summary_are_those_of_the_measurements(facts_of: Facts) -> None:
    document = example(facts_of, {"v100": 4})
    values = sorted(one["value"] for one in document["bandwidth"] if one["test"] == "write_bw")
    row = next(line.split() for line in summary(document).splitlines() if line.startswith("v100   write_bw"))
    median = (values[5] + values[6]) / 2
    assert len(values) == 12
    assert row[3:7] == ["12", f"{values[0]:.1f}", f"{median:.1f}", f"{values[-1]:.1f}"]
    assert row[-1] == "3"


def test_what_is_not_judged_is_told_once(facts_of: Facts) -> None:
    document = example(facts_of, {"h100": 12})
    for number, one in enumerate(document["bandwidth"]):
        one.update(verdict="impossible", threshold=None, expected=None, text=f"{number} Gb/s, not judged")
    findings = report_findings.picture(read(document)).with_verdict("impossible")
    [write] = [one for one in findings if one.id == "bandwidth.write_bw"]
    assert write.times == sum(one["test"] == "write_bw" for one in document["bandwidth"])
    assert write.variants[0].text == "On rail 0 of h100, 66 measurements not judged, such as: 0 Gb/s, not judged."
    page = html(document)
    assert "66 not judged" in page
    assert 'class="h' not in page.split('<div class="maps">', 1)[1].split('<section id="fleet"')[0].replace(
        'class="heat"', ""
    )


def test_every_slow_cell_is_marked_by_more_than_its_colour(facts_of: Facts) -> None:
    page = html(example(facts_of, {"h100": 12}))
    assert page.count('class="h0 short"') == 11 + 1, "eleven pairs and the legend"


def test_junit_has_a_case_for_each_check_and_measurement(facts_of: Facts) -> None:
    document = example(facts_of)
    root = ElementTree.fromstring(junit(document))
    suites = {suite.get("name"): suite for suite in root.findall("testsuite")}
    assert list(suites) == [f"zerocopy.rdma.verify.{name}" for name in ("host", "cluster", "pod", "bandwidth")]
    everything = document["checks"] + document["bandwidth"]
    for element, many in (
        (root, everything),
        (suites["zerocopy.rdma.verify.host"], [one for one in document["checks"] if one["ring"] == "host"]),
        (suites["zerocopy.rdma.verify.bandwidth"], document["bandwidth"]),
    ):
        assert len(element.findall(".//testcase")) == int(element.get("tests", "")) == len(many)
        for attribute, tag, verdict in (("failures", "failure", "fail"), ("skipped", "skipped", "impossible")):
            expected = sum(one["verdict"] == verdict for one in many)
            assert len(element.findall(f".//{tag}")) == int(element.get(attribute, "")) == expected
        assert element.get("errors") == "0"
    assert len(root.findall(".//system-out")) == sum(one["verdict"] == "warn" for one in everything)


def test_junit_says_what_was_found_and_what_to_do(facts_of: Facts) -> None:
    root = ElementTree.fromstring(junit(example(facts_of)))
    cases = {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}
    failure = cases["zerocopy.rdma.verify.host.v100-02", "host.path_mtu mlx5_1/1"].find("failure")
    assert failure is not None
    assert failure.get("message", "").startswith("Packets of 4096 bytes do not reach")
    assert "Evidence: mtu=2044, wanted=4096" in (failure.text or "")
    assert "What to do: Set the MTU" in (failure.text or "")
    skipped = cases["zerocopy.rdma.verify.host.lab-01", "host.subnet_manager mlx5_0/1"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "The port is RoCE, which has no subnet manager."


def test_cases_of_one_class_have_names_of_their_own(facts_of: Facts) -> None:
    cases = list(ElementTree.fromstring(junit(example(facts_of))).iter("testcase"))
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)


def test_dots_of_a_host_do_not_become_packages(facts_of: Facts) -> None:
    document = example(facts_of, {"lab": 1})
    document["hosts"]["lab-01.example.org"] = document["hosts"].pop("lab-01")
    for one in document["checks"]:
        one["host"] = one["host"] and "lab-01.example.org"
    names = {case.get("classname") for case in ElementTree.fromstring(junit(document)).iter("testcase")}
    assert "zerocopy.rdma.verify.pod.lab-01_example_org" in names
