# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which run of ``site`` fixes which finding: the codes in ``Check.mend`` and their sentences.

All other remedies are beside their checks, in ``_prove/host``, ``_prove/cluster`` and ``_prove/pod``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Mapping


@dataclass(frozen=True)
class MendWay:
    """A run of ``site`` with these tags and extra variables.

    Objects of the cluster belong to the ``whole`` fleet: a run with ``--limit`` leaves them alone.
    """

    sentence: str
    tags: str
    variables: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False


# In the order in which they are to be run.
WAYS: Dict[str, MendWay] = {
    "kernel": MendWay("Configure the kernel as planned.", "kernel"),
    "links": MendWay("Configure the links as planned.", "links"),
    "sandboxes": MendWay(
        "Remove these records (rdma_runtime_recover_sandboxes) before anything restarts.",
        "runtime",
        {"rdma_runtime_recover_sandboxes": "true"},
    ),
    "runtime": MendWay("Configure the container runtime as planned.", "runtime"),
    "restart": MendWay(
        "Restart the container runtime (rdma_runtime_restart).", "runtime", {"rdma_runtime_restart": "true"}
    ),
    "driver": MendWay("Deploy the driver as planned.", "driver", whole=True),
    "provision": MendWay("Apply the objects of the cluster again.", "provision", whole=True),
}


def worded(mend: str, remedy: str) -> str:
    """What to do, in one sentence; ``remedy`` where a check has its own."""
    return remedy or (WAYS[mend].sentence if mend else "")
