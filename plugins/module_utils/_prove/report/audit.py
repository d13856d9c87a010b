# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""An audit before a migration (:mod:`_plan.migrate.audit`) as a page for a browser, in the look of the report."""

from __future__ import annotations

from typing import Any, Dict, Iterator, NamedTuple, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import report, texts
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import CHANGE, LOOK, STOPS, Audit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import page
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

# How levels look: as verdicts do in the report of verify.
_LOOKS = {STOPS: "fail", CHANGE: "warn", LOOK: "impossible"}


class WorkloadRow(NamedTuple):
    """A workload in the table of all, with the place of its findings in the page."""

    anchor: str
    name: str
    kind: str
    level: str
    owners: str
    number: int
    block: str


def _rows(blocks: Sequence[Tuple[str, str, report.Block]]) -> Iterator[WorkloadRow]:
    for place, level, block in blocks:
        for workload in block.workloads:
            ref = workload.ref
            name = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
            anchor = f"{place}-{ref.namespace}-{ref.name}"
            yield WorkloadRow(anchor, name, block.kind, level, block.owners, len(block.lines), place)


def html(audit: Audit, created: str = "") -> str:
    """The whole page; ``created`` is the time of the audit as it is to be shown."""
    blocks = [
        (f"finding-{number}", report.worst(block.workloads[0].findings), block)
        for number, block in enumerate(report.blocks(audit), start=1)
    ]
    filters: Dict[str, Any] = {"counted": counted, "look": _LOOKS.__getitem__, "said": texts.text}
    return page.rendered(
        "audit.html.j2",
        filters,
        created=created,
        headline=report.headline(audit),
        cluster_line=report.cluster_line(audit),
        levels=report.levels(audit),
        outcomes=report.OUTCOMES,
        counts=[(texts.SAID[code], number) for code, number in report.counts(audit).items()],
        blocks=blocks,
        rows=list(_rows(blocks)),
        cluster=[(texts.SAID[code], found) for code, found in report.by_code(audit.cluster).items()],
        others=[str(ref) for ref in audit.others],
        unseen=audit.unseen,
    )
