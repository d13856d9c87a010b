# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Partitions of InfiniBand ports, on a synthesised node whose tables are changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import judge
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import Facts, node

ADD = "Add the port's GUID to the partition as a full member in the subnet manager"


def with_table(facts: dict[str, Any], *table: str) -> dict[str, Any]:
    """The first port of the node has this table, the others both of the partitions that are asked for here."""
    found = copy.deepcopy(facts)
    for hca in found["hcas"]:
        for port in hca["ports"]:
            port["pkeys"] = ["0xffff", "0x8001", "0x8002"]
    found["hcas"][0]["ports"][0]["pkeys"] = list(table)
    return found


def of(facts: dict[str, Any], **values: Any) -> list[tuple[str, str, str]]:
    found = judge.of_looks([node(facts, "h100-01", "h100", **values)])
    return [(check.verdict, check.subject, check.text) for check in found if check.id == "host.pkey"]


def test_nobody_asks_by_default(facts_of: Facts) -> None:
    assert of(facts_of("h100-01")) == []


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (["0xffff", "0x8001"], []),
        (
            ["0x7fff", "0x0001"],
            [
                (
                    "warn",
                    "mlx5_0/1",
                    "mlx5_0/1 is only a limited member of partition 0x8001 (0x0001): it reaches full members only, not "
                    "other limited ones",
                )
            ],
        ),
        # A port may be both (InfiniBand Architecture Specification, section 10.9.1.1).
        (["0x0001", "0x8001"], []),
        (
            ["0xffff", "0x8002"],
            [("fail", "mlx5_0/1", "mlx5_0/1 is not a member of partition 0x8001: it has 0xffff, 0x8002")],
        ),
        ([], [("impossible", "mlx5_0/1", "the P_Keys of mlx5_0/1 are not known")]),
    ],
)
@pytest.mark.parametrize("asked", ["0x8001", "0x1", "0X0001"])
def test_a_port_and_its_partition(facts_of: Facts, asked: str, table: list[str], expected: list[Any]) -> None:
    found = of(with_table(facts_of("h100-01"), *table), rdma_verify_pkey=asked)
    assert found[:-1] == expected
    first = "" if expected else "mlx5_0/1, "
    assert found[-1][:2] == ("pass", "")
    assert found[-1][2].startswith(f"full members of partition 0x8001: {first}mlx5_1/1, ")


def test_the_default_partition(facts_of: Facts) -> None:
    assert [verdict for verdict, *_rest in of(facts_of("h100-01"), rdma_verify_pkey="0xffff")] == ["pass"]
    assert of(with_table(facts_of("h100-01"), "0x7fff"), rdma_verify_pkey="0xffff")[0][0] == "warn"


def test_partitions_of_ipoib_are_asked_for_too(facts_of: Facts) -> None:
    facts = with_table(facts_of("h100-01"), "0x8001", "0x0002")
    found = of(facts, rdma_links_pkeys=["0x0001", "0x8002"], rdma_links_rails=8)
    assert [(verdict, subject) for verdict, subject, _text in found] == [("warn", "mlx5_0/1"), ("pass", "")]
    # The tenant's own takes precedence.
    assert [verdict for verdict, *_rest in of(facts, rdma_links_pkeys=["0x8002"], rdma_verify_pkey="0x1")] == ["pass"]


def test_what_preflight_refuses_is_not_judged(facts_of: Facts) -> None:
    assert of(facts_of("h100-01"), rdma_verify_pkey="8001") == []


def test_roce_has_no_partitions(facts_of: Facts) -> None:
    assert of(facts_of("lab-01"), rdma_verify_pkey="0x8001") == []


def test_what_to_do(facts_of: Facts) -> None:
    found = judge.of_looks([node(with_table(facts_of("h100-01"), "0xffff"), "h100-01", rdma_verify_pkey="0x8001")])
    (failed,) = [check for check in found if check.id == "host.pkey" and check.verdict == "fail"]
    assert failed.remedy.startswith(ADD)
    assert failed.evidence == {"pkey": "0x8001", "pkeys": ["0xffff"]}
