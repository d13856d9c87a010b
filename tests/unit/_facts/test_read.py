# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The typed model from what a node sent, and what is refused."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from pathlib import Path
from typing import Any, Callable, get_type_hints

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read

Facts = Callable[..., dict[str, Any]]
NODES = sorted(path.stem for path in (Path(__file__).resolve().parents[2] / "fleet" / "nodes").glob("*.yml"))


@dataclasses.dataclass
class End:
    port: int


@dataclasses.dataclass
class Cable:
    end: End


def written(facts: dict[str, Any]) -> dict[str, Any]:
    found = dataclasses.asdict(read.facts(facts))
    sent = found.pop("sent")
    return {key: value for key, value in found.items() if key in sent or key not in read.SUBSETS}


@pytest.mark.parametrize("node", NODES)
def test_what_discover_writes_is_read_without_loss(facts_of: Facts, node: str) -> None:
    assert written(json.loads(json.dumps(facts_of(node)))) == facts_of(node)


def test_a_part_that_was_not_asked_for_is_empty(facts_of: Facts) -> None:
    facts = facts_of("h100-01", subsets=["hcas"])
    found = read.facts(facts)
    assert (found.sent, found.gpus, found.system.netns_mode) == (("hcas",), [], None)
    assert written(facts) == facts


def test_facts_of_another_version(facts_of: Facts) -> None:
    """A newer one has more keys, and an older one lacks those that have a default."""
    facts = copy.deepcopy(facts_of("a100-01"))
    facts["hcas"][0]["colour"] = facts["of_tomorrow"] = {"any": ["thing"]}
    del facts["sources"], facts["hcas"][0]["sriov"], facts["hcas"][0]["ports"][0]["lanes"]
    for entry in facts["excluded"]:
        for reason in entry["reasons"]:
            del reason["fields"]
    found = read.facts(facts)
    assert (found.hcas[0].sriov.role, found.hcas[0].ports[0].lanes) == ("none", None)
    assert not hasattr(found, "of_tomorrow")


def test_sriov_without_keys_has_no_role(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("a100-01"))
    facts["hcas"][0]["sriov"] = {}
    assert read.facts(facts).hcas[0].sriov.role == "none"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("gpus", 0, "model"), 5, "gpus[0].model is 5, it must be a string"),
        (("hcas", 0, "pci", "address"), "mlx5", "hcas[0].pci.address is 'mlx5', it must be a PCI address such as"),
        (("hcas", 0, "pci", "address"), "0000:1a:00.0\n", "it must be a PCI address"),
        (("hcas", 0, "ports"), {}, "hcas[0].ports is {}, it must be a list"),
        (("hcas", 0, "ports", 0, "number"), "1", "hcas[0].ports[0].number is '1', it must be an integer"),
        (("hcas", 0, "ports", 0, "number"), True, "number is True, it must be an integer"),
        (("hcas", 0, "ports", 0, "rate_gbps"), float("nan"), "rate_gbps is nan, it must be a number"),
        (("hcas", 0, "ports", 0, "number"), -1, "number is -1, it must be an integer from 0"),
        (("hcas", 0, "ports", 0, "pkeys"), ["all"], "pkeys[0] is 'all', it must be a P_Key such as 0xffff"),
        (("hcas", 0, "ports", 0, "netdev", "addresses"), ["10.0.0.300/24"], "addresses[0] is '10.0.0.300/24', it must"),
        (("hcas", 0, "sriov", "num_vfs"), 10**9, "hcas[0].sriov.num_vfs is 1000000000, it must be an integer from"),
        (("hcas", 0, "sriov", "total_vfs"), -1, "total_vfs is -1, it must be an integer from 0 to 65535"),
        (("hcas", 0, "sriov"), None, "hcas[0].sriov is None, it must be a map"),
        (("hcas", 0, "name"), "x" * 20000, "hcas[0].name has 20000 characters, at most 16384 are"),
        (("usable",), [{"hca": "mlx5_0"}], "usable[0].port is missing, it must be an integer"),
        (("warnings",), [{}] * 5000, "warnings has 5000 entries, at most 4096 are allowed"),
        (("affinity", 0, "paths", "mlx5_0"), 1, "affinity[0].paths.mlx5_0 is 1, it must be a string"),
        (("affinity", 0, "paths", "mlx5_0"), "FAR", "it must be one of PIX, PXB, PHB, NODE, SYS"),
        (
            ("system", "kernel_parameters"),
            ["iommu=pt", "iommu=pt;$(reboot)"],
            "system.kernel_parameters[1] is 'iommu=pt;$(reboot)', it must be a kernel parameter such as iommu=pt",
        ),
        (("system", "acs"), {"0000:00:00.0": "on"}, "system.acs.0000:00:00.0 is 'on', it must be true or false"),
        (
            ("warnings",),
            [{"code": "", "subject": "", "text": "x" * 9999}] * 100,
            "characters of text, at most 524288 are allowed",
        ),
        (("signature",), None, "signature is None, it must be a string"),
    ],
)
def test_malformed_facts_are_refused(facts_of: Facts, place: tuple[Any, ...], value: Any, message: str) -> None:
    facts = copy.deepcopy(facts_of("a100-01"))
    inner: Any = facts
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(read.FactsError) as error:
        read.facts(facts)
    assert message in str(error.value)
    assert len(str(error.value)) < 300


def test_any_damage_is_read_or_refused(facts_of: Facts) -> None:
    """No value anywhere makes another exception than the one with a place."""
    chance = random.Random(1)  # a seed, not a secret
    places = []
    for _turn in range(400):
        facts = copy.deepcopy(facts_of(chance.choice(("a100-01", "case-vf", "case-soft-roce"))))
        inner: Any = facts
        while True:
            key = chance.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
            if isinstance(inner[key], (dict, list)) and inner[key] and chance.random() < 0.8:
                inner = inner[key]
                continue
            inner[key] = chance.choice([None, 5, -1, "", "x", {}, [], [[]], {"x": 1}, 1e400, 1 << 70, True, b"x"])
            break
        try:
            read.facts(facts)
        except read.FactsError as error:
            places.append(error.place)
    assert len(places) > 100
    assert all(places)


def test_the_hints_of_a_class_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def resolved(kind: Any) -> Any:
        asked.append(kind)
        return get_type_hints(kind)

    monkeypatch.setattr(read, "get_type_hints", resolved)
    found = [read.typed(Cable, {"end": {"port": port}}) for port in range(3)]
    assert [cable.end.port for cable in found] == [0, 1, 2]
    assert asked == [Cable, End]
