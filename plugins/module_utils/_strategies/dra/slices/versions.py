# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Versions of the DRA drivers, and what changes with them.

Sources: tags and history of kubernetes-sigs/dranet and kubernetes-sigs/dra-driver-nvidia-gpu.
"""

from __future__ import annotations

import re
from typing import Any, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, wrong

DRANET_VERSION, GPU_VERSION = "rdma_driver_dranet_version", "rdma_driver_gpu_version"

Numbers = Tuple[int, ...]

_VERSION = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:-[0-9A-Za-z.-]+)?")
# Before it, pods lost their NIC when the driver was restarted (kubernetes-sigs/dranet issue 232).
_OLDEST_DRANET = (1, 4, 0)
# The newest version whose source was read. Features of 1.5.0 were merged after the tag 1.4.0 or are from DRANET's
# documentation.
_READ_DRANET, DOCUMENTED_DRANET = (1, 4), (1, 5, 0)
# First versions that have it.
_STANDARD_NUMA_DRANET = _RDMA_DEVICE_DRANET = _ROUTE_SOURCES_DRANET = _ARP_DRANET = DOCUMENTED_DRANET
_CUT_NAMES_DRANET = DOCUMENTED_DRANET
# The NVIDIA driver's versions were dates (year.month) until 25.12.0, which 0.4.0 follows.
_FIRST_GPU, _PCI_BUS_ID_GPU, _STANDARD_NUMA_GPU = (0, 25, 3, 0), (0, 25, 12, 0), (1, 0, 5, 0)
_FIRST_YEAR = 24
# Arguments of DRANET 1.4.0, as dranet --help lists them, without those that the DaemonSet sets or relies on. Later
# versions have more.
_ARGUMENTS = (
    "add_dir_header",
    "alsologtostderr",
    "alsologtostderrthreshold",
    "feature-gates",
    "inventory-poll-burst",
    "kubeconfig",
    "legacy_stderr_threshold_behavior",
    "log_backtrace_at",
    "log_dir",
    "log_file",
    "log_file_max_size",
    "logtostderr",
    "one_output",
    "profile-provider",
    "skip_headers",
    "skip_log_headers",
    "stderrthreshold",
    "vmodule",
    "webhook-url",
)


def text(version: Sequence[int]) -> str:
    """A version as people write it."""
    return ".".join(map(str, version))


def _numbers(variable: str, value: Any) -> Numbers:
    match = _VERSION.fullmatch(str(value))
    if match is None:
        raise PlanError(wrong(variable, value, "it must be a version like 1.4.0"))
    return tuple(int(number) for number in match.groups())


def dranet(value: Any) -> Numbers:
    """DRANET's version, to be compared with others of it. Raises PlanError."""
    found = _numbers(DRANET_VERSION, value)
    if found < _OLDEST_DRANET:
        raise PlanError(wrong(DRANET_VERSION, value, "it must be 1.4.0 or newer"))
    return found


def gpu(value: Any) -> Numbers:
    """The version of the NVIDIA driver, to be compared with others of it. Raises PlanError."""
    found = _numbers(GPU_VERSION, value)
    ordered = (0 if found[0] >= _FIRST_YEAR else 1, *found)
    if ordered < _FIRST_GPU or (1, 0, 0, 0) <= ordered < (1, 0, 4, 0):
        right = "it must be 25.3.0 or newer; 0.4.0 and what follows it are newer than 25.12.0"
        raise PlanError(wrong(GPU_VERSION, value, right))
    return ordered


def more_arguments(version: Numbers) -> Optional[Tuple[str, ...]]:
    """The arguments that DRANET knows beside those of the DaemonSet; ``None`` for a version that was not read."""
    return _ARGUMENTS if was_read(version) else None


def was_read(version: Numbers) -> bool:
    """Whether the source of this DRANET was read, so that what is not known here does not exist."""
    return version[:2] <= _READ_DRANET


def arp_in_claims(version: Numbers) -> bool:
    """Whether a claim can set the ARP sysctls of its interface; what the host has set is reset by the move."""
    return version >= _ARP_DRANET


def standard_numa_of_nics(version: Numbers) -> bool:
    """Whether DRANET publishes ``resource.kubernetes.io/numaNode``."""
    return version >= _STANDARD_NUMA_DRANET


def rdma_device_of_every_nic(version: Numbers) -> bool:
    """Whether DRANET publishes ``rdmaDevice`` also for NICs with a netdev."""
    return version >= _RDMA_DEVICE_DRANET


def cuts_names(version: Numbers) -> bool:
    """Whether DRANET cuts the names of PCI devices to what an attribute may have."""
    return version >= _CUT_NAMES_DRANET


def keeps_route_sources(version: Numbers) -> bool:
    """Whether DRANET copies the host's routes with source addresses that the pod may not have.

    The kernel refuses such a route and the pod never starts (issue 285, mended by pull request 318).
    """
    return version < _ROUTE_SOURCES_DRANET


def standard_numa_of_gpus(version: Numbers) -> bool:
    """Whether the NVIDIA driver publishes ``resource.kubernetes.io/numaNode``."""
    return version >= _STANDARD_NUMA_GPU


def standard_bus_id(version: Numbers) -> bool:
    """Whether the NVIDIA driver publishes ``resource.kubernetes.io/pciBusID`` instead of ``pcieBusID``."""
    return version >= _PCI_BUS_ID_GPU
