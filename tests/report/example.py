# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Documents to try reports with: hosts of the recorded fleet, with faults and bandwidth that are **synthesised**.

No such check was made and nothing was measured; every document says so itself.
"""

from __future__ import annotations

import random
from itertools import combinations, cycle, islice
from typing import Any, Callable, Iterator, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    Check,
    DocumentHost,
    End,
    Measurement,
    VerifyDocument,
    VerifyRun,
    plain,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.tests.report.transfers import transfers

RECORDED = {
    "v100": ["v100-01", "v100-02"],
    "a100": ["a100-01", "a100-02"],
    "h100": ["h100-01", "h100-02", "h100-03"],
    "lab": ["lab-01", "lab-02"],
}
SMALL = {"v100": 4, "a100": 4, "h100": 12, "lab": 2}
# Above so many hosts not all pairs are measured, but each host with so many others.
_ALL_PAIRS_UP_TO, _PARTNERS = 32, 6
_NOTE = (
    "Synthesised example: its hosts are copies of the recorded fleet, its faults and bandwidth are invented,"
    " no machine was checked or measured."
)

Facts = Mapping[str, Any]


def _host(group: str, facts: dict[str, Any]) -> DocumentHost:
    rails = HostEvidence("", group, read.facts(facts)).rails
    return DocumentHost(group, facts, {port: rail for rail, port in rails.items()})


def _hosts(facts_of: Callable[[str], Facts], sizes: Mapping[str, int]) -> dict[str, DocumentHost]:
    width = max(2, *(len(str(size)) for size in sizes.values()))
    return {
        f"{group}-{number:0{width}}": _host(group, dict(facts_of(name)))
        for group, size in sizes.items()
        for number, name in enumerate(islice(cycle(RECORDED[group]), size), start=1)
    }


def _ports(host: DocumentHost) -> Iterator[tuple[str, int, float]]:
    """Usable ports with what they and their PCIe links carry, in Gb/s."""
    for hca in host.facts["hcas"]:
        for port in hca["ports"]:
            if {"hca": hca["name"], "port": port["number"]} in host.facts["usable"]:
                carries = [rate for rate in (port["rate_gbps"], hca["pcie_link"]["gbps"]) if rate]
                yield hca["name"], port["number"], min(carries)


def _passed(name: str, host: DocumentHost) -> Iterator[Check]:
    def check(ring: str, what: str, subject: str, text: str, **evidence: Any) -> Check:
        return Check(ring, f"{ring}.{what}", name, host.group, subject, "pass", text, evidence)

    yield check("host", "modules", "", "All kernel modules are loaded.")
    yield check("host", "netns", "", "The RDMA network namespace mode is exclusive.", mode="exclusive")
    yield check("host", "memlock", "", "Containers may lock all memory.", memlock="unlimited")
    yield check("host", "runtime", "", "NRI is on and answers.", socket="/var/run/nri/nri.sock")
    for hca, port, rate in _ports(host):
        subject = f"{hca}/{port}"
        yield check("host", "rate", subject, "The link runs at its full rate.", rate_gbps=rate)
        yield check("host", "mtu", subject, "Packets of the full MTU arrive.", mtu=4096)
    yield check("cluster", "driver", "", "The driver's pod is ready.")
    yield check("cluster", "slices", "", "The ResourceSlice has what the facts say.")
    yield check("pod", "allocation", f"{host.group}-1gpu-1nic", "The pod got the devices that were planned.")
    yield check("pod", "return", f"{host.group}-1gpu-1nic", "The NIC came back with address and MTU.")


# Which host of a group, check, subject, verdict, text, evidence, remedy, what mends it.
_FAULTS: list[tuple[str, int, str, str, str, str, dict[str, Any], str, str]] = [
    (
        *("v100", 1, "host.path_mtu", "mlx5_1/1", "fail"),
        "Packets of 4096 bytes do not reach the rest of the group; 2044 bytes do.",
        {"mtu": 2044, "wanted": 4096, "command": "ping -M do -s 4068 -c 1 -W 1 10.100.1.1"},
        "Set the MTU of the InfiniBand partition to 4096 on the subnet manager.",
        "links",
    ),
    (
        *("h100", 4, "host.runtime", "", "fail"),
        "containerd 1.7.24 runs with NRI off, so the driver cannot move a NIC into a pod.",
        {"socket": "/var/run/nri/nri.sock", "present": False},
        "",
        "runtime",
    ),
    (
        *("h100", 4, "pod.allocation", "h100-1gpu-1nic", "fail"),
        "The pod runs without the NIC that was allocated to it.",
        {"allocated": ["mlx5_0"], "inside": []},
        "See whether NRI is on, and restart the pod.",
        "",
    ),
    (
        *("h100", 7, "host.memlock", "", "warn"),
        "Containers may lock 8 MiB only; registering memory for RDMA fails above that.",
        {"memlock": 8388608, "wanted": "unlimited"},
        "",
        "runtime",
    ),
    (
        *("h100", 8, "host.memlock", "", "warn"),
        "Containers may lock 8 MiB only; registering memory for RDMA fails above that.",
        {"memlock": 8388608, "wanted": "unlimited"},
        "",
        "runtime",
    ),
    (
        *("lab", 0, "host.subnet_manager", "mlx5_0/1", "impossible"),
        "The port is RoCE, which has no subnet manager.",
        {},
        "",
        "",
    ),
]


def _faults(names: Mapping[str, list[str]]) -> Iterator[Check]:
    for group, index, name, subject, verdict, text, evidence, *remedy in _FAULTS:
        if index < len(names.get(group, [])):
            ring = name.split(".")[0]
            yield Check(ring, name, names[group][index], group, subject, verdict, text, dict(evidence), *remedy)


def _pairs(names: list[str]) -> Iterator[tuple[str, str]]:
    if len(names) <= _ALL_PAIRS_UP_TO:
        yield from combinations(names, 2)
        return
    for index, name in enumerate(names):
        for step in range(1, _PARTNERS + 1):
            yield name, names[(index + step * step) % len(names)]


def _measurements(hosts: Mapping[str, DocumentHost], names: Mapping[str, list[str]]) -> Iterator[Measurement]:
    dice = random.Random(20)
    for group, members in names.items():
        slow = members[len(members) // 2] if len(members) > 2 else ""
        for left, right in _pairs(members):
            for number, (one, other) in enumerate(zip(_ports(hosts[left]), _ports(hosts[right]))):
                ends = End(left, *one[:2]), End(right, *other[:2])
                expected = min(one[2], other[2])
                factor = dice.uniform(0.925, 0.975) * (0.42 if slow in (left, right) and number == 0 else 1)
                yield _measured(group, "write_bw", *ends, expected * factor, "Gb/s", expected, 0.9 * expected)
                if number == 0:
                    yield _measured(group, "read_lat", *ends, dice.uniform(1.7, 2.6), "us", None, 3.0)


def _measured(
    group: str, test: str, source: End, target: End, value: float, unit: str, expected: float | None, threshold: float
) -> Measurement:
    good = value >= threshold if unit == "Gb/s" else value <= threshold
    text = f"{value:.1f} {unit}, required: {threshold:.1f} {unit}."
    verdict = "pass" if good else "fail"
    return Measurement(group, test, source, target, round(value, 2), unit, expected, threshold, verdict, text)


def example(facts_of: Callable[[str], Facts], sizes: Mapping[str, int] | None = None) -> dict[str, Any]:
    """A document with so many hosts of each group as ``sizes`` says, all of them copies of recorded ones."""
    hosts = _hosts(facts_of, SMALL if sizes is None else sizes)
    names: dict[str, list[str]] = {}
    for name, host in hosts.items():
        names.setdefault(host.group, []).append(name)
    faults = list(_faults(names))
    faulty = {(check.id, check.host, check.subject) for check in faults}
    passed = [check for name, host in hosts.items() for check in _passed(name, host)]
    note = Check("host", "host.example", None, None, "", "impossible", _NOTE)
    kept = [check for check in passed if (check.id, check.host, check.subject) not in faulty]
    found = VerifyDocument("2026-11-20T10:00:00Z", "0.1.0 (synthesised example)", hosts, [note, *faults, *kept])
    found.run = VerifyRun(["inventory"], groups=list(names))
    found.bandwidth = list(_measurements(hosts, names))
    found.benchmark = transfers()
    return plain(found)
