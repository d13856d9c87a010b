# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What may be in ``rdma_health_*``, and what is said of the rest."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import health_policy, variables

KNOWN = variables.options_of()
NIC = {"nic": "mlx5_3", "reason": "on order"}


def said(**own: Any) -> list[str]:
    """One line for each problem of these variables, named without their prefix."""
    values, problems = variables.converted({f"rdma_health_{name}": value for name, value in own.items()}, KNOWN)
    return [f"{each.variable} {each.text}" for each in [*problems, *health_policy.problems(values)]]


@pytest.mark.parametrize(
    "own",
    [{"budget": value, "keep": 0, "good_seconds": 0, "effect": "None"} for value in (0, 3, "3", "1%", "10%", "100%")],
)
def test_what_may_be(own: dict[str, Any]) -> None:
    assert said(**own) == []
    assert said(exempt=[NIC, {**NIC, "nic": "0000:1a:00.0", "until": "2027-01-31"}]) == []
    assert said(exempt=[{**NIC, "nic": "1A:00.0"}]) == []


@pytest.mark.parametrize(
    ("own", "why"),
    [
        *(
            ({"budget": value}, "it must be a number of NICs, or a percentage")
            for value in ("", "0%", "101%", "-1", "x")
        ),
        ({"budget": 0.1}, "it must be a string or a whole number"),
        ({"effect": "Drain"}, "it must be None or NoSchedule or NoExecute"),
        ({"keep": -1}, "rdma_health_keep is -1, it must be 0 to 1000000"),
        ({"good_looks": 0}, "rdma_health_good_looks is 0, it must be 1 to 1000000"),
        ({"bad_looks": 0}, "rdma_health_bad_looks is 0, it must be 1 to 1000000"),
        ({"good_seconds": -1}, "it must be 0 to 1000000"),
        ({"exempt": [{"nic": "mlx5_3"}]}, "rdma_health_exempt[0] has no reason, which is required"),
        ({"exempt": [{**NIC, "reason": " "}]}, "it must say why the NIC is left alone"),
        ({"exempt": [{**NIC, "nic": ""}]}, "it must be an HCA like mlx5_0, or a PCI address"),
        ({"exempt": [{**NIC, "until": "soon"}]}, "it must be a day like '2027-01-31'"),
        ({"exempt": [{**NIC, "until": "2027-02-30"}]}, "it must be a day like '2027-01-31'"),
        ({"exempt": [{**NIC, "until": datetime.date(2027, 1, 31)}]}, "quote it, YAML reads it as a date"),
        ({"exempt": [NIC, NIC]}, "rdma_health_exempt[1].nic is 'mlx5_3', but entry 0 is about it as well"),
        (
            {"exempt": [{**NIC, "nic": "0000:af:00.0"}, {**NIC, "nic": "AF:00.0"}]},
            "rdma_health_exempt[1].nic is 'AF:00.0', but entry 0 is about it as well",
        ),
        ({"exempt": [{**NIC, "nic": "0000:ag:00.0"}]}, "it must be a PCI address like 0000:1a:00.0"),
    ],
)
def test_what_may_not_be(own: dict[str, Any], why: str) -> None:
    (line,) = said(**own)
    assert why in line


def test_an_exemption_holds_to_the_end_of_its_day() -> None:
    day = datetime.date(2027, 1, 31)
    (entry,) = health_policy.exemptions({"rdma_health_exempt": [{**NIC, "until": "2027-01-31"}]})
    assert entry.holds(day)
    assert not entry.holds(day + datetime.timedelta(days=1))
    assert health_policy.of_nic([entry], "mlx5_3", "0000:1a:00.0", day) == entry
    assert health_policy.of_nic([entry], "mlx5_0", "0000:1a:00.0", day) is None


@pytest.mark.parametrize("text", ["0000:af:00.0", "0000:AF:00.0", "af:00.0", "AF:00.0"])
def test_an_exemption_by_pci_address_in_any_form(text: str) -> None:
    (entry,) = health_policy.exemptions({"rdma_health_exempt": [{**NIC, "nic": text}]})
    day = datetime.date(2027, 1, 31)
    assert health_policy.of_nic([entry], "mlx5_3", "0000:af:00.0", day) == entry
    assert health_policy.of_nic([entry], "mlx5_3", "0001:af:00.0", day) is None
