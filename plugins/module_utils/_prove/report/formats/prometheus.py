# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document as metrics in Prometheus' text format (version 0.0.4).

Checks are counted by host and verdict, zeros included, so that a series never goes missing because all is well. Only
findings have a series each, as alerts have in Prometheus itself: one for every check would be tens of thousands for a
large fleet, most of them of no interest.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from typing import Counter as Counts
from typing import Dict, Iterator, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    VERDICTS,
    DocumentError,
    VerifyDocument,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.causes import BAD
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.findings import BANDWIDTH
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import clean

_PREFIX = "zerocopy_rdma_verify"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Labels = Tuple[str, ...]


def gauge(name: str, explanation: str, labels: Labels, values: Mapping[Labels, int]) -> Iterator[str]:
    """A gauge, its series in a stable order. To Prometheus, an empty label is one that the series does not have."""
    if not values:
        return
    yield f"# HELP {name} {explanation}"
    yield f"# TYPE {name} gauge"
    for own in sorted(values):
        pairs = ",".join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in zip(labels, own) if value)
        yield f"{name}{f'{{{pairs}}}' if pairs else ''} {values[own]}"


def _family(name: str, explanation: str, labels: Labels, values: Mapping[Labels, int]) -> Iterator[str]:
    return gauge(f"{_PREFIX}_{name}", explanation, labels, values)


def _results(document: VerifyDocument) -> Iterator[Tuple[Labels, str]]:
    """Labels of a finding, and the verdict, of all that was checked or measured.

    A measurement counts for the port that it started from, with the names that the other forms of the report give it.
    """
    for check in document.checks:
        yield (check.ring, check.id, check.host or "", check.group or "", check.subject), check.verdict
    for measured in document.bandwidth:
        source = measured.source
        port = f"{source.hca}/{source.port}"
        yield (BANDWIDTH, f"{BANDWIDTH}.{measured.test}", source.host, measured.group, port), measured.verdict


def _ports(document: VerifyDocument) -> Dict[Labels, int]:
    """Ports of each host with facts. Those in a pod are no loss: the host has them again when the pod ends."""
    found: Dict[Labels, int] = {}
    for name, host in document.hosts.items():
        if host.facts:
            usable, in_pod = len(host.known.usable), len(host.known.in_pod)
            states = {"usable": usable, "in_pod": in_pod, "excluded": len(host.known.excluded) - in_pod}
            found.update({(clean(name), clean(host.group), state): number for state, number in states.items()})
    return found


def seconds(created: Optional[str]) -> Dict[Labels, int]:
    """The one series of a time, none without one. Raises DocumentError."""
    if not created:
        return {}
    try:
        # Python 3.10 and older do not know the Z.
        when = datetime.fromisoformat(created.replace("Z", "+00:00"))
    except ValueError:
        raise DocumentError(f"created is {created!r}, it must be a time like 2026-01-31T12:00:00Z") from None
    return {(): int((when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp())}


def prometheus(document: VerifyDocument) -> str:
    """The whole file. Raises DocumentError."""
    counts: Counts[Labels] = Counter()
    # The same may be found twice, as of two addresses of a port: a file with a series twice would be refused.
    found: Dict[Labels, int] = {}
    for labels, verdict in _results(document):
        ring, _name, host, group, _subject = own = tuple(map(clean, labels))
        for each in VERDICTS:
            counts[ring, host, group, each] += each == verdict
        if verdict in BAD:
            found[(*own, verdict)] = 1
    lines = [
        *_family("run_timestamp_seconds", "Time of the last run of verify.", (), seconds(document.created)),
        *_family("checks", "Checks and measurements by verdict.", ("ring", "host", "group", "verdict"), counts),
        *_family(
            "finding",
            "A check or measurement that failed or warned (always 1).",
            ("ring", "check", "host", "group", "subject", "verdict"),
            found,
        ),
        *_family("ports", "RDMA ports by what they can be used for.", ("host", "group", "state"), _ports(document)),
    ]
    return "".join(f"{line}\n" for line in lines)
