# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Possible problems of a node, as codes with fields. Their texts are made here and nowhere else."""

from __future__ import annotations

from typing import Callable, Dict, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import FieldValue, Warn
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

ACS_REDIRECTS = "acs_redirects"
ACS_WITHOUT_CUDA = "acs_without_cuda"
COMMAND_TIMEOUT = "command_timeout"
FIRMWARE_RESET = "firmware_reset"
GPU_INDEX = "gpu_index"
HCA_TEMPERATURE = "hca_temperature"
HCA_UNHEALTHY = "hca_unhealthy"
LINK_ERRORS = "link_errors"
MODULE_ERROR = "module_error"
NETDEV_CLAIMED_TWICE = "netdev_claimed_twice"
NO_RDMA_DEVICE = "no_rdma_device"
NO_SUBNET_MANAGER = "no_subnet_manager"
NUMA_UNKNOWN = "numa_unknown"
OTHER_DRIVERS = "other_drivers"
OTHER_GPUS = "other_gpus"
PCIE_BELOW_PORT_RATE = "pcie_below_port_rate"
PCIE_DEGRADED = "pcie_degraded"
PCIE_ERROR = "pcie_error"
PCIE_FATAL = "pcie_fatal"
PEERMEM_ERROR = "peermem_error"
PORT_DOWN = "port_down"
RATE_BELOW_MAXIMUM = "rate_below_maximum"
REGISTER_ACCESS = "register_access"
SLOT_POWER = "slot_power"
TRANSMIT_TIMEOUT = "transmit_timeout"
UMAD_MISSING = "umad_missing"
UNREADABLE = "unreadable"
UVERBS_MISSING = "uverbs_missing"

_NAMED_AT_MOST = 4


def _no_subnet_manager(subject: str, state: Optional[str] = None) -> str:
    if state is None:
        return f"{subject} has SM LID 0: no subnet manager on its fabric"
    return f"{subject} is cabled but in state {state}: no subnet manager responds on its fabric"


def _port_down(
    subject: str, up: Sequence[str], state: Optional[str] = None, physical_state: Optional[str] = None
) -> str:
    instead = f"{', '.join(up)} {'is' if len(up) == 1 else 'are'} up" if up else "no other port is up"
    physical = physical_state or "physical state unknown"
    return f"{subject} is {state or 'in an unknown state'} ({physical}), {instead}: check the cable of {subject}"


def _rate_below_maximum(
    subject: str,
    rate_gbps: float = 0,
    max_rate_gbps: Optional[float] = None,
    lanes: Optional[int] = None,
    max_lanes: Optional[int] = None,
    twin: Optional[str] = None,
) -> str:
    if twin is not None:
        now, best = f"{rate_gbps:g} Gb/s", f"{max_rate_gbps or 0:g} Gb/s"
        check = f"check the cable and the switch port of {subject}"
        return f"{subject} runs at {now}, {twin} on an equal card at {best}: {check}"
    if lanes is None:
        return f"{subject} runs at {rate_gbps:g} Gb/s, its maximum is {max_rate_gbps or 0:g} Gb/s"
    return f"{subject} runs at {rate_gbps:g} Gb/s on {lanes} of {max_lanes} lanes: check for a split or faulty cable"


def _pcie_degraded(
    subject: str,
    speed_gts: float = 0,
    width: Optional[int] = None,
    max_speed_gts: float = 0,
    max_width: Optional[int] = None,
) -> str:
    now, best = f"{speed_gts:g} GT/s x{width}", f"{max_speed_gts:g} GT/s x{max_width}"
    return f"{subject} has a PCIe link of {now}, card and slot support {best}: check slot and riser"


def _gpu_index(subject: str, nvidia_smi: Optional[int] = None) -> str:
    if nvidia_smi is None:
        return f"{subject} is not bound to the NVIDIA driver, so the indices from here on are not those of nvidia-smi"
    return f"{subject} is GPU {nvidia_smi} of nvidia-smi, so the indices from here on are not those of nvidia-smi"


def _link_errors(subject: str, counter: str, count: int, limit: float) -> str:
    allowed = f"{limit:.0f} would be normal since boot" if limit else "it should be 0"
    return f"{subject} has {counter} {count}, {allowed}: a bad cable, transceiver or switch port, or congestion"


def _kernel_log(
    subject: str,
    count: int,
    message: str = "",
    first: str = "",
    last: str = "",
    recovered: Optional[str] = None,
    kind: str = "",
) -> str:
    """Without ``message``, what an exporter has counted of a ``kind``: it keeps no texts."""
    over = f"; over since {recovered}" if recovered else ""
    if not message:
        times = "once" if count == 1 else f"{count} times"
        return f"{subject}: the kernel has reported {kind} {times}, as the exporter has counted{over}"
    times = f"at {first}" if count == 1 else f"{count} such messages, the first at {first}, the last at {last}"
    return f"{subject}: the kernel said '{message}' ({times}{over})"


def _netdev_claimed_twice(subject: str, ports: Sequence[str]) -> str:
    return f"{', '.join(ports)} all claim netdev {subject}: sysfs is inconsistent"


def _acs_without_cuda(subject: str, kernel: str) -> str:
    why = f"ACS is on in {subject} above a GPU, with iommu.passthrough=1 and Linux {kernel}"
    return f"{why}: on ARM before 6.11, no program gets a CUDA context then"


def _other_gpus(subject: str, vendor: str, count: int) -> str:
    what = f"{counted(count, 'accelerator')} of PCI vendor {vendor}, the first at {subject}"
    return f"{what}, not counted as GPU: add the vendor to rdma_discover_gpu_vendors if workloads use it"


def _other_drivers(subject: str, hcas: Sequence[str], drivers: Sequence[str]) -> str:
    what = f"no HCA has a driver of rdma_discover_drivers, but {', '.join(hcas)} would be fit for workloads"
    return f"{what}: add {', '.join(drivers)} if they are for RDMA"


def _acs_redirects(subject: str, bridges: Sequence[str]) -> str:
    named = ", ".join(bridges[:_NAMED_AT_MOST]) + (", ..." if len(bridges) > _NAMED_AT_MOST else "")
    return f"ACS on {counted(len(bridges), 'bridge')} redirects GPU-NIC traffic to the root complex: {named}"


_TEXTS: Dict[str, Callable[..., str]] = {
    ACS_REDIRECTS: _acs_redirects,
    ACS_WITHOUT_CUDA: _acs_without_cuda,
    COMMAND_TIMEOUT: _kernel_log,
    FIRMWARE_RESET: _kernel_log,
    GPU_INDEX: _gpu_index,
    HCA_TEMPERATURE: _kernel_log,
    HCA_UNHEALTHY: _kernel_log,
    LINK_ERRORS: _link_errors,
    MODULE_ERROR: _kernel_log,
    NETDEV_CLAIMED_TWICE: _netdev_claimed_twice,
    NO_RDMA_DEVICE: (
        "{subject} ({driver}) has no RDMA device: {module} is not loaded, or it is in another RDMA network namespace"
    ).format,
    NO_SUBNET_MANAGER: _no_subnet_manager,
    NUMA_UNKNOWN: "firmware reports no NUMA node for {subject} ({address}), so its paths count as SYS".format,
    OTHER_DRIVERS: _other_drivers,
    OTHER_GPUS: _other_gpus,
    PCIE_BELOW_PORT_RATE: (
        "{subject} is a {rate_gbps:g} Gb/s port behind a PCIe link that carries {pcie_gbps:g} Gb/s"
    ).format,
    PCIE_DEGRADED: _pcie_degraded,
    PCIE_ERROR: _kernel_log,
    PCIE_FATAL: _kernel_log,
    PEERMEM_ERROR: _kernel_log,
    PORT_DOWN: _port_down,
    RATE_BELOW_MAXIMUM: _rate_below_maximum,
    REGISTER_ACCESS: _kernel_log,
    SLOT_POWER: _kernel_log,
    TRANSMIT_TIMEOUT: _kernel_log,
    UMAD_MISSING: (
        "{subject} has no /dev/infiniband/umadN: load ib_umad, device plugins ignore the port without it"
    ).format,
    UNREADABLE: "{subject} cannot be used: {reason}".format,
    UVERBS_MISSING: "{subject} has no /dev/infiniband/uverbsN: load ib_uverbs, the HCA is unusable without it".format,
}


def warning(code: str, subject: str, **fields: Optional[FieldValue]) -> Warn:
    """A warning with its text. ``fields`` are those of the code; those that are ``None`` are omitted."""
    known = {name: value for name, value in fields.items() if value is not None}
    return Warn(code, subject, _TEXTS[code](subject=subject, **known), known)
