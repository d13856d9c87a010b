# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plan of a run: one document, of which each later step reads its part."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.node_options import NodeOptions


@dataclass(frozen=True)
class HostPlan:
    """What is planned for one host of a ``group``.

    ``problem`` says why nothing is, except for its images: then the host fails alone. ``warnings`` is what its links
    cannot have.
    """

    host: str
    group: str
    node: NodeOptions = field(default_factory=NodeOptions)
    problem: str = ""
    warnings: List[str] = field(default_factory=list)

    def as_dict(self) -> Dict[str, Any]:
        return asdict(self)


@dataclass
class RunPlan:
    """The plan of a run for each of its hosts, by name, and for the cluster (``None`` for nothing there).

    ``others`` are parts of single playbooks, by name: what later calls of the run plan the rest of.
    """

    hosts: Mapping[str, HostPlan] = field(default_factory=dict)
    cluster: Optional[Mapping[str, Any]] = None
    others: Dict[str, Mapping[str, Any]] = field(default_factory=dict)


def host_plan(document: Mapping[str, Any]) -> HostPlan:
    """One host's part out of ``as_dict``."""
    return HostPlan(**{**document, "node": NodeOptions(**document["node"])})
