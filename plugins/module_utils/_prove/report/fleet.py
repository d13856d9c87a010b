# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The hosts of each group, and what they have, equal hosts told once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Dict, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import VERDICTS, VerifyDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.most import cut
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key


@dataclass
class HostKind:
    """Hosts of a group that have the same, and the same verdict."""

    verdict: str
    gpus: str
    ports: str
    excluded: List[str]
    hosts: List[str] = field(default_factory=list)


@dataclass
class GroupSummary:
    """``hosts`` are names with verdicts in natural order, ``kinds`` the worst first, then the most frequent."""

    name: str
    hosts: List[Tuple[str, str]]
    kinds: List[HostKind]


def _alike(many: Counter[str]) -> str:
    told = [f"{number} \u00d7 {text}" for text, number in sorted(many.items(), key=lambda item: -item[1])]
    return ", ".join(cut(told, "kinds"))


def _gpus(facts: Facts) -> str:
    return _alike(Counter(gpu.model or f"PCI {gpu.pci.device_id}" for gpu in facts.gpus))


def _ports(facts: Facts) -> str:
    usable = {(entry.hca, entry.port) for entry in facts.usable}
    found: Counter[str] = Counter()
    for hca in facts.hcas:
        for port in hca.ports:
            if (hca.name, port.number) in usable:
                rate = "" if port.rate_gbps is None else f" {port.rate_gbps:g} Gb/s"
                found[f"{port.link_layer or 'unknown link'}{rate}"] += 1
    return _alike(found)


def _excluded(facts: Facts) -> List[str]:
    return [
        f"{entry.hca}/{entry.port}: " + "; ".join(reason.text for reason in entry.reasons) for entry in facts.excluded
    ]


def groups(document: VerifyDocument, verdicts: Mapping[str, str]) -> List[GroupSummary]:
    """All groups in natural order; ``verdicts`` are those of the hosts."""
    found: Dict[str, Dict[Tuple[str, str, str, Tuple[str, ...]], HostKind]] = {}
    hosts: Dict[str, List[Tuple[str, str]]] = {}
    for name in sorted(document.hosts, key=natural_key):
        host = document.hosts[name]
        if host.facts:
            kind = HostKind(verdicts[name], _gpus(host.known), _ports(host.known), _excluded(host.known))
        else:
            kind = HostKind(verdicts[name], "no facts", "", [])
        key = (kind.verdict, kind.gpus, kind.ports, tuple(kind.excluded))
        found.setdefault(host.group, {}).setdefault(key, kind).hosts.append(name)
        hosts.setdefault(host.group, []).append((name, verdicts[name]))
    return [
        GroupSummary(
            name=group,
            hosts=hosts[group],
            kinds=sorted(found[group].values(), key=lambda kind: (-VERDICTS.index(kind.verdict), -len(kind.hosts))),
        )
        for group in sorted(found, key=natural_key)
    ]
