# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Kernel, modules, NUMA nodes, GPU driver and container runtime."""

from __future__ import annotations

from . import identity, models
from .place import Function
from .runtimes import write_runtime
from .spec import Description
from .stack import SELF_PID
from .tree import Tree

RUNTIME_PID = 2140
CORE, HW, ULP, SW = ("kernel/drivers/infiniband/" + part for part in ("core", "hw", "ulp", "sw"))
NET = "kernel/drivers/net/ethernet"
# Module -> where it lives and what it needs.
MODULES: dict[str, tuple[str, list[str]]] = {
    "ib_core": (CORE, []),
    "ib_uverbs": (CORE, ["ib_core"]),
    "ib_umad": (CORE, ["ib_core"]),
    "ib_cm": (CORE, ["ib_core"]),
    "iw_cm": (CORE, ["ib_core"]),
    "rdma_cm": (CORE, ["iw_cm", "ib_cm", "ib_core"]),
    "rdma_ucm": (CORE, ["rdma_cm", "ib_uverbs", "ib_core"]),
    "ib_ipoib": (f"{ULP}/ipoib", ["ib_cm", "ib_core"]),
    "mlx5_core": (f"{NET}/mellanox/mlx5/core", []),
    "mlx5_ib": (f"{HW}/mlx5", ["mlx5_core", "ib_uverbs", "ib_core"]),
    "mlx4_core": (f"{NET}/mellanox/mlx4", []),
    "mlx4_en": (f"{NET}/mellanox/mlx4", ["mlx4_core"]),
    "mlx4_ib": (f"{HW}/mlx4", ["mlx4_core", "ib_uverbs", "ib_core"]),
    "bnxt_en": (f"{NET}/broadcom/bnxt", []),
    "bnxt_re": (f"{HW}/bnxt_re", ["bnxt_en", "ib_uverbs", "ib_core"]),
    "rdma_rxe": (f"{SW}/rxe", ["ib_uverbs", "ib_core"]),
    "siw": (f"{SW}/siw", ["ib_uverbs", "ib_core"]),
    "nvidia": ("updates/dkms", []),
    "nvidia_uvm": ("updates/dkms", ["nvidia"]),
    "nvidia_peermem": ("updates/dkms", ["nvidia", "ib_core"]),
    "amdgpu": ("kernel/drivers/gpu/drm/amd/amdgpu", []),
    "bonding": ("kernel/drivers/net/bonding", []),
    "bridge": ("kernel/net/bridge", []),
    "8021q": ("kernel/net/8021q", []),
    "igb": (f"{NET}/intel/igb", []),
    "ixgbe": (f"{NET}/intel/ixgbe", []),
    "tg3": (f"{NET}/broadcom", []),
    "r8169": (f"{NET}/realtek", []),
    "ast": ("kernel/drivers/gpu/drm/ast", []),
    "radeon": ("kernel/drivers/gpu/drm/radeon", []),
    "nvme": ("kernel/drivers/nvme/host", []),
    "snd_hda_intel": ("kernel/sound/pci/hda", []),
}
RDMA = ["ib_core", "ib_uverbs", "ib_umad", "ib_cm", "iw_cm", "rdma_cm", "rdma_ucm"]
ON_DISK_ONLY = ["rdma_rxe", "siw", "ib_ipoib"]


def wanted_modules(node: Description, drivers: set[str]) -> list[str]:
    """What this hardware makes a node load, before the description's ``modules`` says otherwise."""
    wanted = list(RDMA) if node.hcas else []
    for driver in ("mlx5", "mlx4"):
        if f"{driver}_core" in drivers:
            wanted += [f"{driver}_core", f"{driver}_ib"] + (["mlx4_en"] if driver == "mlx4" else [])
    wanted += ["bnxt_en", "bnxt_re"] if "bnxt_en" in drivers else []
    layers = {
        port.link_layer or models.HCAS[hca.model].link_layer
        for hca in node.hcas.values()
        if hca.model in models.HCAS
        for port in hca.ports
    }
    wanted += ["ib_ipoib"] if "InfiniBand" in layers else []
    wanted += ["nvidia", "nvidia_uvm", "nvidia_peermem"] if "nvidia" in drivers else []
    wanted += ["rdma_rxe"] if any(hca.model == "rxe" for hca in node.hcas.values()) else []
    wanted += ["siw"] if any(hca.model == "siw" for hca in node.hcas.values()) else []
    wanted += ["bonding"] if any(device.bond for device in node.netdevs.values()) else []
    wanted += ["bridge"] if any(device.bridge for device in node.netdevs.values()) else []
    wanted += ["8021q"] if any(device.vlan for device in node.netdevs.values()) else []
    wanted += [driver for driver in sorted(drivers) if driver in MODULES and driver not in wanted]
    return wanted


def present_modules(node: Description) -> set[str]:
    """Modules whose code runs, loaded or built in; hardware drivers do not matter to the caller."""
    gone = {*node.modules.unloaded, *node.modules.missing}
    return {name for name in [*(RDMA if node.hcas else []), *node.modules.builtin] if name not in gone}


def write_system(node: Description, functions: list[Function], tree: Tree) -> None:
    tree.file("proc/sys/kernel/osrelease", node.kernel)
    tree.file("proc/version", f"Linux version {node.kernel} (synthesised)")
    iommu = {"off": "", "passthrough": " iommu=pt", "translated": ""}[node.iommu]
    if node.iommu != "off":
        iommu = (" amd_iommu=on" if node.platform in ("rome", "genoa", "desktop") else " intel_iommu=on") + iommu
    tree.file("proc/cmdline", f"BOOT_IMAGE=/boot/vmlinuz-{node.kernel} root=LABEL=root ro{iommu}")
    _write_processor(node, tree)
    tree.file("etc/hostname", node.host)
    tree.file("proc/uptime", "864000.00 1728000.00")
    # Every distribution has them, so what is put back after a change is the tree there was.
    for directory in ("etc/security/limits.d", "var/lib", "sys/kernel/iommu_groups"):
        tree.directory(directory)
    _write_numa(node, tree)
    _write_modules(node, functions, tree)
    _write_gpus(node, functions, tree)
    _write_runtime(node, tree)


def _write_processor(node: Description, tree: Tree) -> None:
    """Of the flags, those that tell a virtual machine; devices without a port above them are only found in one."""
    vendor = "AuthenticAMD" if node.platform in ("rome", "genoa", "desktop") else "GenuineIntel"
    flags = "fpu vme msr pae sse2 ht" + (" hypervisor" if any(root.direct for root in node.pci) else "")
    tree.file("proc/cpuinfo", f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n".encode())


def _write_numa(node: Description, tree: Tree) -> None:
    count = max([root.numa for root in node.pci] + [0]) + 1
    cpus = models.PLATFORMS[node.platform].cpus_per_node // node.nodes_per_socket
    tree.file("sys/devices/system/node/online", f"0-{count - 1}" if count > 1 else "0")
    for index in range(count):
        tree.attrs(
            f"sys/devices/system/node/node{index}",
            {
                "cpulist": f"{index * cpus}-{(index + 1) * cpus - 1}",
                "distance": " ".join(_distance(index, other, node.nodes_per_socket) for other in range(count)),
            },
        )


def _distance(one: int, other: int, per_socket: int) -> str:
    """As firmware tells it: two nodes of one socket exist only where a socket has several (NPS2, NPS4)."""
    if one == other:
        return "10"
    if per_socket == 1:
        return "21"
    return "12" if one // per_socket == other // per_socket else "32"


def _write_modules(node: Description, functions: list[Function], tree: Tree) -> None:
    spec = node.modules
    drivers = {function.part.driver for function in functions} - {"pcieport"}
    wanted = wanted_modules(node, drivers)
    off = {*spec.unloaded, *spec.missing, *spec.builtin}
    loaded = [name for name in wanted if name not in off]
    suffix = "ko.xz" if ".fc" in node.kernel else "ko.zst"
    nowhere = {*spec.missing, *spec.builtin}
    disk = [name for name in dict.fromkeys([*wanted, *ON_DISK_ONLY, *spec.unloaded]) if name not in nowhere]

    def file_of(name: str) -> str:
        return f"{MODULES[name][0]}/{name}.{suffix}"

    rows = []
    for name in loaded:
        users = [other for other in loaded if name in MODULES[other][1]]
        tree.attrs(
            f"sys/module/{name}",
            {
                "initstate": "live",
                "refcnt": len(users),
                "coresize": 65536,
                "taint": "",
            },
        )
        by = "".join(f"{user}," for user in users) or "-"
        taint = " (OE)" if name.startswith("nvidia") else ""
        rows.append(f"{name} 65536 {len(users)} {by} Live 0x0000000000000000{taint}\n")
    tree.file("proc/modules", "".join(rows).encode())
    # Built-in code has a directory only when it has parameters, and never an initstate.
    for name in spec.builtin:
        tree.directory(f"sys/module/{name}/parameters")
    if node.hcas and "ib_core" not in {*spec.unloaded, *spec.missing}:
        mode = "Y" if node.rdma_netns == "shared" else "N"
        tree.file("sys/module/ib_core/parameters/netns_mode", mode)
    tree.raw_link("lib", "usr/lib")
    base = f"usr/lib/modules/{node.kernel}"
    dependencies = "".join(
        " ".join([f"{file_of(name)}:", *[file_of(need) for need in MODULES[name][1] if need in disk]]) + "\n"
        for name in sorted(disk)
    )
    tree.file(f"{base}/modules.dep", dependencies.encode())
    builtin = "".join(f"{MODULES[name][0]}/{name}.ko\n" for name in [*spec.builtin])
    tree.file(f"{base}/modules.builtin", f"kernel/fs/ext4/ext4.ko\n{builtin}".encode())
    tree.file(f"boot/config-{node.kernel}", "CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y\nCONFIG_INFINIBAND=m")


def _write_gpus(node: Description, functions: list[Function], tree: Tree) -> None:
    gpus = sorted((f for f in functions if f.name == "gpu"), key=lambda f: f.address)
    for gpu in gpus:
        if gpu.part.driver == "amdgpu":
            tree.file(f"{gpu.path}/product_name", models.GPUS[node.gpu].name)
            tree.file(f"{gpu.path}/unique_id", identity.digest(node.host, gpu.address)[:16])
    if not gpus or gpus[0].part.driver != "nvidia" or "nvidia" in {*node.modules.unloaded, *node.modules.missing}:
        return
    flavour = "Open Kernel Module for x86_64" if node.nvidia.open else "x86_64 Kernel Module"
    tree.file(
        "proc/driver/nvidia/version",
        f"NVRM version: NVIDIA UNIX {flavour}  {node.nvidia.version}  Release Build  (synthesised)\nGCC version:",
    )
    tree.file("sys/module/nvidia/version", node.nvidia.version)
    for minor, gpu in enumerate(gpus):
        lines = [
            ("Model:", "\t\t", models.GPUS[node.gpu].name),
            ("IRQ:", "   \t\t", str(100 + minor)),
            ("GPU UUID:", "\t", identity.gpu_uuid(node.host, gpu.address)),
            ("Video BIOS:", "\t", "??.??.??.??.??"),
            ("Bus Type:", "\t", "PCIe"),
            ("DMA Size:", "\t", "47 bits"),
            ("DMA Mask:", "\t", "0x7fffffffffff"),
            ("Bus Location:", "\t", gpu.address),
            ("Device Minor:", "\t", str(minor)),
            ("GPU Firmware:", "\t", node.nvidia.version if node.nvidia.open else "N/A"),
            ("GPU Excluded:", "\t", "No"),
        ]
        text = "".join(f"{label} {tabs} {value}\n" for label, tabs, value in lines)
        tree.file(f"proc/driver/nvidia/gpus/{gpu.address}/information", text.encode())


def _limits(memlock: int | str) -> bytes:
    rows = [
        ("Limit", "Soft Limit", "Hard Limit", "Units"),
        ("Max cpu time", "unlimited", "unlimited", "seconds"),
        ("Max stack size", "8388608", "unlimited", "bytes"),
        ("Max processes", "unlimited", "unlimited", "processes"),
        ("Max open files", "1048576", "1048576", "files"),
        ("Max locked memory", str(memlock), str(memlock), "bytes"),
        ("Max address space", "unlimited", "unlimited", "bytes"),
    ]
    return "".join(f"{a:<25} {b:<20} {c:<20} {d:<10}\n" for a, b, c, d in rows).encode()


def _write_runtime(node: Description, tree: Tree) -> None:
    cgroup = f"system.slice/{node.runtime.unit}"
    service = list(enumerate(node.runtime.processes, RUNTIME_PID))
    for pid, comm, memlock, group in [
        (1, "systemd", 8388608, "init.scope"),
        *((pid, comm, node.runtime.memlock, cgroup) for pid, comm in service),
        (SELF_PID, "python3", 8388608, "user.slice"),
    ]:
        tree.file(f"proc/{pid}/comm", comm)
        tree.file(f"proc/{pid}/limits", _limits(memlock))
        tree.file(f"proc/{pid}/cgroup", f"0::/{group}")
    procs = "\n".join(str(pid) for pid, _comm in service)
    tree.file(f"sys/fs/cgroup/{cgroup}/cgroup.procs", procs)
    write_runtime(node.runtime.config, node.runtime.unit, tree)
