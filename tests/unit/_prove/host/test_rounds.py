# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Rounds in which everybody meets whom they should, and nobody two at once."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan as host_rounds

HOSTS = st.lists(st.text("abcdefgh0123456789-", min_size=1), max_size=40, unique=True)


def nobody_twice(rounds: list[list[tuple[str, str]]]) -> bool:
    return all(len({host for pair in one for host in pair}) == 2 * len(one) for one in rounds)


@settings(deadline=None)
@given(HOSTS)
def test_all_pairs_each_once(hosts: list[str]) -> None:
    rounds = host_rounds.rounds(hosts, "all")
    pairs = [frozenset(pair) for one in rounds for pair in one]
    assert sorted(map(sorted, pairs)) == sorted(sorted(pair) for pair in itertools.combinations(hosts, 2))
    assert nobody_twice(rounds)
    if len(hosts) > 1:
        assert len(rounds) == len(hosts) - 1 + len(hosts) % 2, "no round is wasted"


@settings(deadline=None)
@given(HOSTS)
def test_a_ring_has_every_host_and_few_rounds(hosts: list[str]) -> None:
    rounds = host_rounds.rounds(hosts, "ring")
    pairs = [pair for one in rounds for pair in one]
    neighbours = zip(hosts, hosts[1:] + hosts[:1])
    expected = {frozenset(pair) for pair in neighbours if len(set(pair)) == 2}
    assert {frozenset(pair) for pair in pairs} == expected
    assert len(pairs) == len(expected)
    assert nobody_twice(rounds)
    assert len(rounds) <= 2 + len(hosts) % 2


@pytest.mark.parametrize("pairs", ["auto", "all", "ring", "none"])
@pytest.mark.parametrize("hosts", [[], ["alone"]])
def test_who_is_alone_meets_nobody(hosts: list[str], pairs: str) -> None:
    assert host_rounds.rounds(hosts, pairs) == []


def test_auto_is_all_pairs_of_few_and_a_ring_of_many() -> None:
    few = [str(number) for number in range(host_rounds.ALL_UP_TO)]
    assert host_rounds.rounds(few, "auto") == host_rounds.tournament(few)
    assert len(host_rounds.rounds([*few, "one more"], "auto")) == 3
    assert host_rounds.rounds(few, "none") == []
