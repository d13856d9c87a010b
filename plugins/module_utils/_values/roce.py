# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""What RoCE's quality of service may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import integer

# ECT(0) of RFC 3168: the sender's packets may be marked instead of dropped.
_ECT0 = 0b10


@dataclass(frozen=True)
class RoceQos:
    """RoCE has a DSCP, and by it a lossless priority; congestion notification packets (CNPs) have others.

    ``bandwidth`` is the least share of RoCE's traffic class in percent, ``None`` where that stays as it is. The values
    are those that NVIDIA's documentation of RoCE and switch systems use (docs/roce.md has the sources).
    """

    priority: int = 3
    dscp: int = 26
    cnp_priority: int = 6
    cnp_dscp: int = 48
    bandwidth: Optional[int] = None

    @property
    def tos(self) -> int:
        """The type of service of RDMA-CM: the DSCP, and that congestion may be marked."""
        return self.dscp << 2 | _ECT0


# Priority and DSCP 0 are those of all traffic without a mark.
RULES: Dict[str, Callable[[Any], Any]] = {
    "priority": integer.between(1, 7),
    "dscp": integer.between(1, 63),
    "cnp_priority": integer.between(0, 7),
    "cnp_dscp": integer.between(0, 63),
    "bandwidth": integer.between(1, 99, " percent"),
}
