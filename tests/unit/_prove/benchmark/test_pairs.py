# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The pairs of a benchmark, and what is made of their logs. The logs are composed here, their figures invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import jsonschema
import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import document, judge, summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import (
    BenchmarkDocument,
    BenchmarkEnd,
    BenchmarkRun,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import predict
from ansible_collections.zerocopy.rdma.plugins.modules import benchmark_plan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _benchmark
from ansible_collections.zerocopy.rdma.tests.unit._prove.benchmark.benchmark_log import GIB, log
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import report
from ansible_collections.zerocopy.rdma.tests.unit._prove.pods import HOSTS, KIND, plan, shared
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices
from ansible_collections.zerocopy.rdma.tests.unit.action_options import options
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import written

SCHEMA = json.loads((Path(__file__).parents[4] / "docs" / "benchmark.schema.json").read_text("utf-8"))
ALIGNED = {"name": "h100-1gpu-1nic", "gpus": 1, "nics": 1}
UNALIGNED = {"name": "h100-far", "gpus": 1, "nics": 1, "align": "unaligned"}
MODEL = {
    "name": "example",
    "layers": 32,
    "kv_heads": 8,
    "head_dim": 128,
    "dtype": "bfloat16",
    "prompt_tokens": [32768],
}


def planned(strategies: dict[str, Any], **own: Any) -> dict[str, Any]:
    return _benchmark.planned(options(benchmark_plan, plan=written(strategies), **own))


class Bench:
    """A benchmark of two recorded (synthesised) nodes, whose pods get the first devices that fit."""

    def __init__(self, facts_of: Callable[..., Any], directory: Path) -> None:
        self.directory = directory
        self.facts, self.templates = facts_of(KIND), [ALIGNED, UNALIGNED]
        # Why the module failed for the first pairs, and what was asked for.
        self.failed: list[str] = []
        self.asked: dict[str, Any] = {}
        self.fraction: Any = 0.7
        self.plan = plan(facts_of, self.templates)
        known = read.facts(self.facts)
        ((first, pci), *_others) = known.placed
        self.devices = [one for host in HOSTS for one in predict.predicted(host, known, (1, 4, 0), (1, 0, 4, 1))]
        self.nic = next(one for one in self.devices if one.driver == "dra.net" and one.pci == pci.address)
        self.hca, self.gpu = first, known.gpus[0]
        # What each pod got.
        self.given = [self.nic]

    def pairs(self, **options: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = planned(self.plan, **options)["pairs"]
        return found

    def result(self, pod: dict[str, Any], output: str, **changed: Any) -> dict[str, Any]:
        got = [{"request": "nic", "driver": "dra.net", "pool": pod["node"], "device": nic.name} for nic in self.given]
        return {"node": pod["node"], "output": output, "trouble": "", "allocation": got, **changed}

    def judged(self, outputs: dict[str, str], changed: Any = None, **options: Any) -> dict[str, Any]:
        """The document of these outputs of initiators by template."""
        pairs = [pair for pair in self.pairs(**options) if pair["entry"] in outputs]
        results: list[dict[str, Any]] = [
            {
                "pods": [
                    self.result(pair["pods"][0], **{"output": "", **(changed or {})}),
                    self.result(pair["pods"][1], outputs[pair["entry"]]),
                ]
            }
            for pair in pairs
        ]
        results[: len(self.failed)] = [{"failed": False, "msg": why} for why in self.failed]
        hostvars = {
            host: {"ansible_facts": {"rdma": self.facts}, "rdma_claims_templates": self.templates} for host in HOSTS
        }
        done = report(
            "benchmark",
            hostvars,
            results=[{"item": pair, **result} for pair, result in zip(pairs, results)],
            plan=written(self.plan),
            slices=resource_slices(self.devices),
            fraction=self.fraction,
            parameters=self.asked,
            models=[MODEL],
            directory=str(self.directory),
        )
        self.lines, self.failure = done["lines"], done["failure"]
        document: dict[str, Any] = json.loads((self.directory / "benchmark.json").read_text("utf-8"))
        jsonschema.validate(document, SCHEMA)
        return document


@pytest.fixture(name="bench")
def make_bench(facts_of: Callable[..., Any], tmp_path: Path) -> Bench:
    return Bench(facts_of, tmp_path)


def test_each_template_and_tcp_on_two_nodes(bench: Bench) -> None:
    pairs = bench.pairs(repetitions=2)
    entries = [(pair["repetition"], pair["entry"]) for pair in pairs]
    assert {entry for _number, entry in entries} == {"h100-1gpu-1nic", "h100-far", "tcp"}
    assert [number for number, _entry in entries] == sorted(number for number, _entry in entries)
    for target, initiator in (pair["pods"] for pair in pairs):
        assert (target["node"], initiator["node"]) == ("n1", "n2")
        assert (target["server"], initiator["peer"]) == (True, target["name"])
        assert len({target["name"], initiator["name"]}) == 2


def test_what_its_pods_have(bench: Bench) -> None:
    pods = {pair["entry"]: pair["pods"][1] for pair in bench.pairs(environment={"UCX_LOG_LEVEL": "info"})}
    rdma, floor = pods["h100-1gpu-1nic"], pods["tcp"]
    assert rdma["template"].startswith("h100-1gpu-1nic-")
    assert rdma["capabilities"] == ["IPC_LOCK"]
    assert (rdma["host_sys"], floor["host_sys"]) == (True, False)
    assert (rdma["environment"]["UCX_TLS"], rdma["environment"]["ZEROCOPY_NODE"]) == ("rc,ud,self,cuda_copy", "n2")
    assert "template" not in floor
    assert (floor["environment"]["UCX_TLS"], floor["environment"]["ZEROCOPY_RDMA"]) == ("tcp", "off")
    assert floor["environment"]["UCX_LOG_LEVEL"] == "info"


def test_of_a_device_plugin(facts_of: Callable[..., Any]) -> None:
    pods = {pair["entry"]: pair["pods"][0] for pair in planned(shared(facts_of))["pairs"]}
    assert pods["rdma/rdma_h100"]["limits"] == {"rdma/rdma_h100": 1}
    assert pods["tcp"]["limits"] == {}


def test_only_what_is_wanted(bench: Bench) -> None:
    assert {pair["entry"] for pair in bench.pairs(templates=["h100-far"], floor=False)} == {"h100-far"}
    problems = planned(bench.plan, templates=["h100-nowhere"])["problems"]
    assert problems[0].startswith(
        "rdma_benchmark_templates has h100-nowhere, which no pod can request; pods can request h100-1gpu"
    )


def test_one_node_is_not_enough(bench: Bench) -> None:
    for request in bench.plan["requests"]["h100"]:
        request["hosts"] = {"n1": request["hosts"]["n1"]}
    (problem,) = planned(bench.plan)["problems"]
    assert problem.startswith("nothing can be run: a pair needs two nodes of a group; h100: ")


def test_the_summary(bench: Bench) -> None:
    config = f"rc_mlx5/{bench.hca.name}:1"
    outputs = {
        "h100-1gpu-1nic": log(config, 0.025, bench.gpu.pci.address),
        "h100-far": log(config, 0.05, bench.gpu.pci.address),
        "tcp": log("tcp/eth0", 0.5),
    }
    found = bench.judged(outputs, repetitions=2)
    assert found["errors"] == []
    lines = {line["template"]: line for line in found["summary"]}
    aligned = lines["h100-1gpu-1nic"]
    assert (aligned["runs"], aligned["spread"], aligned["memory"], aligned["pinned"]) == (2, 0, "VRAM", "NUMA 0")
    assert aligned["mean_gb_s"] == pytest.approx(GIB / 0.025 / 1e9)
    assert (aligned["ratio"], aligned["latency_change"]) == (pytest.approx(2), pytest.approx(-0.5))
    assert aligned["fraction"] == pytest.approx(aligned["mean_gb_s"] / aligned["limit_gb_s"])
    assert (aligned["kind"], aligned["verdict"]) == ("rdma", "pass")
    assert (lines["h100-far"]["kind"], lines["h100-far"]["ratio"], lines["h100-far"]["verdict"]) == (
        "unaligned",
        None,
        "impossible",
    )
    # In other memory, and for comparison only.
    assert (lines["tcp"]["kind"], lines["tcp"]["limit_gb_s"], lines["tcp"]["ratio"]) == ("floor", None, None)
    assert found["runs"][0]["path"] != []
    assert "2.00 times unaligned, latency -50.0%" in "\n".join(bench.lines)


@pytest.mark.parametrize(("nics", "over"), [(1, ""), (4, ", over 1 of 4 NICs")])
def test_a_result_says_over_how_many_of_its_nics(bench: Bench, nics: int, over: str) -> None:
    """UCX may use one of them, and what that carries is what is demanded."""
    others = [one for one in bench.devices if one.is_rdma_nic and one.node == "n1" and one.pci != bench.nic.pci]
    bench.given = [bench.nic, *others][:nics]
    found = bench.judged({"h100-1gpu-1nic": log(f"rc_mlx5/{bench.hca.name}:1", 0.025)}, repetitions=1)
    assert [run["given"] for run in found["runs"]] == [nics]
    (line,) = found["summary"]
    assert (line["verdict"], line["text"].partition("carry")[2]) == ("pass", f"{over}, 70% is required")


def test_runs_over_different_numbers_of_nics() -> None:
    runs = _of_requests(*[("pair", 48.0, 50.0)] * 3)
    runs[0].given, runs[1].given, runs[1].devices = 2, 2, ["mlx5_0", "mlx5_1"]
    _found, lines = _shown(*runs)
    assert lines[0].endswith("can carry, over 1 of 2 NICs, 2 of 2 NICs, in the slowest run, 70% is required")


def _of_requests(*measured: tuple[str, float, float | None], kind: str = "rdma") -> list[BenchmarkRun]:
    """Runs of the requests of one template, with their GB/s and what their ports carry, of 1 GiB in one memory."""
    end = BenchmarkEnd("n1", "VRAM", "0000:1a:00.0", True, 0)
    return [
        BenchmarkRun(
            group="h100",
            template="far" if kind == "unaligned" else "pair",
            request=request,
            kind=kind,
            repetition=1,
            operation="WRITE",
            bytes=GIB,
            warmup=1,
            iterations=10,
            avg_gb_s=rate,
            **dict.fromkeys(("avg_seconds", "p50_seconds", "p95_seconds", "p99_seconds"), GIB / rate / 1e9),
            quantiles_seconds=[GIB / rate / 1e9] * 21,
            transport="rc_mlx5/mlx5_0:1",
            devices=["mlx5_0"],
            path=[],
            counted=None,
            limit_gb_s=limit,
            initiator=end,
            target=end,
            given=None,
        )
        for request, rate, limit in measured
    ]


def _shown(*runs: BenchmarkRun) -> tuple[BenchmarkDocument, list[str]]:
    """Their document, and its lines of templates."""
    found = document.document([*runs], document.BenchmarkSettings({}, 0.7, [MODEL]), "1.0.0", None)
    return found, [line for line in document.text(found) if line.startswith("h100 ")]


def test_a_request_at_half_its_rate_is_not_hidden_by_another_of_its_template() -> None:
    """A template has one request for each NUMA node, with NICs of its own."""
    fast, slow = ("pair-numa0", 48.0, 50.0), ("pair-numa1", 23.0, 50.0)
    found, lines = _shown(*_of_requests(fast, slow, fast, slow, fast, slow))
    assert [(line.request, line.runs, line.verdict) for line in found.summary] == [
        ("pair-numa0", 3, "pass"),
        ("pair-numa1", 3, "fail"),
    ]
    assert lines[1].startswith("h100 pair (pair-numa1): WRITE 1 GiB, 23 GB/s (spread 0% of 3 runs")
    assert judge.failure(found, "b.json")[1:] == [
        "h100 pair (pair-numa1): WRITE 1 GiB: 46% of what port and PCIe can carry, in the slowest run, 70% is required"
    ]
    assert {time.request: time.seconds for time in found.kv[0].times} == pytest.approx(
        {"pair-numa0": 4 * GIB / 48e9, "pair-numa1": 4 * GIB / 23e9}
    )


def test_a_run_at_half_its_rate_is_not_hidden_by_the_others() -> None:
    """The pods of each run may have another NIC, whose port may carry less."""
    found, _lines = _shown(*_of_requests(("pair", 48.0, 50.0), ("pair", 48.0, 50.0), ("pair", 24.0, 50.0)))
    assert [(line.verdict, line.fraction) for line in found.summary] == [("fail", 0.48)]
    found, lines = _shown(*_of_requests(("pair", 24.0, 25.0), ("pair", 45.0, 50.0)))
    assert [(line.verdict, line.fraction, line.limit_gb_s) for line in found.summary] == [("pass", 0.9, 25.0)]
    assert lines[0].endswith(": 90% of what port and PCIe can carry, in the slowest run, 70% is required")


def test_runs_that_cannot_be_judged_are_named_and_the_others_judged() -> None:
    unknown = "not judged: what the ports carry is unknown, or they are software devices"
    found, lines = _shown(*_of_requests(("pair", 24.0, None), ("pair", 24.0, 50.0)))
    assert [line.verdict for line in found.summary] == ["fail"]
    assert lines[0].endswith(f": 48% of what port and PCIe can carry, 70% is required; 1 of 2 runs {unknown}")
    found, lines = _shown(*_of_requests(("pair", 24.0, None)))
    assert [(line.verdict, line.fraction) for line in found.summary] == [("impossible", None)]
    assert lines[0].endswith(f": {unknown}")


def test_the_requests_of_the_unaligned_template_are_one_to_compare_with() -> None:
    far = _of_requests(("far-a", 10.0, 50.0), ("far-a", 10.0, 50.0), ("far-b", 40.0, 50.0), kind="unaligned")
    found, _lines = _shown(*far, *_of_requests(("pair", 40.0, 50.0)))
    assert [(line.name, line.ratio) for line in found.summary] == [
        ("far (far-a)", None),
        ("far (far-b)", None),
        ("pair", pytest.approx(2)),
    ]


def test_a_slow_port_fails(bench: Bench) -> None:
    found = bench.judged({"h100-1gpu-1nic": log(f"rc_mlx5/{bench.hca.name}:1", 0.5)}, repetitions=1)
    assert [line["verdict"] for line in found["summary"]] == ["fail"]


def test_what_the_command_line_sets_is_a_text(bench: Bench) -> None:
    """As with -e rdma_benchmark_repetitions=2 and the others, which preflight accepts."""
    assert bench.pairs(repetitions="2", floor="false") == bench.pairs(repetitions=2, floor=False)
    bench.fraction = "0.7"
    found = bench.judged({"h100-1gpu-1nic": log(f"rc_mlx5/{bench.hca.name}:1", 0.5)}, repetitions=1)
    assert [line["verdict"] for line in found["summary"]] == ["fail"]


def test_tcp_let_in_is_an_error_and_no_figure(bench: Bench) -> None:
    split = f"50% on rc_mlx5/{bench.hca.name}:1 and 50% on tcp/eth0"
    found = bench.judged({"h100-1gpu-1nic": log(split, 0.025)}, repetitions=1)
    assert (found["runs"], found["summary"]) == ([], [])
    assert f"TCP was allowed: its data went over {split}" in found["errors"][0]["text"]


def test_a_nic_of_another_pod_is_an_error(bench: Bench) -> None:
    found = bench.judged({"h100-1gpu-1nic": log("rc_mlx5/mlx5_77:1", 0.025)}, repetitions=1)
    assert f"but the pod was given {bench.hca.name}" in found["errors"][0]["text"]


@pytest.mark.parametrize(
    ("output", "changed", "why"),
    [
        ("", {}, "on n2: its log has no result"),
        ("", {"trouble": "ImagePullBackOff"}, "on n1: ImagePullBackOff"),
        ('ERROR {"reason": "a"}', {"output": 'ERROR {"reason": "b"}'}, "on n1: b"),
        ('ERROR {"reason": "a"}', {"output": 'ERROR {"reason": "the other end failed: a"}'}, "on n2: a"),
        ("", {"output": "rdma-env: not started: locked memory is limited"}, "on n1: locked memory is limited"),
    ],
)
def test_why_there_is_nothing(bench: Bench, output: str, changed: Any, why: str) -> None:
    found = bench.judged({"h100-1gpu-1nic": output}, changed, repetitions=1)
    assert [error["text"] for error in found["errors"]] == [why]


def test_a_pair_that_failed_takes_no_figures_of_others_away(bench: Bench) -> None:
    bench.failed = ["https://localhost: connection refused"]
    found = bench.judged({"h100-1gpu-1nic": log(f"rc_mlx5/{bench.hca.name}:1", 0.025)}, repetitions=3)
    assert [run["repetition"] for run in found["runs"]] == [2, 3]
    assert [(error["repetition"], error["text"]) for error in found["errors"]] == [
        (1, "https://localhost: connection refused")
    ]


def test_a_result_that_is_missing_is_an_error(bench: Bench) -> None:
    """A log is cut off where it is too long, and its pod has ended well."""
    bench.asked = {"operations": ["WRITE", "READ"], "block_sizes": [str(GIB)]}
    found = bench.judged({"h100-1gpu-1nic": log(f"rc_mlx5/{bench.hca.name}:1", 0.025)}, repetitions=1)
    assert len(found["runs"]) == 1
    assert [error["text"] for error in found["errors"]] == [f"its log has no result for READ of {GIB} bytes"]
    # It is the consequence of another one.
    found = bench.judged({"h100-1gpu-1nic": 'ERROR {"reason": "a"}'}, repetitions=1)
    assert [error["text"] for error in found["errors"]] == ["on n2: a"]


def test_nothing_is_run_of_what_has_the_name_of_the_floor(bench: Bench, facts_of: Callable[..., Any]) -> None:
    named = plan(facts_of, [{**ALIGNED, "name": "tcp"}])
    problem = "tcp is the name of pairs without a NIC, so no template can have it"
    assert planned(named) == {
        "failed": True,
        "msg": f"No pod was created. Fix this first:\n{problem}",
        "problems": [problem],
    }
    assert planned(bench.plan, repetitions=0)["problems"] == ["rdma_benchmark_repetitions is 0, it must be at least 1"]


def test_the_size_of_a_kv_cache() -> None:
    # 2 * 32 layers * 32768 tokens * 8 heads * 128 * 2 bytes are 4 GiB, as in the sources.
    assert summary.size(32, 32768, 8, 128, "bfloat16") == 4 * GIB


def test_the_time_for_a_kv_cache(bench: Bench) -> None:
    found = bench.judged({"h100-1gpu-1nic": log(f"rc_mlx5/{bench.hca.name}:1", 0.025)}, repetitions=1)
    (line,) = found["kv"]
    assert [(one["template"], one["seconds"]) for one in line["times"]] == [("h100-1gpu-1nic", pytest.approx(0.1))]
