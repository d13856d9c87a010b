# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""One node that says it has thousands of HCAs: the page stays one that a browser shows, with all other hosts on it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify as prove_document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import most
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.findings import ReportFinding, Variant
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.most import MOST
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import rendered

Facts = Callable[..., dict[str, Any]]
MANY = 2000


def _hca(usual: dict[str, Any], number: int) -> dict[str, Any]:
    found = copy.deepcopy(usual)
    found["name"] = f"hca{number}x"
    # A path without end, too: each of them has a switch of its own.
    found["pci"]["pcie_path"] = [f"{number:04x}:{level:02x}:00.0" for level in range(40)]
    found["pci"]["address"] = f"{number:04x}:ff:00.0"
    found["ports"][0]["netdev"]["addresses"] = [f"10.{number % 200}.{at}.1/24" for at in range(20)]
    return found


def _document(facts: dict[str, Any], many: int) -> dict[str, Any]:
    """Of two hosts, one with that many HCAs and as many findings."""
    own = copy.deepcopy(facts)
    own["hcas"] = [_hca(facts["hcas"][0], number) for number in range(many)]
    names = [hca["name"] for hca in own["hcas"]]
    own["affinity"] = [{**entry, "paths": dict.fromkeys(names, "SYS")} for entry in facts["affinity"]]
    own["usable"] = []
    reason = {"code": "excluded", "text": "it is not one of ours"}
    own["excluded"] = [{"hca": name, "port": 1, "reasons": [reason]} for name in names]
    own["warnings"] = [{"code": "x", "text": f"{name} is slow", "subject": name} for name in names]
    own["signature"] = "0" * 8
    check = {"ring": "host", "id": "host.mtu", "group": "g", "verdict": "fail", "remedy": "Set it.", "mend": ""}
    checks = [
        {**check, "host": "large", "subject": f"{name}/1", "text": f"{name} has 1500.", "evidence": {"of": names[:99]}}
        for name in names
    ]
    checks.append({**check, "host": "small", "subject": "mlx5_0/1", "text": "This one has 9001.", "evidence": {}})
    hosts = {"large": {"group": "g", "facts": own}, "small": {"group": "g", "facts": facts}}
    return {**prove_document.plain(prove_document.VerifyDocument(None, "0.1.0")), "hosts": hosts, "checks": checks}


def test_one_host_does_not_fill_the_page(facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    few, page = (rendered(_document(facts, number), "html") for number in (MOST, MANY))
    # Of the names of its HCAs there are as many, and the numbers of what is not shown.
    assert len(page) < len(few) * 1.1 < 1_000_000
    for what in ("HCAs", "ports", "of this kind"):
        assert f"and {MANY - MOST} more {what}, which only the JSON of this run shows" in page
        assert f" more {what}, which only" not in few
    # The other host is there with all that it has, and both have rows.
    assert "This one has 9001." in page
    assert "mlx5_1" in page
    assert all(f'data-host="{host}"' in page for host in ("large", "small"))


def test_sentences_of_other_hosts_are_shown_whatever_one_has() -> None:
    many = [Variant(f"{number}", "", hosts=["large"]) for number in range(100)]
    others = [Variant("a", "", hosts=["large", "small"]), Variant("b", "", hosts=["small"]), Variant("c", "")]
    shown, rest = most.sentences(ReportFinding("host", "host.mtu", "fail", [*many, *others], [], [], 103))
    assert shown == [*many[:MOST], *others]
    assert rest == "and 36 more of this kind, which only the JSON of this run shows"
