# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Versions of the DRA drivers, and what each of them can.

This is the only place that knows: all others ask :func:`can`. Sources are tags, history and pull requests of
kubernetes-sigs/dranet and kubernetes-sigs/dra-driver-nvidia-gpu. ``docs/dra-drivers.md`` has the same table for users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, wrong

DRANET_VERSION, GPU_VERSION = "rdma_driver_dranet_version", "rdma_driver_gpu_version"

Numbers = Tuple[int, ...]

_VERSION = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:-[0-9A-Za-z.-]+)?")
# Versions of NVIDIA's driver were dates (year.month) until 25.12.0, which 0.4.0 follows. See gpu().
_FIRST_YEAR = 24

RUN, READ = "run", "read"


@dataclass(frozen=True)
class Ability:
    """Something that a driver does from a version on.

    ``since`` is that version in the form of :func:`dranet` or :func:`gpu`; ``None`` where no release is known to have
    it, which then counts as missing from all. ``known`` is how this is known: ``run`` in this project's tests with the
    real driver, or ``read`` only, in ``source``.
    """

    what: str
    since: Optional[Numbers]
    known: str
    source: str


# DRANET's main branch at f258477 (2026-08-21) is the newest source that was read as a whole. Its changes after the tag
# 1.4.0 are taken to be in 1.5.0, the next release, as are later pull requests that were merged.
_NEXT: Numbers = (1, 5, 0)

RESTARTS = Ability(
    "pods that are being created keep their NIC when the driver is restarted",
    (1, 4, 0),
    RUN,
    "issue 232",
)
PROVIDER_WEBHOOK = Ability(
    "attributes of NICs come from a webhook on a Unix socket (`--cloud-provider-hint=webhook`)",
    (1, 4, 0),
    RUN,
    "pkg/cloudprovider/webhook/webhook.go at v1.4.0",
)
ARP = Ability(
    "a claim can set `arpIgnore` and `arpAnnounce`; a move into a pod resets what the host has set",
    _NEXT,
    READ,
    "pkg/apis/types.go at f258477",
)
NIC_NUMA = Ability(
    "NICs have the attribute `resource.kubernetes.io/numaNode`",
    _NEXT,
    READ,
    "pkg/inventory/db.go at f258477",
)
NIC_NUMA_LIST = Ability(
    "this attribute is a list, with the feature gate `DRAListTypeAttributes` of DRANET and of the cluster",
    _NEXT,
    READ,
    "pkg/features/features.go at f258477",
)
RDMA_DEVICE = Ability(
    "NICs with a netdev have the attribute `dra.net/rdmaDevice`, too",
    _NEXT,
    READ,
    "pkg/inventory/db.go at f258477",
)
CUT_NAMES = Ability(
    "PCI names are cut to the 64 bytes of an attribute, so the API server does not refuse the node's ResourceSlices",
    _NEXT,
    READ,
    "pull requests 300 and 313",
)
ROUTE_SOURCES = Ability(
    "a copied route loses a source address that the pod does not have; with it, the kernel refuses the route and the "
    "pod does not start",
    _NEXT,
    READ,
    "pull request 318, for issue 285",
)
IPVLAN = Ability(
    "a claim can get an IPVLAN interface over the NIC (`type`, `ipvlan`, `addressing`) instead of the NIC itself",
    _NEXT,
    READ,
    "pull request 241",
)
BONDS = Ability(
    "an LACP bond, which cannot be moved, is offered through IPVLAN",
    _NEXT,
    READ,
    "pkg/inventory/bond.go at 11c3969, for issue 239",
)
IPV6 = Ability(
    "a claim can set `acceptRA` and the other sysctls of IPv6",
    _NEXT,
    READ,
    "interface-configuration.md of the site, at fd69ed5 and later",
)
DEFERRED_ATTACH = Ability(
    "NICs that are not attached within the runtime's request timeout are attached later "
    "(`--device-attach-timeout`); older versions let the pod start without them",
    None,
    READ,
    "device-attach-timing.md of the site, at f3488f2",
)
ATTACH_HOOK = Ability(
    "until then an OCI hook keeps containers from starting, and fails if the driver cannot be reached (`--hook-path`)",
    None,
    READ,
    "cmd/dranet-hook/main.go at f3488f2",
)
PROVIDER_HOOK = Ability(
    "a profile provider can name a program that runs on the node, in the pod's network namespace, before the first "
    "container",
    None,
    READ,
    "pkg/apis/hook at 21a2b58; its environment differs between commits",
)
DEVICE_METADATA = Ability(
    "containers find the attributes of their devices in files (KEP-5304)",
    None,
    READ,
    "not in pkg/driver/driver.go at f258477",
)
# In the order of docs/dra-drivers.md.
OF_DRANET = (
    RESTARTS,
    PROVIDER_WEBHOOK,
    ARP,
    NIC_NUMA,
    NIC_NUMA_LIST,
    RDMA_DEVICE,
    CUT_NAMES,
    ROUTE_SOURCES,
    IPVLAN,
    BONDS,
    IPV6,
    DEFERRED_ATTACH,
    ATTACH_HOOK,
    PROVIDER_HOOK,
    DEVICE_METADATA,
)

GPU_NUMA = Ability(
    "GPUs have the attribute `resource.kubernetes.io/numaNode`",
    (1, 0, 5, 0),
    RUN,
    "tag 0.5.0",
)
GPU_BUS_ID = Ability(
    "GPUs have `resource.kubernetes.io/pciBusID` instead of `pcieBusID`",
    (0, 25, 12, 0),
    READ,
    "tag 25.12.0; run from 0.4.1 on",
)
OF_GPU = (GPU_NUMA, GPU_BUS_ID)
_FIRST_GPU = (0, 25, 3, 0)

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
    if not can(found, RESTARTS):
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


def can(version: Numbers, ability: Ability) -> bool:
    """Whether a version has an ability. One that is newer than all that are known has what the newest of them has."""
    return ability.since is not None and version >= ability.since


def is_whole(version: Numbers) -> bool:
    """Whether all of this DRANET is known, so that what is not known here does not exist in it."""
    return version[:2] < _NEXT[:2]


def more_arguments(version: Numbers) -> Optional[Tuple[str, ...]]:
    """The arguments that DRANET knows beside those of the DaemonSet; ``None`` where there may be more."""
    return _ARGUMENTS if is_whole(version) else None


def doubt(version: Numbers) -> str:
    """A warning about a DRANET that was not tested, to follow names of hosts; empty where it was."""
    if is_whole(version):
        return ""
    never = f"{DRANET_VERSION} is {text(version)}, which was not tested with this collection"
    if version[:2] == _NEXT[:2]:
        return f"{never}: what it can is known from its source only"
    return f"{never} and is not known here: it is treated like {text(_NEXT)}"
