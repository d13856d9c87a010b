# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Metrics of the exporter that alerts and dashboards ask for, and how they are joined.

Series of one node have the labels ``job`` and ``instance`` of the target that they come from.
"""

from __future__ import annotations

from typing import Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import families
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.history import ACTIVE as _ACTIVE
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.figures import SOFTWARE

TARGET = ("job", "instance")
DEVICE = (*TARGET, "device")
PORT = (*DEVICE, "port")

STATE, PHYSICAL_STATE, RATE = (
    families.own(name) for name in ("state_id", "physical_state_id", "rate_bytes_per_second")
)
EXPECTED_RATE, SM_LID = families.own("expected_rate_bytes_per_second"), families.own("sm_lid")
PORT_INFO, DEVICE_INFO, NODE_INFO, POD_INFO = (
    "rdma_port_info",
    "rdma_device_info",
    "rdma_node_info",
    "rdma_port_pod_info",
)
PRESENT = "rdma_device_present"
FAULTS, ACTIVE_FAULT = "rdma_device_kernel_faults_total", "rdma_device_kernel_fault_active"
LAST_LOOK, HUNG = "rdma_exporter_last_look_timestamp_seconds", "rdma_exporter_hung"

ACTIVE = f"{STATE} == {_ACTIVE}"
RAIL = f'{PORT_INFO}{{rail!=""}}'
_SOFTWARE = f'{DEVICE_INFO}{{driver=~"{"|".join(SOFTWARE)}"}}'


def on(labels: Sequence[str]) -> str:
    """How two metrics are matched."""
    return f"on ({', '.join(labels)})"


def of_counter(file: str) -> str:
    """The metric of a counter of the kernel."""
    known = families.COUNTERS.get(file)
    found = families.own(known[0]) if known else families.hardware(file)
    if found is None:
        raise ValueError(f"{file} is no counter")
    return found


def of_rails(expression: str) -> str:
    """An expression about ports, for those that are rails, with the label ``rail``."""
    return f"({expression})\n* {on(PORT)} group_left (rail) {RAIL}"


def of_hardware(expression: str) -> str:
    """An expression about ports, without those of software devices."""
    return f"({expression})\nunless {on(DEVICE)} {_SOFTWARE}"


def of_hosts(expression: str, nodes: str = NODE_INFO) -> str:
    """An expression with the labels ``host`` and ``group``."""
    return f"({expression})\n* {on(TARGET)} group_left (host, group) {nodes}"
