# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Why provision did not serve a host, although all other hosts were provisioned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Collection, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import no_node
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import inert


@dataclass(frozen=True)
class Provisioned:
    """What provision left.

    ``missing`` are nodes that could not be labelled (``nodes.py``). ``nodes`` is what each node's drivers publish,
    compared with its facts (``slices/info.py``). ``unready`` has by node the DaemonSets that are not ready there and
    the policies that were rejected (``carry_out.py``), and what the node lacks (``plugin_utils/_cluster_plan.py``).
    ``broken`` is what is wrong with the annotation of its counters (``carry_out.py``). ``unmet`` has by host the claims
    that its facts allow, but its slices do not (``_strategies/dra/claims/planner.py``).
    """

    missing: Collection[str] = ()
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unready: Mapping[str, Sequence[str]] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    unmet: Mapping[str, Sequence[str]] = field(default_factory=dict)


def _odd(node: Mapping[str, Any]) -> str:
    """How what a node publishes differs from its facts."""
    found = [device["reason"] for device in node.get("missing", ()) if not device["intended"]]
    return "; ".join(dict.fromkeys(found)) or "what its drivers publish differs from the facts, as shown above"


def reasons(host: str, roles: Sequence[Provisioned]) -> List[str]:
    """One line for each thing that is wrong with a host, none where it is served."""
    if any(host in role.missing or not role.nodes.get(host, {}).get("exists", True) for role in roles):
        return [no_node(host)]
    found = []
    for role in roles:
        node = role.nodes.get(host, {})
        found += [role.broken[host]] if host in role.broken else []
        found += [f"{host}: {text}" for text in role.unready.get(host, ())]
        found += [f"{host}: no pod can claim its NICs: {node['silent']}"] if node.get("silent") else []
        found += [f"{text}, although the facts allow it: {_odd(node)}" for text in role.unmet.get(host, ())]
    return list(map(inert, found))
