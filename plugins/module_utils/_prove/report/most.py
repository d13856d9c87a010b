# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How many things of one kind a page shows of one host: a node can say that it has thousands of HCAs."""

from __future__ import annotations

from collections import Counter
from typing import List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.findings import ReportFinding, Variant

MOST = 64


def more(number: int, what: str) -> str:
    """That there are more than are shown, and where; nothing if there are none."""
    return f"and {number} more {what}, which only the JSON of this run shows" if number > 0 else ""


def cut(texts: Sequence[str], what: str) -> List[str]:
    """The first of these texts, and how many more there are."""
    rest = more(len(texts) - MOST, what)
    return [*texts[:MOST], rest] if rest else list(texts)


def sentences(finding: ReportFinding) -> Tuple[List[Variant], str]:
    """The variants of a finding that are shown, and how many more there are. No host is in more than MOST of them,
    unless it shares one with a host that is in fewer.
    """
    told: Counter[str] = Counter()
    shown = []
    for variant in finding.variants:
        hosts = variant.hosts or [""]
        if any(told[host] < MOST for host in hosts):
            shown.append(variant)
            told.update(hosts)
    return shown, more(len(finding.variants) - len(shown), "of this kind")
