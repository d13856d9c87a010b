# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which NIC a verdict of the host ring is about, and what it means for that NIC.

A NIC is sick if a check of its hardware, its link or its fabric has failed. What a run of ``site`` mends (a module that
is not loaded, an address) is a matter of the node, and so is what only warns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterable, List, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import IN_POD
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence

# Parts of the ids of checks that say that a NIC is no good for pods.
SICKENING = (
    "port_state",
    "port_rate",
    "link_layer",
    "subnet_manager",
    "pcie_link",
    "link_errors",
    "kernel_log",
    "device_lost",
)
IDS = tuple(f"host.{what}" for what in SICKENING)


@dataclass(frozen=True)
class Finding:
    """A check that makes a NIC sick: the last part of its id, and its text."""

    check: str
    text: str


@dataclass(frozen=True)
class NicLook:
    """One NIC at one look.

    ``key`` is its PCI address, or the name of a device that has none. ``functions`` are that address and those of its
    VFs. What could not be looked at, because a pod has it, is not ``seen``.
    """

    key: str
    name: str
    functions: Tuple[str, ...]
    seen: bool = True
    findings: Tuple[Finding, ...] = ()


def _key(hca: Hca) -> str:
    return hca.pci.address if hca.pci else hca.name


def _subjects(facts: Facts) -> Dict[str, str]:
    """By all that a check may call a NIC (``mlx5_0``, ``mlx5_0/1``, its PCI address) the key of the NIC."""
    found: Dict[str, str] = {}
    for hca in facts.hcas:
        names = [hca.name, _key(hca), *(f"{hca.name}/{port.number}" for port in hca.ports)]
        found.update(dict.fromkeys(names, _key(hca)))
    return found


def _findings(facts: Facts, checks: Iterable[Check]) -> Dict[str, List[Finding]]:
    subjects = _subjects(facts)
    found: Dict[str, List[Finding]] = {}
    for check in checks:
        if check.verdict == "fail" and check.id in IDS and check.subject and not check.mend:
            # The kernel also tells of functions that have lost their RDMA device.
            key = subjects.get(check.subject, check.subject)
            found.setdefault(key, []).append(Finding(check.id.partition(".")[2], check.text))
    return found


def of_host(node: HostEvidence, checks: Iterable[Check], judged: Sequence[str] = ()) -> List[NicLook]:
    """The NICs of a host that pods can have, and those that would be fit for them if they were not sick.

    ``checks`` are those of this host, ``judged`` the HCAs in pods that could be judged all the same.
    Nothing of a host without facts.
    """
    facts = node.known
    findings = _findings(facts, checks)
    in_pod = [hca for (hca, _port), found in facts.reasons.items() if IN_POD in {reason.code for reason in found}]
    moved = set(in_pod) - set(judged)
    wanted: Set[str] = {hca for hca, _port in facts.available} | set(judged)
    wanted |= {name.partition("/")[0] for name in node.rails.values()}
    vfs: Dict[str, List[str]] = {}
    for hca in facts.hcas:
        if hca.sriov.pf_address and hca.pci:
            vfs.setdefault(hca.sriov.pf_address, []).append(hca.pci.address)
    found: Dict[str, NicLook] = {}
    for hca in facts.hcas:
        key = _key(hca)
        own = tuple(findings.get(key, ()))
        if hca.name in wanted or own:
            functions = (key, *vfs.get(key, ())) if hca.pci else ()
            found.setdefault(key, NicLook(key, hca.name, functions, bool(own) or hca.name not in moved, own))
    for key, own_findings in findings.items():
        found.setdefault(key, NicLook(key, key, (key,), True, tuple(own_findings)))
    return list(found.values())
