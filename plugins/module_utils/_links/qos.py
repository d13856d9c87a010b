# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""What a host's variables want of the quality of service of its RDMA links (RoCE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, refused, wrong

QOS = "rdma_links_qos"
PRIORITY, DSCP, BANDWIDTH = "rdma_links_qos_priority", "rdma_links_qos_dscp", "rdma_links_qos_bandwidth"
CNP_PRIORITY, CNP_DSCP = "rdma_links_qos_cnp_priority", "rdma_links_qos_cnp_dscp"
# ECT(0) of RFC 3168: the sender's packets may be marked instead of dropped.
_ECT0 = 0b10
_RULES = {
    PRIORITY: integer.between(1, 7),
    DSCP: integer.between(1, 63),
    CNP_PRIORITY: integer.between(0, 7),
    CNP_DSCP: integer.between(0, 63),
    BANDWIDTH: integer.between(1, 99, " percent"),
}


@dataclass(frozen=True)
class QosIntent:
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


def intent(values: Mapping[str, Any]) -> Optional[QosIntent]:
    """What a host's converted variables ask for, ``None`` if nothing."""
    if not values.get(QOS):
        return None
    names = {"priority": PRIORITY, "dscp": DSCP, "cnp_priority": CNP_PRIORITY, "cnp_dscp": CNP_DSCP}
    given = {name: values[variable] for name, variable in names.items() if values.get(variable) is not None}
    return QosIntent(**given, bandwidth=values.get(BANDWIDTH))


def of_values(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Values that cannot be right on any port, also where they are not used yet."""
    found = [
        problem
        for variable, rule in _RULES.items()
        if values.get(variable) is not None
        for problem in refused(variable, values[variable], rule, more=_why(variable, values[variable]))
    ]
    yield from found
    wanted = None if found else intent({**values, QOS: True})
    if wanted and wanted.cnp_priority == wanted.priority:
        right = f"which is also {PRIORITY}: CNPs must not wait behind the traffic that they slow down; the usual is 6"
        yield wrong(CNP_PRIORITY, wanted.cnp_priority, right)
    if wanted and wanted.cnp_dscp == wanted.dscp:
        right = f"which is also {DSCP}: CNPs need another, by which they get {CNP_PRIORITY}; the usual is 48"
        yield wrong(CNP_DSCP, wanted.cnp_dscp, right)


def _why(variable: str, value: int) -> str:
    if variable in (PRIORITY, DSCP) and value == 0:
        return "; 0 is that of all traffic without a mark, which must not be paused"
    if variable == DSCP and value > 63 and value >> 2 <= 63:
        return f" (the type of service {value} has the DSCP {value >> 2})"
    return ""


def of_layer(values: Mapping[str, Any], layer: Optional[str], because: str) -> Iterator[Problem]:
    """InfiniBand loses no packets as it is."""
    if layer == "InfiniBand" and values.get(QOS):
        yield wrong(QOS, values[QOS], f"but {because}: leave it out, only RoCE needs it")
