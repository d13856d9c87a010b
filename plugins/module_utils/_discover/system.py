# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the node's kernel and services allow: modules, RDMA netns mode, IOMMU, GPUDirect, locked memory."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, pci, units, unix_file
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree, is_number
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import (
    CharDevice,
    Gpu,
    GpuDirect,
    Hca,
    Limit,
    Memlock,
    PciFunction,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.kernel_module import canonical, is_pci_word

_RDMA_MODULES = ("ib_core", "ib_uverbs", "ib_umad", "rdma_cm", "rdma_ucm")
# RDMA module that serves a PCI driver (Kconfig of drivers/infiniband/hw).
PROVIDERS = {
    "mlx5_core": "mlx5_ib",
    "mlx4_core": "mlx4_ib",
    "bnxt_en": "bnxt_re",
    "ionic": "ionic_rdma",
    "efa": "efa",
}
_RUNTIME_UNITS = ("containerd", "crio", "k3s", "k3s-agent", "rke2-server", "rke2-agent")
_RUNTIME_COMMANDS = ("containerd", "crio")
# Memory regions on dma-buf file descriptors exist since Linux 5.12 (ib_uverbs, UVERBS_METHOD_REG_DMABUF_MR).
_DMABUF_SINCE = (5, 12)
DMABUF_OPTIONS = ("CONFIG_PCI_P2PDMA", "CONFIG_DMABUF_MOVE_NOTIFY")
FORMER_PEERMEM = "nv_peer_mem"
_ACS_WITH_PASSTHROUGH = (6, 11)
_PASSTHROUGH = {"iommu.passthrough=1", "iommu.passthrough=on", "iommu.passthrough=y"}

# Of Debian and Ubuntu for both architectures that have RDMA, and of Fedora, RHEL and SUSE.
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64")
_LIBIBVERBS = re.compile(r"libibverbs\.so\.1\.[0-9]+\.([0-9][0-9.]*)")

# CONFIG_NODES_SHIFT is at most 10.
_MAX_NUMNODES = 1024


def kernel_release(tree: Tree) -> Optional[str]:
    """Release of the running kernel, or the only one installed below ``root``."""
    running = tree.text("proc/sys/kernel/osrelease")
    installed = tree.names("lib/modules")
    return running or (installed[0] if len(installed) == 1 else None)


def module_states(tree: Tree, names: Sequence[str], release: Optional[str]) -> Dict[str, str]:
    """State of each kernel module (lib/modules/<release>/modules.dep and modules.builtin, depmod(8))."""
    directory = "lib/modules/" + release if release else None
    lists = [(tree.text(directory + "/" + name) if directory else None) for name in ("modules.builtin", "modules.dep")]
    builtin, available = [None if text is None else canonical(text) for text in lists]
    states = {}
    for name in names:
        in_path = "/" + name + ".ko"
        if tree.exists("sys/module/" + name + "/initstate"):
            states[name] = "loaded"
        elif tree.exists("sys/module/" + name) or in_path in (builtin or ""):
            states[name] = "builtin"
        elif available is None:
            states[name] = "unknown"
        else:
            states[name] = "available" if in_path in available else "missing"
    return states


def versions(tree: Tree) -> Dict[str, str]:
    """Versions of drivers and of rdma-core.

    Modules of the kernel itself have no version (``sys/module/*/version``, MODULE_VERSION), those of OFED and NVIDIA
    have. The file name of libibverbs ends with that of rdma-core (CMakeLists.txt, ``1.14.${PACKAGE_VERSION}``).
    """
    found = {}
    for name in sorted({"nvidia", *PROVIDERS, *PROVIDERS.values()}):
        version = tree.text("sys/module/" + name + "/version")
        if version:
            found[name] = version
    for directory in _LIBRARIES:
        for name in tree.names(directory):
            match = _LIBIBVERBS.fullmatch(name)
            if match:
                found["rdma-core"] = match.group(1)
    return found


def needed_modules(hcas: Sequence[Hca], gpus: Sequence[Gpu], nic_drivers: Sequence[str]) -> List[str]:
    """Modules this node's hardware needs for RDMA from containers."""
    names = list(_RDMA_MODULES)
    if any(port.link_layer == "InfiniBand" for hca in hcas for port in hca.ports):
        names.append("ib_ipoib")
    for driver in sorted(set(nic_drivers) & set(PROVIDERS)):
        names += [driver, PROVIDERS[driver]] if PROVIDERS[driver] != driver else [driver]
    if any(gpu.pci.vendor_id == "10de" for gpu in gpus):
        names.append("nvidia_peermem")
    return names


def netns_mode(tree: Tree) -> Optional[str]:
    """RDMA netns mode from the live ib_core parameter (``Y`` is shared); ``None`` when ib_core is not loaded."""
    value = tree.text("sys/module/ib_core/parameters/netns_mode")
    return {"Y": "shared", "1": "shared", "N": "exclusive", "0": "exclusive"}.get(value or "")


def iommu_modes(tree: Tree, addresses: Sequence[str]) -> Dict[str, Optional[str]]:
    """How the IOMMU treats each of these functions (Documentation/ABI/testing/sysfs-kernel-iommu_groups).

    The kernel makes the directory of groups at boot and leaves it empty without an IOMMU, so no directory means that
    the node did not say. A function in no group is not translated.
    """
    groups = "sys/kernel/iommu_groups"
    if not tree.names(groups):
        there = tree.exists(groups) and "/" + groups not in tree.unreadable
        return dict.fromkeys(addresses, "off" if there else None)
    found: Dict[str, Optional[str]] = {}
    for address in addresses:
        group = tree.target_name(pci.DEVICES + "/" + address + "/iommu_group")
        text = tree.text(f"{groups}/{group}/type") if group else None
        found[address] = "off" if not group else "passthrough" if text == "identity" else "translated" if text else None
    return found


def iommu_mode(modes: Mapping[str, Optional[str]]) -> Optional[str]:
    """The mode that all of them have, ``mixed`` where they differ, ``None`` where one is not known."""
    kinds = set(modes.values())
    if not kinds or None in kinds:
        return None
    return "mixed" if len(kinds) > 1 else kinds.pop()


def kernel_parameters(tree: Tree) -> Optional[List[str]]:
    """Words of the kernel's command line about IOMMU and PCI. Others may name hosts, or be secrets of an installer."""
    line = tree.data("proc/cmdline")
    if line is None:
        return None
    words = line.decode("ascii", "replace").replace('"', "").split()
    return [word for word in words if is_pci_word(word)]


def _processor(tree: Tree) -> Dict[str, str]:
    """What ``/proc/cpuinfo`` says of the first processor."""
    found: Dict[str, str] = {}
    for line in (tree.head("proc/cpuinfo", 8192) or b"").decode("ascii", "replace").splitlines():
        name, _colon, value = line.partition(":")
        if name.strip() in found:
            break
        found[name.strip()] = value.strip()
    return found


def architecture(tree: Tree) -> Optional[str]:
    """As ``uname -m``. The kernel tells it since 6.1; before, only ARM's processors have an implementer."""
    told = tree.text("proc/sys/kernel/arch")
    processor = {} if told else _processor(tree)
    return told or ("aarch64" if "CPU implementer" in processor else "x86_64" if "flags" in processor else None)


def is_virtual(tree: Tree, functions: Sequence[PciFunction]) -> Optional[bool]:
    """Whether this is a virtual machine: its processor says so, or one of its functions is below an emulated port.

    Only x86 has a flag for it (CPUID leaf 1, ECX bit 31). ``None`` where the processor cannot be read.
    """
    if any(pci.is_emulated(tree, function.pcie_path) for function in functions):
        return True
    processor = _processor(tree)
    if "flags" in processor:
        return "hypervisor" in processor["flags"].split()
    return False if "CPU implementer" in processor else None


def _version(release: Optional[str]) -> Optional[Sequence[int]]:
    parts = (release or "").split(".")[:2]
    return tuple(int(part) for part in parts) if len(parts) == 2 and all(is_number(part) for part in parts) else None


def passthrough_breaks_acs(tree: Tree, release: Optional[str]) -> bool:
    """Whether GPUs below a bridge with ACS get no CUDA context (nodewright-packages, pull request 122).

    That is so on ARM with ``iommu.passthrough=1``, and mended by Linux 6.11.
    """
    version = _version(release)
    if not version or tuple(version) >= _ACS_WITH_PASSTHROUGH:
        return False
    if _PASSTHROUGH.isdisjoint((tree.text("proc/cmdline") or "").split()):
        return False
    return architecture(tree) == "aarch64"


def _of_amdgpu(tree: Tree, release: Optional[str]) -> Tuple[Optional[bool], str]:
    """Whether libraries use dma-buf with AMD's driver: they ask for two options of the kernel.

    So do perftest (src/rocm_memory.c) and RCCL (src/misc/rocmwrap.cc), in the same file.
    """
    text = tree.text(f"boot/config-{release}") if release else None
    if text is None:
        return None, "not an NVIDIA GPU: depends on the driver's build"
    missing = [name for name in DMABUF_OPTIONS if f"{name}=y" not in text.splitlines()]
    return not missing, f"kernel {'without' if missing else 'with'} {' and '.join(missing or DMABUF_OPTIONS)}"


def gpudirect(tree: Tree, gpus: Sequence[Gpu], release: Optional[str], modules: Dict[str, str]) -> GpuDirect:
    """Whether peermem or dma-buf can register GPU memory (NVIDIA GPU Operator documentation, GPUDirect RDMA).

    ``nv_peer_mem`` is what nvidia_peermem was called before NVIDIA's driver 465.
    """
    result = GpuDirect(peermem=modules.get("nvidia_peermem"))
    if result.peermem and tree.exists(f"sys/module/{FORMER_PEERMEM}"):
        result.peermem = "loaded"
    version = _version(release)
    driver = tree.text("proc/driver/nvidia/version")
    if not gpus:
        result.dmabuf_reason = "no GPU"
    elif version is not None and tuple(version) < _DMABUF_SINCE:
        result.dmabuf, result.dmabuf_reason = False, f"kernel {release} is older than 5.12"
    elif all(gpu.pci.vendor_id != "10de" for gpu in gpus):
        amd = all(gpu.pci.driver == "amdgpu" for gpu in gpus)
        result.dmabuf, result.dmabuf_reason = _of_amdgpu(tree, release if amd else None)
    elif driver is None:
        result.dmabuf_reason = "the NVIDIA driver is not loaded"
    else:
        result.dmabuf = "Open Kernel Module" in driver
        result.dmabuf_reason = "NVIDIA {} kernel modules".format("open" if result.dmabuf else "proprietary")
    return result


# One path: /var/run is a link to /run.
_NRI_SOCKETS = ("/var/run/nri/nri.sock", "/run/nri/nri.sock")
# Flags of a socket that listens, and has no others: the kernel's __SO_ACCEPTCON.
_LISTENS = "00010000"


def _limit(word: str) -> Limit:
    return int(word) if is_number(word) else word


def _runtime_processes(tree: Tree) -> Iterator[Tuple[str, int]]:
    found = units.processes(tree, [f"{unit}.service" for unit in _RUNTIME_UNITS])
    for unit in _RUNTIME_UNITS:
        for pid in found.get(f"{unit}.service", ()):
            if tree.text(f"proc/{pid}/comm") in _RUNTIME_COMMANDS:
                yield unit, pid


def memlock(tree: Tree) -> Optional[Memlock]:
    """Locked-memory limit of the running container runtime, found through its systemd unit's control group."""
    for unit, pid in _runtime_processes(tree):
        for line in (tree.text(f"proc/{pid}/limits") or "").splitlines():
            words = line.split()
            if words[:3] == ["Max", "locked", "memory"] and len(words) >= 5:
                return Memlock(runtime=unit, pid=pid, soft=_limit(words[3]), hard=_limit(words[4]))
    return None


def nri(tree: Tree) -> Optional[bool]:
    """Whether a container runtime listens on NRI's socket; ``None`` where this user cannot tell.

    A socket that is left of a runtime without NRI is no listener, so the kernel is asked (``net/unix/af_unix.c``). Any
    process may bind a socket by that name in a file system of its own, so on a live node the file has to be root's.
    """
    lines = (tree.text("proc/net/unix") or "").splitlines()
    if not lines:
        return None
    rows = [line.split(None, 7) for line in lines[1:]]
    paths = {row[7] for row in rows if len(row) == 8 and row[3] == _LISTENS and row[7] in _NRI_SOCKETS}
    if not tree.live:
        return bool(paths)
    try:
        return any(unix_file.is_trusted(path) and unix_file.is_bound(path) for path in paths)
    except PermissionError:
        return None
    except OSError:
        return False


def numa_nodes(tree: Tree) -> List[int]:
    """Online NUMA nodes; the kernel writes a range list such as ``0-1,4``."""
    nodes: List[int] = []
    for part in (tree.text("sys/devices/system/node/online") or "").split(","):
        first, _dash, last = part.partition("-")
        if is_number(first) and is_number(last or first) and int(last or first) < _MAX_NUMNODES:
            nodes.extend(range(int(first), int(last or first) + 1))
    return nodes


def numa_distances(tree: Tree, nodes: Sequence[int]) -> Dict[int, Dict[int, int]]:
    """Distances between NUMA nodes as firmware gives them (ACPI's SLIT; 10 is the node itself), by node and node.

    Two nodes at most leave nothing to decide, so nothing is read. The kernel lists online nodes only
    (drivers/base/node.c, ``distance``). A row that does not fit is left out.
    """
    found: Dict[int, Dict[int, int]] = {}
    for node in nodes if len(nodes) > 2 else ():
        words = (tree.text(f"sys/devices/system/node/node{node}/distance") or "").split()
        if len(words) == len(nodes) and all(is_number(word) for word in words):
            found[node] = dict(zip(nodes, map(int, words)))
    return found


def rdma_cm(tree: Tree) -> CharDevice:
    """The connection manager's device, one per node."""
    return infiniband.char_device(tree, "sys/class/misc/rdma_cm", "rdma_cm")
