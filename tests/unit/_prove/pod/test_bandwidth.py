# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What pods measured, each port with itself and with one of another pod, and what is said of it."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._prove.pods import (
    HOSTS,
    KIND,
    between,
    make_judged,
    make_pods,
    pairs,
)

# Fixtures that are defined elsewhere.
__all__ = ["make_judged", "make_pods"]


def test_a_slow_port(pods: list[dict[str, Any]], judged: Callable[..., Any]) -> None:
    pods[1]["result"]["output"] = pods[1]["result"]["output"].replace("371.5", "97.2")
    assert [one["verdict"] for one in pairs(judged(pods))] == ["fail", "fail"]


def test_the_demands_of_the_node_that_measures(pods: list[dict[str, Any]], judged: Callable[..., Any]) -> None:
    hostvars = {"n1": {"rdma_verify_gbps": 500}, "n2": {"rdma_verify_gbps": 50}}
    pods[1]["result"]["output"] = pods[1]["result"]["output"].replace("371.5", "97.2")
    assert [(one["verdict"], one["threshold"]) for one in pairs(judged(pods, hostvars=hostvars))] == [
        ("pass", 50.0),
        ("pass", 50.0),
    ]
    fraction = pairs(judged(pods, hostvars={"n2": {"rdma_verify_fraction": 0.2}}))
    assert [one["verdict"] for one in fraction] == ["pass", "pass"]


def test_a_measurement_that_was_not_pinned(pods: list[dict[str, Any]], judged: Callable[..., Any]) -> None:
    pods[1]["result"]["output"] = pods[1]["result"]["output"].replace("\n #bytes", "\nnot pinned\n #bytes")
    first = pairs(judged(pods))[0]
    assert first["text"].endswith(f", not pinned to the NUMA node of {first['from']['hca']}")


def test_on_one_numa_node_there_is_nothing_to_pin_to(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any]
) -> None:
    pods[1]["result"]["output"] = pods[1]["result"]["output"].replace("\n #bytes", "\nnot pinned\n #bytes")
    small = copy.deepcopy(facts_of(KIND))
    small["system"]["numa_nodes"] = small["system"]["numa_nodes"][:1]
    assert "not pinned" not in pairs(judged(pods, before={"n1": small, "n2": small}))[0]["text"]


def test_a_measurement_that_lacked_locked_memory(pods: list[dict[str, Any]], judged: Callable[..., Any]) -> None:
    output = pods[1]["result"]["output"]
    pods[1]["result"]["output"] = output.replace(" BW average[Gb/sec]", " Couldn't allocate MR")
    (check, *_more) = [one for one in judged(pods)["checks"] if one["id"] == "pod.bandwidth"]
    assert (check["verdict"], check["mend"]) == ("fail", "runtime")


def _without(pod: dict[str, Any], section: str, text: str = "") -> str:
    """Takes the pod's last section of this kind away, or puts a text into it, and gives the port it was of."""
    before, title, after = pod["result"]["output"].rpartition(f"==> {section} ")
    port, _line, rest = after.partition("\n")
    kept = f"{title}{port}\n{text}\n" if text else ""
    pod["result"]["output"] = f"{before}{kept}==>{rest.partition('==>')[2]}"
    return "/".join(port.split())


_REFUSED = "Couldn't connect to 192.0.2.1:18516\nexit status 1"


def _of_bandwidth(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["host"], one["verdict"], one["text"]) for one in found["checks"] if one["id"] == "pod.bandwidth"]


@pytest.mark.parametrize(("fewer", "more"), [(0, 1), (1, 0)])
def test_a_port_that_met_nobody_is_not_left_out(
    pods: list[dict[str, Any]], judged: Callable[..., Any], fewer: int, more: int
) -> None:
    """Of the server as well as of the client."""
    _without(pods[fewer], "write_bw")
    port = _without(pods[more], "write_bw", _REFUSED)
    found = judged(pods)
    assert between(found) == [("n2", "n1")]
    (check,) = _of_bandwidth(found)
    text = f"{port} had no port to measure against: the pod on {HOSTS[fewer]} used 1 port, this one 2"
    assert check == (HOSTS[more], "fail", f"{text}; its last message was: Couldn't connect to 192.0.2.1:18516")


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (_REFUSED, "impossible"),
        ("* Waiting for client to connect... *", "impossible"),
        ("Couldn't allocate MR", "fail"),
    ],
)
def test_nodes_with_different_numbers_of_active_ports(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any], said: str, verdict: str
) -> None:
    """As where a port has a cable on one of them only."""
    hca = _without(pods[0], "write_bw").partition("/")[0]
    _without(pods[1], "write_bw", said)
    own = copy.deepcopy(facts_of(KIND))
    for port in next(each for each in own["hcas"] if each["name"] == hca)["ports"]:
        port["state"] = "DOWN"
    before = {"n1": own, "n2": facts_of(KIND)}
    assert [check[:2] for check in _of_bandwidth(judged(pods, before=before))] == [("n2", verdict)]
    # Nothing is known of a server whose log was cut off.
    pods[0]["result"]["output"] = pods[0]["result"]["output"].replace("==> end", "")
    assert [check[:2] for check in _of_bandwidth(judged(pods, before=before))] == [("n2", "fail")]
