# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Error counters that grew between two readings, such as the facts of the beginning and the end of a verify."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

WHAT = "link_errors"
REMEDY = "Replace or reseat cable and transceiver, try another switch port, and check the switch's counters."

# By port (``mlx5_0/1``).
Readings = Mapping[str, Mapping[str, int]]


def readings(facts: Facts) -> Dict[str, Dict[str, int]]:
    """The error counters of all ports."""
    # Thresholds are for cables, and a software device has none.
    ports = ((hca, port) for hca in facts.hcas if not hca.software for port in hca.ports)
    return {f"{hca.name}/{port.number}": port.error_counters for hca, port in ports}


def verdict(limit: float) -> str:
    """What it means that a counter has grown by more than ``limit``."""
    return "warn" if limit else "fail"


def sentence(port: str, counter: str, count: float, limit: float, seconds: float, when: str) -> str:
    """What is said of a counter that grew by more than ``limit`` in these ``seconds``, of which ``when`` tells more."""
    text = f"{port} counted {count:.0f} {counter} in {seconds:.0f} s, {when}"
    return text + (f" ({limit:.0f} would be normal)" if limit else "")


def judged(node: HostEvidence, before: Readings, after: Readings, seconds: float, when: str) -> Iterator[Check]:
    """A check for each counter that grew too fast in these ``seconds``, of which ``when`` tells more."""
    for port in sorted(before.keys() & after.keys()):
        was, now = before[port], after[port]
        grown = {name: now[name] - was[name] for name in was.keys() & now.keys()}
        for fault in counters.grown_too_fast(grown, seconds):
            text = sentence(port, fault.counter, fault.count, fault.limit, seconds, when)
            evidence: Dict[str, Any] = {
                "counter": fault.counter,
                "before": was[fault.counter],
                "after": now[fault.counter],
            }
            yield node.check(WHAT, verdict(fault.limit), port, text, REMEDY, seconds=seconds, **evidence)


def of_node(node: HostEvidence, now: float) -> List[Check]:
    """What the second reading shows; nothing where there was to be none. ``now`` is the time of it, in seconds."""
    if node.began is None or node.facts is None:
        return []
    if node.earlier is None:
        text = "it is unknown whether error counters grow: the facts could not be gathered a second time"
        return [node.check(WHAT, "impossible", "", text, "See the error of the task that gathers them again.")]
    before, after = readings(node.earlier), readings(node.facts)
    seconds = max(now - node.began, 0.0)
    found = list(judged(node, before, after, seconds, "while verify ran"))
    ports = [name for name in before.keys() & after.keys() if before[name]]
    if ports and not found:
        text = f"no error counter of {counted(len(ports), 'port')} grew too fast in {seconds:.0f} s, while verify ran"
        found.append(node.check(WHAT, "pass", "", text, seconds=seconds))
    return found
