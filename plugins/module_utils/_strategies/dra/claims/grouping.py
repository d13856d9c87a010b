# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which hosts share a template, and which nodes are alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, Iterable, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.hosts import ClaimMember, Found
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import ClaimIntent, Template
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import wrong


def _same(template: Template, wanted: ClaimIntent, other: Template, other_wanted: ClaimIntent) -> bool:
    """Whether two templates with the same name are equal except for their place in the inventory."""
    return wanted is other_wanted or (
        replace(template, at="") == replace(other, at="")
        # A DeviceClass is in no namespace.
        and (bool(template.resource) or wanted.namespaces == other_wanted.namespaces)
        and (wanted.nic_class, wanted.gpu_class) == (other_wanted.nic_class, other_wanted.gpu_class)
    )


def templates(members: Iterable[ClaimMember]) -> Tuple[Dict[str, Tuple[Template, ClaimIntent, List[str]]], Found]:
    """Each template with the hosts that have it; a problem where two are different and have one name."""
    found: Dict[str, Tuple[Template, ClaimIntent, List[str]]] = {}
    problems: Found = []
    for member in members:
        # Hosts with the same variables share one intent.
        for template in member.wanted.templates:
            known, wanted, names = found.setdefault(template.name, (template, member.wanted, []))
            if _same(template, member.wanted, known, wanted):
                names.append(member.host.name)
                continue
            what = "extended resource" if template.resource else "template"
            right = f"which is a different {what} on {fold(names)}: use different names, or the same content"
            problems.append((member.host.name, wrong(f"{template.at}.name", template.name, right)))
    return found, problems


def kinds(
    names: Sequence[str], nodes: Mapping[str, ClaimNode]
) -> Tuple[List[ClaimNode], Dict[str, List[str]], List[str]]:
    """One node of each kind, the names of all nodes of a kind by its key, and the hosts without facts or devices."""
    hosts: Dict[str, List[str]] = {}
    found: List[ClaimNode] = []
    for name in names:
        node = nodes.get(name)
        if node is not None and node.key not in hosts:
            found.append(node)
        if node is not None:
            hosts.setdefault(node.key, []).append(name)
    return found, hosts, [name for name in names if name not in nodes]
