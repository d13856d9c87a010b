# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""What a host's variables want of the quality of service of its RDMA links (RoCE)."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import roce
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, refused, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.roce import RoceQos

QOS = "rdma_links_qos"
PRIORITY, DSCP = "rdma_links_qos_priority", "rdma_links_qos_dscp"
CNP_PRIORITY, CNP_DSCP = "rdma_links_qos_cnp_priority", "rdma_links_qos_cnp_dscp"


def intent(values: Mapping[str, Any]) -> Optional[RoceQos]:
    """What a host's converted variables ask for, ``None`` if nothing."""
    if not values.get(QOS):
        return None
    given = {name: values.get(f"{QOS}_{name}") for name in roce.RULES}
    return RoceQos(**{name: value for name, value in given.items() if value is not None})


def of_values(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Values that cannot be right on any port, also where they are not used yet."""
    found: List[Problem] = []
    for name, rule in roce.RULES.items():
        variable = f"{QOS}_{name}"
        value = values.get(variable)
        found += [] if value is None else refused(variable, value, rule, more=_why(variable, value))
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
