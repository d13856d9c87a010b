# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The benchmark's figures in the report. They are invented (tests/report/transfers.py)."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, Dict
from xml.etree import ElementTree

import jsonschema
import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import document as benchmark
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import benchmark as stored
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify as prove_document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import BenchmarkDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import transfers as report_transfers
from ansible_collections.zerocopy.rdma.tests.report.transfers import SIZES, transfers
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import rendered

SCHEMA = json.loads((Path(__file__).parents[4] / "docs" / "benchmark.schema.json").read_text("utf-8"))


def page(shown: BenchmarkDocument) -> str:
    whole = prove_document.VerifyDocument(
        "2026-11-20T10:00:00Z", "0.1.0", {"h100-01": prove_document.DocumentHost("h100")}, benchmark=shown
    )
    found: str = rendered(prove_document.plain(whole), "html")
    return found


def drawn(shown: BenchmarkDocument) -> list[ElementTree.Element]:
    """The plots of the page, read as XML."""
    figures = re.findall(r'<figure class="plot">.*?</figure>', page(shown), re.DOTALL)
    return [ElementTree.fromstring(one.replace("&times;", "x")) for one in figures]


def only(**wanted: Any) -> BenchmarkDocument:
    """The example with the runs that have these values."""
    whole = transfers()
    runs = [run for run in whole.runs if all(getattr(run, name) == value for name, value in wanted.items())]
    return benchmark.document([*runs], benchmark.BenchmarkSettings({}, 0.7), "0.1.0", None)


def test_it_is_written_and_read_back() -> None:
    whole = transfers()
    value = json.loads(json.dumps(stored.plain(whole)))
    jsonschema.validate(value, SCHEMA)
    assert stored.read(value) == whole


def test_bandwidth_is_where_the_scale_says() -> None:
    (plots, *_others) = report_transfers.groups(transfers())
    write = plots.bandwidth[0]
    assert (plots.group, write.title) == ("h100", "WRITE")
    assert [tick.text for tick in write.x_ticks] == ["1 MiB", "16 MiB", "256 MiB", "1 GiB"]
    # What is there to be compared with comes last, and TCP has a look of its own.
    assert [curve.template.look for curve in write.curves] == ["s0", "s1", "s2", "floor"]
    assert [curve.template.kind for curve in write.curves] == ["rdma", "rdma", "unaligned", "floor"]
    zero, top = write.y_ticks[0], write.y_ticks[-1]
    assert zero.text == "0"
    lines = {
        (line.template, line.bytes): line
        for line in transfers().summary
        if (line.group, line.operation) == ("h100", "WRITE")
    }
    for curve in write.curves:
        assert len(curve.points) == len(SIZES)
        for size, point in zip(SIZES, curve.points):
            share = (zero.at - point.y) / (zero.at - top.at)
            assert share * float(top.text) == pytest.approx(lines[curve.template.name, size].mean_gb_s, abs=0.05)
            assert point.high <= point.y <= point.low
        assert "NUMA 0" in curve.about


def test_times_are_of_the_largest_blocks() -> None:
    (plots, *_others) = report_transfers.groups(transfers())
    assert [plot.title for plot in plots.times] == ["WRITE, 1 GiB", "READ, 1 GiB"]
    assert [plot.title for plot in plots.others][:2] == ["WRITE, 256 MiB", "WRITE, 16 MiB"]
    for plot in (*plots.times, *plots.others):
        assert [boxes.template.kind for boxes in plot.templates] == ["rdma", "rdma", "unaligned"]
        for boxes in plot.templates:
            assert [row.text for row in boxes.rows] == ["run 1", "run 2", "run 3"]
            for row in boxes.rows:
                places = [row.least, row.quarter, row.median, row.three_quarters, row.p99, row.greatest]
                assert places == sorted(places)
                assert plot.left <= places[0]
                assert places[-1] <= plot.right
    assert plots.times[0].unit == "ms"


def test_the_page_has_it_with_what_others_published() -> None:
    found = page(transfers())
    text = " ".join(re.sub("<[^>]+>", " ", found).split())
    assert "KV-cache transfers of 1 host" in text
    assert "TCP was allowed: its data went over 50% on rc_mlx5/mlx5_0:1 and 50% on tcp/eth0" in text
    assert "a100-2gpu is available on fewer than two of the nodes" in text
    for figure in ("39.07 GB/s", "27.49 ms", "27.54 GB/s", "38.99 ms", "Other hardware than yours"):
        assert figure in text
    # The size that the sources have for such a model and prompt.
    assert "10 GiB" in text
    assert len(drawn(transfers())) == 2 * (2 + 8)
    assert "fail" in found[found.index('<section id="transfers">') :][:200]


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param({"bytes": 1 << 20}, id="one size"),
        pytest.param({"bytes": 1 << 20, "repetition": 1, "operation": "READ"}, id="one run"),
        pytest.param({"template": "tcp"}, id="only TCP"),
        pytest.param({"group": "none"}, id="nothing"),
    ],
)
def test_little_is_shown_as_well(wanted: Dict[str, Any]) -> None:
    figures = drawn(only(**wanted))
    for figure in figures:
        numbers = [
            float(value) for one in figure.iter() for name, value in one.items() if name in ("x", "y", "x1", "cx")
        ]
        assert all(-20 <= number < 1000 for number in numbers)
    assert (len(figures) == 0) == ("none" in wanted.values())


def test_all_times_are_the_same() -> None:
    whole = only(bytes=1 << 20, template="rdma/rdma_v100")
    for run in whole.runs:
        run.quantiles_seconds = [0.1] * 21
        run.p50_seconds = run.p95_seconds = run.p99_seconds = 0.1
    assert len(drawn(whole)) == 4


def test_requests_of_a_template_are_shown_apart() -> None:
    whole = only(bytes=1 << 30, template="rdma/rdma_v100")
    for run in whole.runs:
        run.request = f"rail{run.repetition}"
    apart = benchmark.document([*whole.runs], benchmark.BenchmarkSettings({}, 0.7), "0.1.0", None)
    (shown,) = report_transfers.groups(apart)
    names = [f"rdma/rdma_v100 (rail{number})" for number in (1, 2)]
    assert [curve.template.name for curve in shown.bandwidth[0].curves] == names
    assert [boxes.template.name for boxes in shown.times[0].templates] == names
    assert names[1] in page(apart)
    # Documents of older versions have one line for all of them.
    (shown,) = report_transfers.groups(whole)
    assert [len(boxes.rows) for boxes in shown.times[0].templates] == [2]


def test_runs_that_were_not_judged_are_told_beside_the_verdict() -> None:
    whole = only(bytes=1 << 30, template="h100-1gpu-1nic")
    assert "runs not judged" not in page(whole)
    whole.runs[0].limit_gb_s = None
    found = benchmark.document([*whole.runs], benchmark.BenchmarkSettings({}, 0.7), "0.1.0", None)
    assert "1 of 3 runs not judged: what the ports carry is unknown" in page(found)


def test_a_hostile_template() -> None:
    whole = transfers()
    for run in whole.runs:
        run.template = "<script>x</script>\x1b"
    for line in whole.summary:
        line.template = "<script>x</script>\x1b"
    found = page(whole)
    assert "<script>x" not in found
    assert "\x1b" not in found


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "benchmark: has version 2, which a newer version of this collection wrote"),
        ({"runs": [{}]}, "benchmark: runs[0].group is missing"),
        ({"summary": "x"}, "benchmark: summary is 'x', it must be a list"),
    ],
)
def test_what_is_no_benchmark(change: Dict[str, Any], why: str) -> None:
    value = {**prove_document.plain(prove_document.VerifyDocument(None, "0.1.0")), "benchmark": None}
    value["benchmark"] = {**stored.plain(transfers()), **change}
    with pytest.raises(prove_document.DocumentError, match=re.escape(why)):
        rendered(value, "html")


@pytest.mark.parametrize(
    ("of", "change", "why"),
    [
        ("runs", {"quantiles_seconds": [1.0]}, "runs[0].quantiles_seconds must be 21 ascending times"),
        ("runs", {"quantiles_seconds": [2.0, *[1.0] * 20]}, "must be 21 ascending times"),
        ("summary", {"mean_gb_s": 0.0}, "summary[0] has a size or bandwidth that is not above 0"),
        ("summary", {"kind": "other"}, "summary[0] is of an unknown kind or verdict"),
    ],
)
def test_figures_that_cannot_be_drawn(of: str, change: Dict[str, Any], why: str) -> None:
    value = stored.plain(transfers())
    value[of][0].update(change)
    with pytest.raises(stored.BenchmarkDocumentError, match=re.escape(why)):
        stored.read(value)


def test_the_worst_counts() -> None:
    whole = transfers()
    assert report_transfers.verdict(whole) == "fail"
    good = dataclasses.replace(whole, errors=[], summary=[line for line in whole.summary if line.group == "h100"])
    assert report_transfers.verdict(good) == "pass"
    assert report_transfers.verdict(dataclasses.replace(good, summary=[])) == "impossible"
