# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Tables of parts. All of it is synthesised: ids are the public PCI ids, firmware and PSID are merely plausible."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """What any PCI function says about itself."""

    vendor: int
    device: int
    klass: int
    driver: str = ""
    speed: float = 8.0
    width: int = 16
    subsystem: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class HcaModel:
    part: Part
    psid: str
    firmware: str
    rate: float
    link_layer: str
    total_vfs: int = 8
    ports: int = 1
    # Vital Product Data: identifier string, model, and what a function is for when it is no plain NIC.
    product: str = ""
    modl: str = ""
    smdl: str = ""


@dataclass(frozen=True)
class GpuModel:
    part: Part
    name: str
    audio: bool = False


@dataclass(frozen=True)
class NicModel:
    part: Part
    speed: int


@dataclass(frozen=True)
class Platform:
    root_port: Part
    upstream: Part
    downstream: Part
    cpus_per_node: int


def _mlx5(device: int, klass: int, speed: float, width: int, subdevice: int) -> Part:
    return Part(0x15B3, device, klass, "mlx5_core", speed, width, (0x15B3, subdevice))


IB, ETH = 0x020700, 0x020000

HCAS: dict[str, HcaModel] = {
    "ConnectX-3 VPI": HcaModel(
        Part(0x15B3, 0x1003, 0x028000, "mlx4_core", 8.0, 8, (0x15B3, 0x0051)),
        "MT_1090120019",
        "2.42.5000",
        40,
        "Ethernet",
        0,
        2,
    ),
    "ConnectX-4 EDR": HcaModel(_mlx5(0x1013, IB, 8.0, 16, 0x0008), "MT_2180110032", "12.28.2006", 100, "InfiniBand"),
    "ConnectX-4 Lx": HcaModel(_mlx5(0x1015, ETH, 8.0, 8, 0x0003), "MT_2410110034", "14.32.1010", 25, "Ethernet"),
    "ConnectX-4 Lx 10G": HcaModel(_mlx5(0x1015, ETH, 8.0, 8, 0x0004), "MT_2420110004", "14.32.1010", 10, "Ethernet"),
    "ConnectX-5 EDR": HcaModel(_mlx5(0x1017, IB, 8.0, 16, 0x0010), "MT_0000000010", "16.35.2000", 100, "InfiniBand"),
    "ConnectX-6 HDR": HcaModel(_mlx5(0x101B, IB, 16.0, 16, 0x0028), "MT_0000000223", "20.38.1002", 200, "InfiniBand"),
    "ConnectX-6 Dx": HcaModel(_mlx5(0x101D, ETH, 16.0, 16, 0x0042), "MT_0000000359", "22.38.1002", 100, "Ethernet"),
    "ConnectX-7 NDR": HcaModel(
        _mlx5(0x1021, IB, 32.0, 16, 0x0049),
        "MT_0000000838",
        "28.39.1002",
        400,
        "InfiniBand",
        product="NVIDIA ConnectX-7 HHHL Adapter card, 400GbE / NDR IB",
        modl="MCX75310AAS-NEAT",
    ),
    "ConnectX-7 400GbE": HcaModel(
        _mlx5(0x1021, ETH, 32.0, 16, 0x0048),
        "MT_0000000834",
        "28.39.1002",
        400,
        "Ethernet",
        product="NVIDIA ConnectX-7 Ethernet adapter card, 400GbE",
        modl="MCX75310AAC-NEAT",
    ),
    # On the GPU baseboard: how the host reaches the NVSwitches of HGX B200. It has no port to a network.
    "ConnectX-7 NVSwitch bridge": HcaModel(
        _mlx5(0x1021, IB, 16.0, 2, 0x0087),
        "NVD0000000061",
        "28.44.2524",
        400,
        "InfiniBand",
        0,
        product="NVIDIA GPU baseboard, NVSwitch management",
        modl="P4768-A",
        smdl="SW_MNG",
    ),
    "BlueField-3 200GbE": HcaModel(
        _mlx5(0xA2DC, ETH, 32.0, 16, 0x0009), "MT_0000000884", "32.44.1036", 200, "Ethernet", 16
    ),
    "BCM57608 400GbE": HcaModel(
        Part(0x14E4, 0x1760, ETH, "bnxt_en", 32.0, 16, (0x14E4, 0x9120)), "", "231.2.63.0", 400, "Ethernet", 0
    ),
    # A virtual function handed to a machine that does not see the physical one.
    "ConnectX-7 NDR VF": HcaModel(
        _mlx5(0x101E, IB, 32.0, 16, 0x0049), "MT_0000000838", "28.39.1002", 400, "InfiniBand", 0
    ),
}
# Keyed by the physical function's device id.
VF_DEVICES = {0x1013: 0x1014, 0x1015: 0x1016, 0x1017: 0x1018, 0x101B: 0x101C, 0x101D: 0x101E, 0x1021: 0x101E}
VF_ONLY = {0x101E}

GPUS: dict[str, GpuModel] = {
    "V100": GpuModel(Part(0x10DE, 0x1DB1, 0x030200, "nvidia", 8.0, 16, (0x10DE, 0x1212)), "Tesla V100-SXM2-16GB"),
    "A100": GpuModel(Part(0x10DE, 0x20B2, 0x030200, "nvidia", 16.0, 16, (0x10DE, 0x1463)), "NVIDIA A100-SXM4-80GB"),
    "H100": GpuModel(Part(0x10DE, 0x2330, 0x030200, "nvidia", 32.0, 16, (0x10DE, 0x16C1)), "NVIDIA H100 80GB HBM3"),
    "B200": GpuModel(Part(0x10DE, 0x2901, 0x030200, "nvidia", 32.0, 16, (0x10DE, 0x1999)), "NVIDIA B200"),
    "T4": GpuModel(Part(0x10DE, 0x1EB8, 0x030200, "nvidia", 8.0, 16, (0x10DE, 0x12A2)), "Tesla T4"),
    "RTX 3060": GpuModel(
        Part(0x10DE, 0x2503, 0x030000, "nvidia", 16.0, 16, (0x1458, 0x4074)), "NVIDIA GeForce RTX 3060", audio=True
    ),
    "MI300X": GpuModel(Part(0x1002, 0x74A1, 0x120000, "amdgpu", 32.0, 16, (0x1002, 0x74A1)), "AMD Instinct MI300X"),
}
GPU_AUDIO = Part(0x10DE, 0x228E, 0x040300, "snd_hda_intel", 16.0, 16, (0x1458, 0x4074))

NICS: dict[str, NicModel] = {
    "I350": NicModel(Part(0x8086, 0x1521, ETH, "igb", 5.0, 4, (0x8086, 0x0001)), 1000),
    "X550": NicModel(Part(0x8086, 0x1563, ETH, "ixgbe", 8.0, 4, (0x8086, 0x0001)), 10000),
    "BCM5720": NicModel(Part(0x14E4, 0x165F, ETH, "tg3", 5.0, 2, (0x1028, 0x0639)), 1000),
    "RTL8125": NicModel(Part(0x10EC, 0x8125, ETH, "r8169", 5.0, 1, (0x1458, 0xE000)), 2500),
    "ConnectX-4 Lx 10G": NicModel(_mlx5(0x1015, ETH, 8.0, 8, 0x0004), 10000),
}

# Neighbours that must not be taken for GPUs or NICs.
OTHERS: dict[str, Part] = {
    "bmc": Part(0x1A03, 0x2000, 0x030000, "ast", 5.0, 1, (0x15D9, 0x1B95)),
    # Conventional PCI: no link at all.
    "es1000": Part(0x1002, 0x515E, 0x030000, "radeon", 0, 0, (0x1028, 0x0205)),
    "nvme": Part(0x144D, 0xA80A, 0x010802, "nvme", 16.0, 4, (0x144D, 0xA801)),
    "nvswitch": Part(0x10DE, 0x22A3, 0x068000, "nvidia-nvswitch", 16.0, 2, (0x10DE, 0x1796)),
}


def _bridge(vendor: int, device: int, speed: float) -> Part:
    return Part(vendor, device, 0x060400, "pcieport", speed, 16)


def _platform(root_port: tuple[int, int], switch: tuple[int, int], speed: float, cpus: int) -> Platform:
    return Platform(_bridge(*root_port, speed), _bridge(*switch, speed), _bridge(*switch, speed), cpus)


PLATFORMS: dict[str, Platform] = {
    "skylake": _platform((0x8086, 0x2030), (0x10B5, 0x8796), 8.0, 24),
    "icelake": _platform((0x8086, 0x347A), (0x1000, 0xC010), 16.0, 32),
    "rome": _platform((0x1022, 0x1483), (0x1000, 0xC010), 16.0, 64),
    "genoa": _platform((0x1022, 0x14AB), (0x1000, 0xC030), 32.0, 96),
    "sapphire-rapids": _platform((0x8086, 0x352A), (0x1000, 0xC030), 32.0, 48),
    "desktop": _platform((0x1022, 0x1633), (0x10B5, 0x8724), 8.0, 8),
}

# What sysfs prints for a port, by link layer and rate in Gb/s.
RATES: dict[str, dict[float, str]] = {
    "InfiniBand": {
        2.5: "2.5 Gb/sec (1X SDR)",
        10: "10 Gb/sec (4X SDR)",
        25: "25 Gb/sec (1X EDR)",
        40: "40 Gb/sec (4X QDR)",
        50: "50 Gb/sec (2X EDR)",
        56: "56 Gb/sec (4X FDR)",
        100: "100 Gb/sec (4X EDR)",
        200: "200 Gb/sec (4X HDR)",
        400: "400 Gb/sec (4X NDR)",
        800: "800 Gb/sec (4X XDR)",
    },
    "Ethernet": {
        1: "2.5 Gb/sec (1X SDR)",
        2.5: "2.5 Gb/sec (1X SDR)",
        10: "10 Gb/sec (1X QDR)",
        25: "25 Gb/sec (1X EDR)",
        40: "40 Gb/sec (4X QDR)",
        50: "50 Gb/sec (1X HDR)",
        100: "100 Gb/sec (4X EDR)",
        200: "200 Gb/sec (4X HDR)",
        400: "400 Gb/sec (4X NDR)",
    },
}
STATES = {"NOP": 0, "DOWN": 1, "INIT": 2, "ARMED": 3, "ACTIVE": 4, "ACTIVE_DEFER": 5}
PHYS_STATES = {
    "Sleep": 1,
    "Polling": 2,
    "Disabled": 3,
    "PortConfigurationTraining": 4,
    "LinkUp": 5,
    "LinkErrorRecovery": 6,
}
