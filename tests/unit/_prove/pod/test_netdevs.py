# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The addresses that a pod's NICs are to have, as people spell them and as the kernel does."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.tests.unit._prove.pods import (
    KIND,
    asking,
    log,
    make_judged,
    plan,
    waves,
)

# A fixture that is defined elsewhere.
__all__ = ["make_judged"]


def of_claim(found: dict[str, Any], facts: dict[str, Any], hca: dict[str, Any], has: str) -> dict[str, Any]:
    """The pod of a single claim for this HCA, whose netdev has this address and no other."""
    (pod,) = (pod for wave in waves(found) for pod in asking(wave))
    netdev = {**hca["ports"][0]["netdev"], "addresses": []}
    mine = {**facts, "hcas": [{**hca, "ports": [{**hca["ports"][0], "netdev": netdev}]}]}
    output = log(mine, [hca["name"]]).replace("==> end", f"2: {netdev['name']}    inet6 {has} scope global\n==> end")
    device = "pci-" + hca["pci"]["address"].replace(":", "-").replace(".", "-")
    allocation = [{"request": "nic", "driver": model.DRANET, "pool": pod.node, "device": device}]
    ran = {"phase": "Succeeded", "trouble": "", "seconds": 7.0, "allocation": allocation, "output": output}
    return {**pod_plan.plain(pod), "result": {"name": pod.name, **ran}}


@pytest.mark.parametrize(
    ("asked", "has", "verdict"),
    [
        ("2001:db8:0:1::5/64", "2001:db8:0:1::5/64", "pass"),
        ("2001:DB8:0:1:0:0:0:5/64", "2001:db8:0:1::5/64", "pass"),
        ("fd00:0:0:1:0::5/64", "fd00:0:0:1::5/64", "pass"),
        ("2001:db8:0:1::5/64", "2001:db8:0:1::6/64", "fail"),
        ("2001:db8:0:1::5/64", "2001:db8:0:1::5/128", "fail"),
    ],
)
def test_the_address_of_a_claim_in_any_spelling(
    facts_of: Callable[..., Any], judged: Callable[..., Any], asked: str, has: str, verdict: str
) -> None:
    facts = facts_of(KIND)
    hca = next(each for each in facts["hcas"] if each["ports"][0]["netdev"])
    entry = {"name": "prefill", "host": "n1", "hca": hca["name"], "address": asked}
    found = plan(facts_of, [], rdma_claims_claims=[entry])
    (check,) = (
        check for check in judged([of_claim(found, facts, hca, has)], found)["checks"] if check["id"] == "pod.netdev"
    )
    assert (check["verdict"], asked in check["text"]) == (verdict, True)
