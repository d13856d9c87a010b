# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How the lab compares what exporters say of the benchmark's pods with what the benchmark says (synthesised pages)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
LAB = CHECKOUT / "tests/lab"
sys.path.insert(0, str(LAB))

import counted_benchmark  # the lab is a tool, not a package

BLOCK, BLOCKS, DEVICES = 1 << 18, 201, ["rxe5", "rxe6"]
SAID = BLOCK * BLOCKS
EACH = SAID // len(DEVICES)
PACKET = 4096
# Those of a packet over IPv4.
HEADERS = 60
# Soft-RoCE counts them as well.
HANDSHAKE = 20 * PACKET
RUN = {
    "operation": "WRITE",
    "bytes": BLOCK,
    "warmup": 1,
    "iterations": BLOCKS - 1,
    "devices": DEVICES,
    "initiator": {"node": "node2"},
    "target": {"node": "node1"},
}
PODS = {"node1": "target", "node2": "initiator"}


def counted(data: int) -> int:
    """Bytes of as much data, with headers."""
    return data + data // PACKET * HEADERS


def page(
    pod: str = "", sent: int = 0, received: int = 0, repeats: int = 0, how: str = "netns", claim: str = "nics"
) -> str:
    """As an exporter writes it, of both NICs, each of which has these bytes of data."""
    lines = ["# HELP rdma_port_info Ports of HCAs.", "# TYPE rdma_port_info gauge"]
    for number, device in enumerate(DEVICES):
        port = f'device="{device}",port="1"'
        counters = {
            "data_transmitted_bytes": counted(sent),
            "data_received_bytes": counted(received),
            "hw_sent_pkts": sent // PACKET,
            "hw_rcvd_pkts": received // PACKET,
            "hw_completer_retry_err": repeats,
        }
        lines += [f"rdma_port_{name}_total{{{port}}} {value}" for name, value in counters.items()]
        said = f'container="main",claim="{claim}",how="{how}",rail="rail{number}",gpu=""'
        if pod:
            lines.append(f'rdma_port_pod_info{{{port},namespace="default",pod="{pod}",{said}}} 1')
    return "\n".join([*lines, "rdma_exporter_looks_total 12"]) + "\n"


def pages(
    initiator: Optional[str] = None, target: Optional[str] = None, before: str = page(), after: str = page()
) -> dict[str, dict[str, str]]:
    held = {
        "node1": target or page("target", received=EACH + HANDSHAKE),
        "node2": initiator or page("initiator", sent=EACH + HANDSHAKE),
    }
    return {"before": dict.fromkeys(PODS, before), "held": held, "after": dict.fromkeys(PODS, after)}


def wrong(found: dict[str, dict[str, str]]) -> list[str]:
    return [text for each in counted_benchmark.compared([RUN], PODS, found) for text in each.wrong(DEVICES)]


def test_what_agrees() -> None:
    found = counted_benchmark.compared([RUN], PODS, pages())
    assert [(each.pod, each.said, each.again) for each in found] == [("initiator", SAID, 0), ("target", SAID, 0)]
    assert [each.counted for each in found] == [dict.fromkeys(DEVICES, counted(EACH + HANDSHAKE))] * 2
    assert wrong(pages()) == []


def test_counters_from_before_the_pods() -> None:
    """An HCA takes them along; Soft-RoCE, which is made again in the pod, begins at 0."""
    moved = pages(page("initiator", sent=7 + EACH), page("target", received=7 + EACH), before=page(sent=7, received=7))
    found = counted_benchmark.compared([RUN], PODS, moved)
    assert {sum(each.counted.values()) for each in found} == {len(DEVICES) * counted(EACH)}
    again = pages(before=page(sent=10 * EACH, received=10 * EACH))
    assert wrong(again) == []


# The least and the most data of each NIC that is right, where headers have an unknown size.
LEAST = int(EACH - EACH // PACKET * (HEADERS - counted_benchmark.LEAST))
MOST = int(EACH * (1 + counted_benchmark.SHARE) * PACKET / (PACKET + HEADERS - counted_benchmark.HEADERS))


@pytest.mark.parametrize(
    ("sent", "repeats", "agrees"),
    [
        pytest.param(LEAST - 2 * PACKET, 0, False, id="less than was transferred"),
        pytest.param(LEAST + 2 * PACKET, 0, True, id="less, if all headers were short"),
        pytest.param(EACH, 0, True, id="all"),
        pytest.param(MOST - PACKET, 0, True, id="two percent, and headers"),
        pytest.param(MOST + PACKET, 0, False, id="more than two percent"),
        pytest.param(MOST + PACKET, 1, True, id="sent again"),
        pytest.param(MOST + PACKET + 3 * BLOCK, 1, False, id="more than was sent again"),
    ],
)
def test_how_much(sent: int, repeats: int, agrees: bool) -> None:
    text = f"initiator has transferred {SAID} bytes, but {dict.fromkeys(DEVICES, counted(sent))} were counted"
    found = wrong(pages(page("initiator", sent=sent, repeats=repeats)))
    assert [line[: len(text)] for line in found] == ([] if agrees else [text])


@pytest.mark.parametrize(
    ("held", "said"),
    [
        pytest.param(page("other", sent=EACH), "initiator has ", id="another pod's name"),
        pytest.param(page("initiator", sent=EACH, claim=""), "by its claim", id="no claim"),
        pytest.param(page("initiator", sent=EACH, how="privileged"), "by its claim", id="not in its namespace"),
    ],
)
def test_under_whose_name(held: str, said: str) -> None:
    found = wrong(pages(held))
    assert found
    assert all(said in line for line in found)


def test_what_is_left() -> None:
    found = wrong(pages(after=page("target")))
    assert len(found) == len(DEVICES)
    assert all(line.startswith("target has ended, and is still told of: rdma_port_pod_info{") for line in found)


def asked(**changed: Any) -> subprocess.CompletedProcess[str]:
    question = json.dumps({"runs": [{**RUN, **changed}], "pods": PODS, "pages": pages()})
    command = [sys.executable, str(LAB / "counted_benchmark.py")]
    return subprocess.run(command, input=question, capture_output=True, text=True, check=False)


def test_the_program() -> None:
    answer = json.loads(asked().stdout)
    assert answer["wrong"] == []
    assert [pod["counted"] for pod in answer["pods"]] == [dict.fromkeys(DEVICES, counted(EACH + HANDSHAKE))] * 2
    assert "all of them WRITE" in asked(operation="READ").stderr


def test_the_script_of_the_role_can_be_held() -> None:
    """As extensions/molecule/cluster/vars/benchmark.yml does it."""
    role = yaml.safe_load((CHECKOUT / "roles/rdma_benchmark/vars/main.yml").read_text("utf-8"))
    script = role["__rdma_benchmark_script"]
    assert script.count("exec ") == script.count("exec /bin/sh ") == 1
