# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""KV transfers in the log of vLLM. The lines are written as vLLM 0.11 to 0.25 writes them, with figures made up."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import transfers
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part

PREFIX = "(APIServer pid=1) INFO 11-22 10:00:00 "
STATS = PREFIX + (
    "[loggers.py:127] Engine 000: Avg prompt throughput: 2.6 tokens/s, Avg generation throughput: 1.0 tokens/s, "
    "Running: 0 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, Prefix cache hit rate: 12.5%, "
    "External prefix cache hit rate: {}%\n"
)


def line(number: int, milliseconds: float, throughput: float) -> str:
    return PREFIX + (
        f"[metrics.py:101] KV Transfer metrics: Num successful transfers={number}, Avg xfer time (ms)={milliseconds}, "
        f"P90 xfer time (ms)=30.5, Avg post time (ms)=1.2, P90 post time (ms)=2.1, Avg MB per transfer=1.75, "
        f"Throughput (MB/s)={throughput}, Avg number of descriptors=56.0\n"
    )


def test_each_interval_counts_by_its_transfers() -> None:
    log = STATS.format("50.0") + line(3, 10.0, 400.0) + line(1, 30.0, 200.0) + STATS.format("100.0")
    found = transfers.read(log)
    assert found == transfers.Transfers(4, 15.0, 350.0, 100.0)
    assert found.text == "4 KV transfers, 15.0 ms each on average, 350.0 MB/s, external prefix cache hit rate 100 %"


def test_a_log_without_numbers_of_transfers() -> None:
    """As the first of the source documents has it."""
    log = "KV Transfer metrics: Avg xfer time (ms)=18.596, Throughput (MB/s)=94.106\n"
    assert transfers.read(log) == transfers.Transfers(1, 18.596, 94.106, None)


@pytest.mark.parametrize(
    "log",
    [
        "",
        STATS.format("0.0"),
        "KV Transfer metrics: \n",
        # An interval of failures only has no times.
        "KV Transfer metrics: Num successful transfers=0, Avg xfer time (ms)=0, Throughput (MB/s)=0\n",
        "KV Transfer metrics: Avg xfer time (ms)=nan, Throughput (MB/s)=inf\n",
        "KV Transfer metrics: Avg xfer time (ms)=1e9, Throughput (MB/s)=1.2.3\n",
        "KV Transfer metrics: Avg xfer time (ms)=18.5",
    ],
)
def test_what_is_no_transfer(log: str) -> None:
    assert transfers.read(log).number == 0
    check = transfers.check("llm/decode-0", None, None, log)
    assert (check.verdict, check.text) == ("impossible", "llm/decode-0: its log has no KV transfer")
    assert check.remedy


@pytest.mark.parametrize(("rates", "verdict"), [(["0.0"], "warn"), (["50.0", "0.0"], "warn"), (["0.0", "0.1"], "pass")])
def test_caches_that_are_fetched_but_not_used(rates: list[str], verdict: str) -> None:
    check = transfers.check("llm/decode-0", None, None, line(3, 10.0, 400.0) + "".join(map(STATS.format, rates)))
    assert check.verdict == verdict
    assert bool(check.remedy) == (verdict == "warn")


def test_a_hostile_log_costs_no_time() -> None:
    started = time.process_time()
    transfers.read("KV Transfer metrics: " + "A=" * 5_000_000 + "KV Transfer metrics: " * 200_000)
    assert time.process_time() - started < 20


def test_pods_are_those_of_their_nodes() -> None:
    def pod(name: str, node: str | None) -> list[object]:
        return [{}, {"metadata": {"namespace": "llm", "name": name}, "spec": {"nodeName": node} if node else {}}]

    results: list[Mapping[str, Any]] = [
        {"item": pod("decode-0", "h100-01"), "log": line(2, 5.0, 100.0)},
        {"item": pod("decode-1", "elsewhere"), "log": ""},
        {"item": pod("decode-2", "h100-01"), "msg": "Unable to retrieve log from Pod due to: no"},
    ]
    found = part("transfers", {"h100-01": {"group_names": ["h100"], "inventory_hostname": "h100-01"}}, logs=results)
    assert [(one["subject"], one["host"], one["group"], one["verdict"]) for one in found["checks"]] == [
        ("llm/decode-0", "h100-01", "h100", "pass"),
        ("llm/decode-1", None, None, "impossible"),
        ("llm/decode-2", "h100-01", "h100", "impossible"),
    ]
    assert found["checks"][0]["evidence"] == {
        "number": 2,
        "milliseconds": 5.0,
        "throughput": 100.0,
        "hit_rate": None,
    }
    assert "its log cannot be read: Unable to retrieve" in found["checks"][2]["text"]
