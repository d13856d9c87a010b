# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whatever a node's files say, gathering ends with facts of the documented shape (hypothesis mutates whole trees).

``RDMA_MUTATIONS=5000 pytest tests/unit/fleet/test_properties.py`` looks longer, and elsewhere at every run.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import typing
from pathlib import Path
from typing import Any, Callable

import pytest
from damage import ERRORS, GARBAGE, KINDS, LOSSES, NUMBERS, Change, Node
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather as discover_gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import model, read

# Between them: bond, IPoIB, VFs, VLAN, bridge, several ports on a function, software devices, IOMMU, built-in modules.
HOSTS = ("a100-01", "case-in-pod", "case-vf", "case-two-ports", "case-default-route", "case-soft-roce")
EXCLUDING = ("a100-01", "case-in-pod", "case-default-route")
EXAMPLES = int(os.environ.get("RDMA_MUTATIONS", "0"))

SHAPE = {name: hint for name, hint in typing.get_type_hints(model.Facts).items() if name != "sent"}


@pytest.fixture(scope="session")
def nodes(root_of: Callable[[str], Path]) -> dict[str, Node]:
    return {name: Node(root_of(name), gather) for name in HOSTS}


def gather(root: Path) -> dict[str, Any]:
    return discover_gather.gather(str(root))


@functools.cache
def changes(node: Node, kinds: tuple[str, ...], most: int) -> st.SearchStrategy[list[Change]]:
    def one_of(strata: dict[str, list[str]]) -> st.SearchStrategy[str]:
        return st.sampled_from(sorted(strata)).flatmap(lambda kind: st.sampled_from(strata[kind]))

    return st.lists(
        st.builds(
            Change,
            kind=st.sampled_from(kinds),
            path=st.one_of(*[one_of(node.read)] * 4, one_of(node.other)),
            content=st.sampled_from(GARBAGE) | st.binary(max_size=40) | st.text(max_size=20).map(str.encode),
            number=st.sampled_from(NUMBERS),
            error=st.sampled_from(ERRORS),
            other=st.sampled_from(node.paths),
        ),
        min_size=1,
        max_size=most,
    )


def misfits(value: Any, hint: Any, at: str) -> list[str]:
    """Where ``value`` is not what the type of the contract says."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        if not isinstance(value, dict) or set(value) != set(hints):
            return [f"{at}: not the keys of {hint}"]
        return [text for key in hints for text in misfits(value[key], hints[key], f"{at}.{key}")]
    if origin is list:
        if not isinstance(value, list):
            return [f"{at}: {value!r} is not a list"]
        return [text for index, item in enumerate(value) for text in misfits(item, inner[0], f"{at}[{index}]")]
    if origin is dict:
        if not isinstance(value, dict) or not all(isinstance(key, (str, int)) for key in value):
            return [f"{at}: {value!r} is not a map"]
        return [text for key, item in value.items() for text in misfits(item, inner[1], f"{at}.{key}")]
    if origin is typing.Union:
        if any(not misfits(value, option, at) for option in inner):
            return []
        return [f"{at}: {value!r} is not {hint}"]
    fits = isinstance(value, (int, float) if hint is float else hint) and (hint is bool or not isinstance(value, bool))
    return [] if fits else [f"{at}: {value!r} is not {hint}"]


def assert_sound(facts: dict[str, Any]) -> None:
    assert set(facts) == set(SHAPE)
    assert [text for key, hint in SHAPE.items() for text in misfits(facts[key], hint, key)] == []
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert dataclasses.asdict(read.facts(facts)) == {**facts, "sent": read.SUBSETS}
    listed = [(entry["hca"], entry["port"]) for entry in [*facts["usable"], *facts["excluded"]]]
    assert sorted(listed) == sorted((hca["name"], port["number"]) for hca in facts["hcas"] for port in hca["ports"])
    assert all(entry["reasons"] for entry in facts["excluded"])
    names = {hca["name"] for hca in facts["hcas"]}
    for entry, gpu in zip(facts["affinity"], facts["gpus"], strict=True):
        assert entry["gpu"] == gpu["index"]
        assert set(entry["nearest"]) <= set(entry["paths"]) <= names
        assert set(entry["paths"].values()) <= {"PIX", "PXB", "PHB", "NODE", "SYS"}


def usable(facts: dict[str, Any]) -> set[tuple[str, int]]:
    return {(entry["hca"], entry["port"]) for entry in facts["usable"]}


def bounded(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As many examples as a gate has time for. Shrinking would take minutes, and a few changes read well enough."""
    return settings(
        max_examples=EXAMPLES or examples,
        derandomize=not EXAMPLES,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@bounded(100)
@given(data=st.data())
def test_no_content_makes_gathering_fail(nodes: dict[str, Node], data: st.DataObject) -> None:
    node = nodes[data.draw(st.sampled_from(HOSTS))]
    with node.damaged(data.draw(changes(node, KINDS, 4))):
        facts = gather(node.root)
    assert_sound(facts)


@bounded(30)
@given(data=st.data())
def test_losing_one_thing_never_makes_a_port_fit(nodes: dict[str, Node], data: st.DataObject) -> None:
    node = nodes[data.draw(st.sampled_from(EXCLUDING))]
    with node.damaged(data.draw(changes(node, LOSSES, 1))):
        damaged = usable(gather(node.root))
    assert damaged <= usable(gather(node.root))


def write(node: Node, pattern: str, content: str) -> list[Change]:
    found = [path for path in node.paths if re.search(pattern, path)]
    assert found, pattern
    return [Change("write", path, content.encode() + b"\n") for path in found]


def test_gid_of_a_netdev_that_is_not_there(nodes: dict[str, Node]) -> None:
    node = nodes["case-vf"]
    with node.damaged(write(node, r"mlx5_0/ports/1/gid_attrs/ndevs/\d+$", "gone0")):
        facts = gather(node.root)
    assert_sound(facts)
    assert usable(facts) == set()
    assert usable(gather(node.root)) == {("mlx5_0", 1)}, "the damage was not put right"


def test_two_hcas_that_claim_one_netdev(nodes: dict[str, Node]) -> None:
    node = nodes["case-vf"]
    with node.damaged(write(node, r"mlx5_[01]/ports/1/gid_attrs/ndevs/\d+$", "ens3np0")):
        facts = gather(node.root)
    assert_sound(facts)
    claimed = [warning["subject"] for warning in facts["warnings"] if warning["code"] == "netdev_claimed_twice"]
    assert claimed == ["ens3np0"]


def test_bridges_and_vlans_in_a_circle(nodes: dict[str, Node]) -> None:
    node = nodes["case-default-route"]
    lower, upper = "sys/devices/virtual/net/br0/lower_ens1np0.7", "sys/devices/virtual/net/br0"
    with node.damaged([Change("relink", lower, other=upper)]):
        os.symlink("../br0", node.root / upper / "lower_br0")
        try:
            assert_sound(gather(node.root))
        finally:
            (node.root / upper / "lower_br0").unlink()
