# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What ports of recorded nodes should carry, and what is enough."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import model, read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import threshold as bandwidth_threshold

Facts = Callable[..., dict[str, Any]]


def capacity(facts: dict[str, Any], name: str, sharing: int = 1) -> float | None:
    hca = next(hca for hca in read.facts(facts).hcas if hca.name == name)
    return bandwidth_threshold.capacity(hca, hca.ports[0], sharing)


@pytest.mark.parametrize(
    ("name", "hca", "expected"),
    [
        ("v100-01", "mlx5_0", 100),
        # Half the width that the card could have.
        ("v100-02", "mlx5_1", 52.95),
        ("a100-01", "mlx5_1", 200),
        # A VF tells nothing of its link.
        ("h100-01", "mlx5_0", 400),
        ("lab-01", "mlx5_0", 25),
        ("case-soft-roce", "rxe0", None),
    ],
)
def test_the_lower_of_port_and_pcie_link(facts_of: Facts, name: str, hca: str, expected: float | None) -> None:
    found = capacity(facts_of(name), hca)
    assert found is expected if expected is None else found == pytest.approx(expected, abs=0.01)


def test_ports_that_are_measured_together_share_their_card(facts_of: Facts) -> None:
    assert capacity(facts_of("v100-01"), "mlx5_0", sharing=2) == pytest.approx(52.95, abs=0.01)
    assert bandwidth_threshold.sharing(["0000:3b:00.0", "0000:3b:00.1", "0000:5e:00.0", None, None]) == [2, 2, 1, 1, 1]


@pytest.mark.parametrize(("rate", "lanes", "expected"), [(40, 4, 32), (10, 1, 8), (56, 4, 56), (100, 4, 100)])
def test_old_infiniband_sends_ten_bits_for_eight(rate: float, lanes: int, expected: float) -> None:
    for layer, carried in (("InfiniBand", expected), ("Ethernet", rate)):
        port = model.Port(1, rate_gbps=rate, lanes=lanes, link_layer=layer)
        assert bandwidth_threshold.capacity(model.Hca("mlx4_0"), port) == carried


@pytest.mark.parametrize(
    ("value", "expected", "verdict"),
    [
        (94.71, 100.0, "pass"),
        (183.61, 200.0, "pass"),
        (23.1, 25.0, "pass"),
        (23.1, 100.0, "fail"),
        (89.99, 100.0, "fail"),
    ],
)
def test_published_figures_pass_and_lower_ones_do_not(value: float, expected: float, verdict: str) -> None:
    threshold, found, text = bandwidth_threshold.bandwidth(value, expected, 0.9, None)
    assert (threshold, found) == (0.9 * expected, verdict)
    assert f"{value:g} of {expected:g} Gb/s" in text


def test_what_has_no_rate_is_not_judged_unless_something_is_demanded() -> None:
    assert bandwidth_threshold.bandwidth(0.9, None, 0.9, None)[:2] == (None, "impossible")
    assert bandwidth_threshold.bandwidth(0.9, None, 0.9, 0.5) == (0.5, "pass", "0.9 Gb/s")
    assert bandwidth_threshold.bandwidth(0.4, None, 0.9, 0.5)[1] == "fail"
    assert bandwidth_threshold.bandwidth(85.0, 100.0, 0.9, 80.0)[:2] == (80.0, "pass")


def test_latency() -> None:
    assert bandwidth_threshold.latency(1.9, False, 10.0) == (10.0, "pass", "1.9 us")
    assert bandwidth_threshold.latency(12.0, False, 10.0)[1] == "fail"
    assert bandwidth_threshold.latency(12.0, False, 0.0)[:2] == (None, "impossible")
    assert bandwidth_threshold.latency(900.0, True, 10.0)[:2] == (None, "impossible")


def test_a_measurement_takes_as_long_as_wanted_and_keeps_its_peak() -> None:
    size = 8 * 2**20
    assert bandwidth_threshold.iterations(100.0, size, 3) == pytest.approx(3 * 100e9 / 8 / size, abs=1)
    assert bandwidth_threshold.iterations(800.0, 65536, 10) == 20000
    assert bandwidth_threshold.iterations(None, size, 3) == 20
