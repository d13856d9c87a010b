# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What pods measured between each other, against what their ports can carry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Mapping, Optional, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import perftest_parse
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import threshold as bandwidth_threshold
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check, End, Measurement
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.plan import PlannedPod
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.report import PodReport
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

BETWEEN, LOOPBACK = "write_bw in pods", "write_bw in a pod"
# What probe.sh says where it could not.
_NOT_PINNED = "not pinned"
# What it says after a client that failed.
_FAILED = re.compile(r"exit status \d+\Z")
_TOO_LITTLE = "Couldn't allocate MR"
_NO_PERFTEST = "the image has no ib_write_bw"
# What client and server say where the other one never came.
_ALONE = ("Couldn't connect", "Waiting for client")

Measured = List[Union[Check, Measurement]]


def _capacity(facts: Facts, end: End) -> Optional[float]:
    for hca in facts.hcas:
        for port in hca.ports if hca.name == end.hca else []:
            if port.number == end.port:
                return bandwidth_threshold.capacity(hca, port)
    return None


@dataclass
class PodMeter:
    """Judges what a pod measured. ``facts`` are those of all hosts.

    ``demanded`` are Gb/s instead of the ``fraction`` of what the ports can carry.
    """

    pod: PlannedPod
    report: PodReport
    facts: Mapping[str, Facts]
    fraction: float
    demanded: Optional[float] = None

    def between(self, server: PlannedPod, of_server: PodReport) -> Measured:
        """Against the server: a measurement for each of its ports, or a check of why there is none.

        Both go through their ACTIVE ports in the same order, so the n-th of one has met the n-th of the other, and
        those that one of them has more have met nobody.
        """
        mine, theirs = list(self.report.bandwidth.items()), list(of_server.bandwidth.items())
        other = PodMeter(server, of_server, self.facts, self.fraction, self.demanded)
        found: Measured = [
            self._one(BETWEEN, End(self.pod.node, *port), End(server.node, *met), output)
            for (port, output), (met, _output) in zip(mine, theirs)
        ]
        found += [self._alone(port, output, other) for port, output in mine[len(theirs) :]]
        return found + [other._alone(port, output, self) for port, output in theirs[len(mine) :]]

    def _alone(self, port: Tuple[str, int], output: str, other: PodMeter) -> Check:
        """Of a port that has met none of the other pod, which measured with fewer."""
        messages = _messages(output)
        text = (
            f"{port[0]}/{port[1]} had no port to measure against: the pod on {other.pod.node} used "
            f"{counted(len(other.report.bandwidth), 'port')}, this one {len(self.report.bandwidth)}"
        )
        # Nodes may differ, as where a port has a cable on one of them only: their host checks tell of that.
        if other._used_all and (not messages or any(said in output for said in _ALONE)):
            return self._check(port, "impossible", text, "To measure it, choose nodes with as many ACTIVE ports.")
        text += f"; its last message was: {messages[-1]}" if messages else ""
        return self._check(port, "fail", text, _LACKING)

    @property
    def _used_all(self) -> bool:
        """Whether each port of this pod that was ACTIVE on the host took part, as far as is known."""
        facts = self.facts.get(self.pod.node)
        hcas = [hca for hca in facts.hcas if hca.name in self.report.devices] if facts else []
        active = sum(port.state == "ACTIVE" for hca in hcas for port in hca.ports)
        return facts is not None and self.report.complete and len(self.report.bandwidth) >= active

    def loopback(self) -> Measured:
        """The same of each port to itself."""
        ends = ((End(self.pod.node, *port), output) for port, output in self.report.loopback.items())
        return [self._one(LOOPBACK, end, end, output) for end, output in ends]

    def _check(self, port: Tuple[str, int], verdict: str, text: str, remedy: str, mend: str = "") -> Check:
        name = f"{self.pod.alias} {port[0]}/{port[1]}"
        return Check("pod", "pod.bandwidth", self.pod.node, self.pod.group, name, verdict, text, {}, remedy, mend)

    def untried(self) -> Measured:
        """Why it measured nothing, if the image is why."""
        mine = [port for port in sorted(self.report.ports) if port[0] in self.report.devices]
        remedy = "Use an image with perftest."
        return [] if self.report.has_perftest else [self._check(p, "impossible", _NO_PERFTEST, remedy) for p in mine]

    def _one(self, test: str, source: End, target: End, output: str) -> Union[Check, Measurement]:
        # Server and client of a loopback both say it.
        sizes = {row.size: row for row in perftest_parse.of_text(output)}
        rows = [sizes[size] for size in sorted(sizes)]
        messages = _messages(output)
        # One that ended early has the values of small messages alone.
        if not rows or len(messages) < len(_lines(output)):
            said = messages[-1] if messages else "nothing"
            with_whom = "itself" if test == LOOPBACK else target.host
            text = f"ib_write_bw with {with_whom} failed, its last message was: {said}"
            locked = _TOO_LITTLE in output
            what_to_do = (
                ("Raise the limit of locked memory and restart the pod.", "runtime") if locked else (_REMEDY, "")
            )
            return self._check((source.hca, source.port), "fail", text, *what_to_do)
        capacities = [_capacity(self.facts.get(end.host, Facts()), end) for end in (source, target)]
        expected = bandwidth_threshold.lower(*capacities)
        value = rows[-1].value
        threshold, verdict, text = bandwidth_threshold.bandwidth(value, expected, self.fraction, self.demanded)
        numa_nodes = self.facts.get(source.host, Facts()).system.numa_nodes
        if _NOT_PINNED in output.splitlines() and len(numa_nodes) > 1:
            text += f", not pinned to the NUMA node of {source.hca}"
        if len(rows) > 1:
            text += f" ({', '.join(f'{_bytes(row.size)}: {row.value:.4g}' for row in rows)} Gb/s)"
        return Measurement(self.pod.group, test, source, target, value, "Gb/s", expected, threshold, verdict, text)


def _lines(output: str) -> List[str]:
    return [line.strip() for line in output.splitlines() if line.strip()]


def _messages(output: str) -> List[str]:
    return [line for line in _lines(output) if not _FAILED.match(line)]


def _bytes(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


_LACKING = "Check why one of the two pods has fewer ACTIVE ports, or why its measurement broke off."
_REMEDY = "Check whether verify's host checks can measure between the two ports, and check their GIDs and MTU."
