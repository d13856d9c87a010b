# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Prometheus' text format, for values that nobody should have, and which metrics are whose."""

from __future__ import annotations

import re
from typing import Any, Dict, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import families, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import Configuration, Rail
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.history import History
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.pods import Container, Pod, Pods
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._exporter.readings import hca, known

NO_PODS = Pods({}, {})
FILE = Configuration(directory="/d", rails=(Rail("3", "mlx5_0", 1, ""),), rate_gbps=400.0)
_SAMPLE = re.compile(r'([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (-?[0-9.e+-]+)')
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')


def parsed(written: str) -> Dict[Tuple[Any, ...], float]:
    """By name and labels; every line has to be a sample or a comment, and metrics have to stand together."""
    found: Dict[Tuple[Any, ...], float] = {}
    current, ended = "", set()
    for line in written.split("\n")[:-1]:
        if line.startswith("# "):
            continue
        match = _SAMPLE.fullmatch(line)
        assert match, line
        if match.group(1) != current:
            ended.add(current)
            current = match.group(1)
        assert current not in ended
        labels = tuple(sorted(_LABEL.findall(match.group(2) or "")))
        assert (current, labels) not in found
        found[current, labels] = float(match.group(3))
    return found


def of(config: Configuration, *hcas: Dict[str, Any], pods: Pods = NO_PODS) -> Dict[Tuple[Any, ...], float]:
    found, metrics, history = known(*hcas), text.Metrics(), History()
    found.pods = pods
    text.of_hcas(metrics, config, found, history)
    history.look(found.hcas, set())
    text.of_presence(metrics, config, found, history)
    return parsed(metrics.text())


PORT = (("device", "mlx5_0"), ("port", "1"))


def test_units_and_names_are_those_of_node_exporter() -> None:
    found = of(FILE, hca())
    assert found["rdma_port_data_received_bytes_total", PORT] == 40
    assert found["rdma_port_np_cnp_packets_sent_total", PORT] == 3
    assert found["rdma_port_hw_vendor_counter_total", PORT] == 1
    assert found["rdma_port_rate_bytes_per_second", PORT] == 5e10
    assert found["rdma_port_expected_rate_bytes_per_second", PORT] == 5e10
    assert not [name for name, _labels in found if "lifespan" in name]


def test_node_exporter_s_own_metrics_are_only_of_what_it_does_not_see() -> None:
    """A metric that a textfile and another collector both have is an error for node_exporter."""
    name = "node_infiniband_port_data_received_bytes_total"
    assert (name, PORT) not in of(FILE, hca())
    assert of(FILE, hca(place=4026532352))[name, PORT] == 40
    assert of(Configuration(listen="0.0.0.0:9880"), hca())[name, PORT] == 40


def test_only_node_exporter_s_own_metrics_have_its_texts() -> None:
    found, metrics = known(hca(place=4026532352)), text.Metrics()
    text.of_hcas(metrics, FILE, found, History())
    helped = dict(re.findall(r"(?m)^# HELP (\S+) (.+)$", metrics.text()))
    suffixes = [suffix for suffix, _text in families.COUNTERS.values()] + list(families.GAUGES)
    assert sorted(families.NODE_TEXTS) == sorted(suffixes)
    shared = {name: said for name, said in helped.items() if name.startswith(families.NODE)}
    assert shared == {name: families.NODE_TEXTS[name[len(families.NODE) :]] for name in shared}
    assert "node_infiniband_link_downed_total" in shared
    assert not set(shared.values()) & {said for name, said in helped.items() if name not in shared}


@pytest.mark.parametrize(
    ("reading", "rail"),
    [
        (hca(), "3"),
        (hca("mlx5_1", pci="0000:5e:00.0"), ""),
        (hca("ibp59s0"), "3"),
        (hca("mlx5_7", pci="0000:3b:00.2", pf="0000:3b:00.0"), "3"),
        (hca("mlx5_7", pci="0000:5e:00.2", pf="0000:5e:00.0"), ""),
    ],
)
def test_the_rail_of_a_port_is_that_of_its_function(reading: Dict[str, Any], rail: str) -> None:
    config = FILE._replace(rails=(Rail("3", "mlx5_0", 1, "0000:3b:00.0"),))
    assert text.rail_of(config, reading, "1", held=True) == rail
    assert text.rail_of(config, hca(), "2", held=True) == ""


def rails_of(found: Dict[Tuple[Any, ...], float]) -> Dict[str, str]:
    """By HCA."""
    infos = [dict(labels) for name, labels in found if name == "rdma_port_info"]
    return {info["device"]: info.get("rail", "") for info in infos}


@pytest.mark.parametrize(
    ("place", "privileged", "devices", "rail"),
    [
        (0, False, (), ""),
        (0, True, ("231:193",), ""),
        (0, False, ("231:193",), "3"),
        (4026532352, False, (), "3"),
    ],
)
def test_a_vf_is_in_the_rail_of_its_port_only_while_a_pod_has_it(
    place: int, privileged: bool, devices: Tuple[str, ...], rail: str
) -> None:
    config = FILE._replace(rails=(Rail("3", "mlx5_0", 1, "0000:3b:00.0"),))
    down = {"state_id": 1, "physical_state_id": 3}
    vf = hca("mlx5_7", place, pci="0000:3b:00.2", pf="0000:3b:00.0", uverbs="231:193", port=down)
    pods = Pods({"s": Pod("vllm-0", "llm")}, {"c": Container("main", "s", devices, privileged)})
    found = of(config, hca(), vf, pods=pods)
    assert rails_of(found) == {"mlx5_0": "3", "mlx5_7": rail}
    expected = {dict(labels)["device"] for name, labels in found if name.startswith("rdma_port_expected_rate")}
    assert expected == {"mlx5_0", *(["mlx5_7"] if rail else [])}


def test_a_vf_that_the_plan_names_itself_is_in_its_rail_without_a_pod() -> None:
    config = FILE._replace(rails=(Rail("4", "mlx5_7", 1, "0000:3b:00.2"),))
    vf = hca("mlx5_7", pci="0000:3b:00.2", pf="0000:3b:00.0")
    assert rails_of(of(config, vf)) == {"mlx5_7": "4"}


def test_a_pod_that_holds_a_port() -> None:
    pods = Pods({"s": Pod("vllm-0", "llm")}, {"c": Container("main", "s", ("231:192",))})
    ((_name, labels),) = [key for key in of(FILE, hca(), pods=pods) if key[0] == "rdma_port_pod_info"]
    assert dict(labels) == {
        **dict(PORT),
        "namespace": "llm",
        "pod": "vllm-0",
        "container": "main",
        "claim": "",
        "how": "device",
        "rail": "3",
        "gpu": "",
    }


@pytest.mark.parametrize(
    "value", ['a"b', "a\nb", "a\\", '\\"', "a\n# TYPE x counter\nx 1", "\x1b[2J\0", "\ud800", "x" * 5000, "{,}="]
)
def test_no_value_becomes_another_line_or_label(value: str) -> None:
    pods = Pods({"s": Pod(value, value)}, {"c": Container(value, "s", ("231:192",))})
    found = of(FILE, hca(firmware=value, board=value, port={"netdev": value}), pods=pods)
    assert {name for name, _labels in found} == {
        name
        for name, _labels in of(FILE, hca(), pods=Pods({"s": Pod("", "")}, {"c": Container("", "s", ("231:192",))}))
    }


def test_no_two_files_of_the_kernel_have_one_metric() -> None:
    names = [families.own(suffix) for suffix, _text in families.COUNTERS.values()]
    names += [families.own(suffix) for suffix in families.GAUGES]
    names += [families.hardware(file) or "" for file in families.HARDWARE]
    assert len(set(names)) == len(names)


def test_an_hca_that_the_plan_names_and_nobody_has_seen_is_missing() -> None:
    rails = (*FILE.rails, Rail("4", "", 1, "0000:ff:00.0"), Rail("5", "mlx5_9", 1, ""), Rail("6", "mlx5_9", 2, ""))
    found = of(FILE._replace(rails=rails), hca())
    present = {labels: value for (name, labels), value in found.items() if name == "rdma_device_present"}
    assert present == {
        (("device", "mlx5_0"), ("pci_address", "0000:3b:00.0")): 1,
        (("device", ""), ("pci_address", "0000:ff:00.0")): 0,
        (("device", "mlx5_9"), ("pci_address", "")): 0,
    }


def test_the_names_of_the_node_are_an_info_metric() -> None:
    metrics = text.Metrics()
    text.of_node(metrics, FILE._replace(host="h100-01", group="h100"))
    assert parsed(metrics.text()) == {("rdma_node_info", (("group", "h100"), ("host", "h100-01"))): 1}
