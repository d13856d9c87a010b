# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a template matches, as text."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.fit import Fit
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold

Hosts = Dict[str, List[str]]


def _nodes(names: Sequence[str]) -> str:
    return f"each of {len(names)} nodes" if len(names) > 1 else fold(names)


def counts(fit: Fit, nodes: Sequence[ClaimNode], hosts: Hosts, is_gpu: bool) -> str:
    """``matches 4 of 8 NICs on each of 6 nodes; 3 of 8 on h100-03``."""
    kind = "GPUs" if is_gpu else "NICs"
    merged: Dict[Tuple[int, int], List[str]] = {}
    for node in nodes:
        key = (fit.matched(node, is_gpu), len(node.gpus if is_gpu else node.nics))
        merged.setdefault(key, []).extend(hosts[node.key])
    ordered = sorted(merged.items(), key=lambda item: (-len(item[1]), item[0]))
    (matched, every), names = ordered[0]
    parts = [f"matches {matched} of {every} {kind} on {_nodes(names)}"]
    parts += [f"{matched} of {every} on {fold(names)}" for (matched, every), names in ordered[1:]]
    return "; ".join(parts)


def misfits(found: Sequence[Tuple[ClaimNode, str]], hosts: Hosts) -> str:
    """Nodes with the reason why a claim cannot be satisfied on them, those with the same reason once."""
    merged: Dict[str, List[str]] = {}
    for node, why in found:
        merged.setdefault(why, []).extend(hosts[node.key])
    return "; ".join(f"{fold(names)}: {why}" for why, names in merged.items())
