# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Allocation of one claim, against trying everything."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import allocate
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler.allocate import (
    Alternative,
    DeviceConstraint,
    DeviceRequest,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice

ROOT = "resource.kubernetes.io/pcieRoot"


def device(number: int, **attributes: Any) -> SliceDevice:
    return SliceDevice("d", "p", str(number), attributes={f"a/{name}": value for name, value in attributes.items()})


def request(name: str, matching: Any, count: int | None = 1) -> DeviceRequest:
    return DeviceRequest(name, (Alternative(frozenset(matching), count),))


def satisfied(devices: list[SliceDevice], constraints: list[DeviceConstraint], found: dict[str, list[int]]) -> bool:
    for constraint in constraints:
        values = [
            devices[one].attributes.get(constraint.attribute) for name in constraint.requests for one in found[name]
        ]
        if None in values or len(set(values)) > 1:
            return False
    return True


def brute_force(devices: list[SliceDevice], requests: list[DeviceRequest], constraints: list[DeviceConstraint]) -> bool:
    """Whether any choice of alternatives and any assignment satisfies the claim."""
    for chosen in itertools.product(*(one.alternatives for one in requests)):
        options = []
        for alternative in chosen:
            size = len(alternative.matching) if alternative.count is None else alternative.count
            options.append(list(itertools.combinations(sorted(alternative.matching), size)) if size else [])
        for picked in itertools.product(*options):
            every = [one for part in picked for one in part]
            found = {one.name: list(part) for one, part in zip(requests, picked)}
            if len(set(every)) == len(every) <= allocate.MOST_RESULTS and satisfied(devices, constraints, found):
                return True
    return False


@st.composite
def claims(draw: Any) -> tuple[list[SliceDevice], list[DeviceRequest], list[DeviceConstraint]]:
    value = st.sampled_from([None, "x", "y", 1])
    devices = []
    for number in range(draw(st.integers(1, 5))):
        given_values = {name: draw(value) for name in ("r", "n")}
        devices.append(device(number, **{name: one for name, one in given_values.items() if one is not None}))
    places = st.frozensets(st.integers(0, len(devices) - 1))
    alternative = st.builds(Alternative, places, st.one_of(st.none(), st.integers(1, 3)))
    names = [f"q{number}" for number in range(draw(st.integers(1, 3)))]
    requests = [DeviceRequest(name, tuple(draw(st.lists(alternative, min_size=1, max_size=2)))) for name in names]
    constraint = st.builds(
        DeviceConstraint, st.frozensets(st.sampled_from(names), min_size=1), st.sampled_from(["a/r", "a/n"])
    )
    return devices, requests, draw(st.lists(constraint, max_size=2))


@settings(max_examples=400, deadline=None)
@given(claims())
def test_it_finds_something_exactly_when_there_is_something(claim: Any) -> None:
    devices, requests, constraints = claim
    found = allocate.allocate(devices, requests, constraints)
    assert (found is not None) == brute_force(devices, requests, constraints)
    if found is not None:
        every = [one for part in found.values() for one in part]
        assert len(set(every)) == len(every)
        assert satisfied(devices, constraints, found)
        for one in requests:
            own = frozenset(found[one.name])
            assert any(
                own == part.matching if part.count is None else len(own) == part.count and own <= part.matching
                for part in one.alternatives
            )


def test_all_takes_everything_or_nothing() -> None:
    devices = [device(0, r="x"), device(1, r="x"), device(2)]
    assert allocate.allocate(devices, [request("q", [0, 1], None)], []) == {"q": [0, 1]}
    assert allocate.allocate(devices, [request("q", [], None)], []) is None
    assert allocate.allocate(devices, [request("one", [0]), request("q", [0, 1], None)], []) is None
    together = [DeviceConstraint(frozenset(["q"]), "a/r")]
    assert allocate.allocate(devices, [request("q", [0, 1], None)], together) is not None
    assert allocate.allocate(devices, [request("q", [0, 2], None)], together) is None


def test_no_more_than_the_api_can_tell() -> None:
    devices = [device(number) for number in range(40)]
    assert allocate.allocate(devices, [request("q", range(40), 32)], []) is not None
    assert allocate.allocate(devices, [request("q", range(40), 33)], []) is None
    assert allocate.allocate(devices, [request("q", range(40), None)], []) is None


@pytest.mark.parametrize("roots", [8, 7])
def test_the_largest_aligned_claim_is_decided_at_once(roots: int) -> None:
    """8 pairs on 8 root complexes fit; on 7 trying device by device would take 8! ways and more."""
    devices = [device(number, r=f"root{number % 8 % roots}") for number in range(16)]
    requests, constraints = [], []
    for number in range(8):
        requests += [request(f"gpu-{number}", range(8)), request(f"nic-{number}", range(8, 8 + roots))]
        constraints.append(DeviceConstraint(frozenset([f"gpu-{number}", f"nic-{number}"]), "a/r"))
    assert (allocate.allocate(devices, requests, constraints) is not None) == (roots == 8)


def test_too_many_ways_are_said_to_be_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocate, "_MOST_STEPS", 50)
    devices = [device(number, r=number) for number in range(12)]
    requests = [request(f"q{number}", range(12)) for number in range(7)]
    constraints = [DeviceConstraint(frozenset(["q5", "q6"]), "a/r")]
    with pytest.raises(allocate.TooManyStepsError):
        allocate.allocate(devices, requests, constraints)
