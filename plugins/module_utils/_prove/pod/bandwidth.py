# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What pods measured between each other, against what their ports can carry."""

from __future__ import annotations

from typing import List, Mapping, Optional, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import perftest_parse
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import threshold as bandwidth_threshold
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import Check, End, Measurement
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.plan import Pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.report import PodReport

TEST = "write_bw"
# What probe.sh says where it could not.
_NOT_PINNED = "not pinned"
_TOO_LITTLE = "Couldn't allocate MR"


def _capacity(facts: Facts, end: End) -> Optional[float]:
    for hca in facts.hcas:
        for port in hca.ports if hca.name == end.hca else []:
            if port.number == end.port:
                return bandwidth_threshold.capacity(hca, port)
    return None


def measurements(
    pod: Pod,
    report: PodReport,
    server: Pod,
    of_server: PodReport,
    facts: Mapping[str, Facts],
    fraction: float,
    demanded: Optional[float] = None,
) -> List[Union[Check, Measurement]]:
    """What the pod measured against the server: a measurement for each of its ports, or a check of why there is none.

    Both go through their ports in the same order, so the n-th of one has met the n-th of the other. ``demanded`` are
    Gb/s instead of the fraction of what the ports can carry.
    """

    def against(port: Tuple[str, int], text: str, remedy: str, mend: str = "", verdict: str = "fail") -> Check:
        name = f"{pod.alias} {port[0]}/{port[1]}"
        return Check("pod", "pod.bandwidth", pod.node, pod.group, name, verdict, text, {}, remedy, mend)

    if not report.has_perftest:
        text, remedy = "the image has no ib_write_bw", "Use an image with perftest."
        return [
            against(port, text, remedy, verdict="impossible")
            for port in sorted(report.ports)
            if port[0] in report.devices
        ]
    found: List[Union[Check, Measurement]] = []
    for port, other in zip(report.bandwidth, of_server.bandwidth):
        source, target = End(pod.node, *port), End(server.node, *other)
        output = report.bandwidth[port]
        rows = perftest_parse.of_text(output)
        if not rows:
            said = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "nothing")
            text = f"ib_write_bw with {server.node} failed and said last: {said}"
            locked = _TOO_LITTLE in output
            what_to_do = ("Raise the memory lock and restart the pod.", "runtime") if locked else (_REMEDY, "")
            found.append(against(port, text, *what_to_do))
            continue
        capacities = [_capacity(facts.get(end.host, Facts()), end) for end in (source, target)]
        expected = bandwidth_threshold.lower(*capacities)
        value = rows[-1].value
        threshold, verdict, text = bandwidth_threshold.bandwidth(value, expected, fraction, demanded)
        if _NOT_PINNED in output.splitlines() and len(facts.get(pod.node, Facts()).system.numa_nodes) > 1:
            text += f", not pinned to the NUMA node of {port[0]}"
        test = f"{TEST} in pods"
        found.append(Measurement(pod.group, test, source, target, value, "Gb/s", expected, threshold, verdict, text))
    return found


_REMEDY = "See whether the host ring can measure between the two ports, and their GIDs and MTU."
