# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""All verdicts of the host ring."""

from __future__ import annotations

from dataclasses import replace
from typing import List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check, RingResult
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import (
    counters,
    drift,
    fabric,
    facts,
    fleet,
    live,
    partitions,
    qos,
    rails,
    site_checks,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.plan import HostTests

# Of what is in effect, which site changes on a node, and cannot change in what was recorded of one.
_RECORDED = (
    "On a recorded node, site only writes files: this shows what was in effect when it was recorded. Verify the node"
    " itself after site."
)


def _of_state(nodes: Sequence[HostEvidence], found: Sequence[Check]) -> List[Check]:
    """What is in effect on these nodes, with the remedy for recorded ones."""
    recorded = {node.host for node in nodes if node.recorded}
    return [
        replace(check, remedy=_RECORDED, mend="") if check.mend and check.host in recorded else check for check in found
    ]


def _of_node(node: HostEvidence) -> List[Check]:
    found = [node.unanswered(text) for text in node.unusable]
    found += node.guarded("its facts", lambda: _of_state([node], facts.of_node(node)))
    found += node.guarded("its quality of service", lambda: _of_state([node], qos.of_node(node)))
    found += node.guarded("its partitions", lambda: partitions.of_node(node))
    found += node.guarded("its comparison with the plan", lambda: drift.of_node(node) if node.facts else [])
    sent = node.sent if node.facts else None
    return found + node.guarded("the checks of rdma_verify_checks", lambda: site_checks.of_node(node, sent))


def _counters(node: HostEvidence, now: float) -> List[Check]:
    return node.guarded("its error counters", lambda: counters.of_node(node, now))


def of_looks(nodes: Sequence[HostEvidence]) -> List[Check]:
    """Verdicts of facts and drift alone, of each host and of hosts together."""
    together = [*fleet.of_fleet(nodes), *qos.of_fleet(nodes)]
    return [*_of_state(nodes, together), *(check for node in nodes for check in _of_node(node))]


def judge(
    nodes: Sequence[HostEvidence], tests: Mapping[str, HostTests], untried: str = "", now: Optional[float] = None
) -> RingResult:
    """``tests`` are those that each host had to run, ``untried`` is why none of them was run.

    ``now`` is when the facts were gathered again, in seconds since the epoch.
    """
    checks = of_looks(nodes)
    if not untried and now is not None:
        checks += [check for node in nodes for check in _counters(node, now)]
    checks += [] if untried else fabric.of_fleet(nodes, tests)
    checks += rails.of_fleet(nodes, tests, untried)
    tried, measurements = live.of_fleet(nodes, tests, untried)
    return RingResult([*checks, *tried], measurements)
