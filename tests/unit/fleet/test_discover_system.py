# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What kernel and services of a node allow, and what is worth a warning, from hand-written files and facts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather, interfaces, nldev, system
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import warnings as discover_warnings
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import (
    Excluded,
    GpuAffinity,
    Reason,
    Usable,
    Warn,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import (
    CharDevice,
    Gpu,
    Hca,
    Memlock,
    Netdev,
    PcieLink,
    PciFunction,
    Port,
    Sriov,
    System,
)


def put(root: Path, files: Dict[str, str]) -> Tree:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return Tree(str(root))


@pytest.mark.parametrize(
    ("files", "release"),
    [
        ({"proc/sys/kernel/osrelease": "6.1.0\n", "lib/modules/6.12.0/modules.dep": ""}, "6.1.0"),
        ({"lib/modules/6.12.0/modules.dep": ""}, "6.12.0"),
        ({"lib/modules/6.12.0/modules.dep": "", "lib/modules/6.1.0/modules.dep": ""}, None),
        ({}, None),
    ],
)
def test_kernel_release(tmp_path: Path, files: Dict[str, str], release: Optional[str]) -> None:
    assert system.kernel_release(put(tmp_path, files)) == release


def test_states_of_modules(tmp_path: Path) -> None:
    files = {
        "sys/module/ib_core/initstate": "live",
        "sys/module/ib_uverbs/version": "",
        "lib/modules/6.1/modules.builtin": "kernel/drivers/infiniband/core/ib-cm.ko\n",
        "lib/modules/6.1/modules.dep": "kernel/drivers/infiniband/core/ib_umad.ko.xz: kernel/rdma-ucm.ko.zst\n",
    }
    names = ["ib_core", "ib_uverbs", "ib_cm", "ib_umad", "rdma_ucm", "rdma_cm"]
    tree = put(tmp_path, files)
    states = ["loaded", "builtin", "builtin", "available", "available", "missing"]
    assert system.module_states(tree, names, "6.1") == dict(zip(names, states))
    # Without the list of the kernel that runs, what is not loaded is unknown.
    unknown = ["loaded", "builtin"] + ["unknown"] * 4
    assert system.module_states(tree, names, "6.2") == dict(zip(names, unknown))
    assert system.module_states(tree, names, None) == dict(zip(names, unknown))


BASE = ["ib_core", "ib_uverbs", "ib_umad", "rdma_cm", "rdma_ucm"]


@pytest.mark.parametrize(
    ("link_layer", "vendor", "drivers", "more"),
    [
        ("Ethernet", "1002", ["igb"], []),
        ("InfiniBand", "1002", [], ["ib_ipoib"]),
        ("Ethernet", "10de", [], ["nvidia_peermem"]),
        ("Ethernet", "1002", ["mlx5_core", "mlx5_core", "bnxt_en"], ["bnxt_en", "bnxt_re", "mlx5_core", "mlx5_ib"]),
        # One driver for both.
        ("Ethernet", "1002", ["efa"], ["efa"]),
    ],
)
def test_modules_that_the_hardware_needs(link_layer: str, vendor: str, drivers: List[str], more: List[str]) -> None:
    hcas = [Hca("mlx5_0", ports=[Port(1, link_layer=link_layer)])]
    gpus = [Gpu(0, PciFunction("0000:1b:00.0", vendor, "", "030200"))]
    assert system.needed_modules(hcas, gpus, drivers) == BASE + more


@pytest.mark.parametrize(
    ("text", "mode"),
    [("Y", "shared"), ("1", "shared"), ("N", "exclusive"), ("0", "exclusive"), ("?", None), ("", None)],
)
def test_netns_mode(tmp_path: Path, text: str, mode: Optional[str]) -> None:
    tree = put(tmp_path, {"sys/module/ib_core/parameters/netns_mode": text})
    assert system.netns_mode(tree) == mode


OPEN, CLOSED = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64",
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module",
)


@pytest.mark.parametrize(
    ("vendors", "release", "driver", "dmabuf", "said"),
    [
        ([], "6.1", OPEN, None, "no GPU"),
        (["10de"], "5.12.1", OPEN, True, "NVIDIA open kernel modules"),
        (["10de"], "5.11.99", OPEN, False, "kernel 5.11.99 is older than 5.12"),
        (["10de"], "4.18.0-553.el8", OPEN, False, "kernel 4.18.0-553.el8 is older than 5.12"),
        (["10de"], "6.1", CLOSED, False, "NVIDIA proprietary kernel modules"),
        (["10de"], "6.1", None, None, "the NVIDIA driver is not loaded"),
        (["1002"], "6.1", None, None, "not an NVIDIA GPU: depends on the driver's build"),
        (["1002", "10de"], "6.1", OPEN, True, "NVIDIA open kernel modules"),
        # A release that cannot be read decides nothing.
        (["10de"], None, OPEN, True, "NVIDIA open kernel modules"),
        (["10de"], "x.y", OPEN, True, "NVIDIA open kernel modules"),
        (["10de"], "5", OPEN, True, "NVIDIA open kernel modules"),
    ],
)
def test_gpudirect(
    tmp_path: Path, vendors: List[str], release: Optional[str], driver: Optional[str], dmabuf: Any, said: str
) -> None:
    tree = put(tmp_path, {"proc/driver/nvidia/version": driver} if driver else {})
    gpus = [Gpu(number, PciFunction("0000:1b:00.0", vendor, "", "030200")) for number, vendor in enumerate(vendors)]
    found = system.gpudirect(tree, gpus, release, {"nvidia_peermem": "loaded"})
    assert (found.peermem, found.dmabuf, found.dmabuf_reason) == ("loaded", dmabuf, said)


@pytest.mark.parametrize(
    ("config", "dmabuf", "said"),
    [
        (
            "CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y",
            True,
            "kernel with CONFIG_PCI_P2PDMA and CONFIG_DMABUF_MOVE_NOTIFY",
        ),
        (
            "CONFIG_PCI_P2PDMA=y\n# CONFIG_DMABUF_MOVE_NOTIFY is not set",
            False,
            "kernel without CONFIG_DMABUF_MOVE_NOTIFY",
        ),
        (None, None, "not an NVIDIA GPU: depends on the driver's build"),
    ],
)
def test_gpudirect_of_amdgpu(tmp_path: Path, config: Optional[str], dmabuf: Optional[bool], said: str) -> None:
    tree = put(tmp_path, {"boot/config-6.8.0": config} if config else {"sys/x": ""})
    gpus = [Gpu(0, PciFunction("0000:1b:00.0", "1002", "", "120000", driver="amdgpu"))]
    found = system.gpudirect(tree, gpus, "6.8.0", {})
    assert (found.peermem, found.dmabuf, found.dmabuf_reason) == (None, dmabuf, said)
    # Of another vendor's driver, the kernel's options say nothing.
    gpus[0].pci.driver = "other"
    assert system.gpudirect(tree, gpus, "6.8.0", {}).dmabuf is None


def test_the_former_name_of_nvidia_peermem(tmp_path: Path) -> None:
    tree = put(tmp_path, {"sys/module/nv_peer_mem/initstate": "live"})
    gpus = [Gpu(0, PciFunction("0000:1b:00.0", "10de", "", "030200"))]
    assert system.gpudirect(tree, gpus, "5.4.0", {"nvidia_peermem": "missing"}).peermem == "loaded"
    assert (
        system.gpudirect(Tree(str(tmp_path / "sys")), gpus, "5.4.0", {"nvidia_peermem": "missing"}).peermem == "missing"
    )


X86 = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu vme{}\n\nprocessor\t: 1\nflags\t\t: hypervisor"
ARM = "processor\t: 0\nCPU implementer\t: 0x41"


@pytest.mark.parametrize(
    ("cpuinfo", "arch", "above", "found"),
    [
        (X86.format(""), None, "0x8086", ("x86_64", False)),
        (X86.format(" hypervisor"), None, "0x8086", ("x86_64", True)),
        (X86.format(" hypervisors"), None, "0x8086", ("x86_64", False)),
        (X86.format(""), "i686", "0x8086", ("i686", False)),
        # QEMU's root port, and no port at all.
        (X86.format(""), None, "0x1b36", ("x86_64", True)),
        (X86.format(""), None, None, ("x86_64", True)),
        (ARM, None, "0x10de", ("aarch64", False)),
        (ARM, None, None, ("aarch64", True)),
        (None, None, "0x8086", (None, None)),
        (None, "riscv64", "0x8086", ("riscv64", None)),
    ],
)
def test_processor_and_virtual_machine(
    tmp_path: Path, cpuinfo: Optional[str], arch: Optional[str], above: Optional[str], found: Any
) -> None:
    files = {"proc/cpuinfo": cpuinfo, "proc/sys/kernel/arch": arch}
    if above:
        files.update(
            {"sys/bus/pci/devices/0000:00:01.0/vendor": above, "sys/bus/pci/devices/0000:00:01.0/device": "0xc"}
        )
    tree = put(tmp_path, {path: text for path, text in files.items() if text} or {"sys/x": ""})
    gpu = PciFunction("0000:1b:00.0", "10de", "", "030200", pcie_path=["0000:00:01.0"] * bool(above) + ["0000:1b:00.0"])
    assert (system.architecture(tree), system.is_virtual(tree, [gpu])) == found


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (None, None),
        ("", []),
        (
            "root=UUID=1 ro intel_iommu=on,sm_on iommu.passthrough=1 token=iommu=pt "
            'pci="noaer,disable_acs_redir=0000:3c:00.0"',
            ["intel_iommu=on,sm_on", "iommu.passthrough=1", "pci=noaer,disable_acs_redir=0000:3c:00.0"],
        ),
        ("pcie_aspm=off iommu=pt;reboot password=x", ["pcie_aspm=off"]),
    ],
)
def test_of_the_kernels_command_line_only_words_about_pci_are_kept(
    tmp_path: Path, line: Optional[str], words: Optional[List[str]]
) -> None:
    tree = put(tmp_path, {"sys/x": ""} if line is None else {"proc/cmdline": line})
    assert system.kernel_parameters(tree) == words


LIMITS = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  {}  bytes\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {
                "sys/fs/cgroup/system.slice/k3s.service/cgroup.procs": "70\n71\nodd\n",
                "proc/70/comm": "k3s-server",
                "proc/70/limits": LIMITS.format("1 1"),
                "proc/71/comm": "containerd",
                "proc/71/limits": LIMITS.format("65536 unlimited"),
            },
            Memlock("k3s", 71, 65536, "unlimited"),
        ),
        (
            {
                "sys/fs/cgroup/systemd/system.slice/crio.service/cgroup.procs": "80\n",
                "proc/80/comm": "crio",
                "proc/80/limits": LIMITS.format("unlimited unlimited"),
            },
            Memlock("crio", 80, "unlimited", "unlimited"),
        ),
        (
            {
                # With Slice=, as is advised for reserved resources; a container has a service of the same name.
                "sys/fs/cgroup/kubepods.slice/pod.slice/containerd.service/cgroup.procs": "89\n",
                "sys/fs/cgroup/kube.slice/kube-runtime.slice/containerd.service/cgroup.procs": "90\n",
                "proc/89/comm": "containerd",
                "proc/89/limits": LIMITS.format("1 1"),
                "proc/90/comm": "containerd",
                "proc/90/limits": LIMITS.format("8388608 8388608"),
            },
            Memlock("containerd", 90, 8388608, 8388608),
        ),
        (
            {
                "sys/fs/cgroup/system.slice/crio.service/cgroup.procs": "80\n",
                "proc/80/comm": "crio",
                # Other limits, and a line that is cut off.
                "proc/80/limits": "Max locked files  1 1 files\nMax locked memory  7\n",
            },
            None,
        ),
        ({}, None),
    ],
)
def test_locked_memory_of_the_runtime(tmp_path: Path, files: Dict[str, str], expected: Optional[Memlock]) -> None:
    assert system.memlock(put(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("0", [0]),
        ("0-1,4\n", [0, 1, 4]),
        ("", []),
        ("1-0", []),
        ("0-1023", list(range(1024))),
        ("0-1024", []),
        ("a-b,2", [2]),
    ],
)
def test_numa_nodes(tmp_path: Path, text: str, nodes: List[int]) -> None:
    assert system.numa_nodes(put(tmp_path, {"sys/devices/system/node/online": text})) == nodes


def test_numa_distances(tmp_path: Path) -> None:
    rows = {0: "10 12 32", 1: "12 10 32", 4: "32 32"}
    tree = put(tmp_path, {f"sys/devices/system/node/node{node}/distance": text for node, text in rows.items()})
    # A row that does not fit is left out; two nodes leave nothing to decide.
    assert system.numa_distances(tree, [0, 1, 4]) == {0: {0: 10, 1: 12, 4: 32}, 1: {0: 12, 1: 10, 4: 32}}
    assert system.numa_distances(put(tmp_path, {"sys/devices/system/node/node0/distance": "10 21"}), [0, 1]) == {}


PLACE = PciFunction("0000:1a:00.0", "15b3", "1021", "020700", "mlx5_core", 0)
PRESENT, ABSENT = CharDevice("x", "/dev/infiniband/x", None, True), CharDevice("x", "/dev/infiniband/x")


def hca(name: str = "mlx5_0", **changes: Any) -> Hca:
    """Nothing is wrong with it, or with its port, but what is given."""
    port: Dict[str, Any] = {"state": "ACTIVE", "link_layer": "InfiniBand", "rate_gbps": 400.0, "lanes": 4, "sm_lid": 1}
    port.update({"umad": PRESENT, **changes.get("port", {})})
    number = port.pop("number", 1)
    own: Dict[str, Any] = {"driver": "mlx5_core", "pci": PLACE, "uverbs": PRESENT, "board_id": "MT_1", **changes}
    own.pop("port", None)
    return Hca(name, ports=[Port(number, **port)], **own)


def warned(*hcas: Hca, out: Optional[Dict[str, List[str]]] = None, **more: Any) -> List[Warn]:
    """The warnings; ports of all HCAs are usable but those in ``out``, with the codes that keep them out."""
    out = out or {}
    ports = [(one.name, port.number) for one in hcas for port in one.ports]
    return discover_warnings.warnings(
        hcas,
        more.get("gpus", []),
        more.get("nics", []),
        [Usable(*port) for port in ports if port[0] not in out],
        [Excluded(*port, [Reason(code, "") for code in out[port[0]]]) for port in ports if port[0] in out],
        ("mlx5_core", "igb"),
        more.get("system", System(numa_nodes=[0, 1])),
        more.get("displays", []),
        more.get("seconds"),
    )


def told(*hcas: Hca, **more: Any) -> List[str]:
    return [one.code for one in warned(*hcas, **more)]


SLOW = PcieLink(8.0, 8, 16.0, 16, 63.0, 252.1, degraded=True)


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, []),
        ({"port": {"sm_lid": 0}}, ["no_subnet_manager"]),
        ({"port": {"sm_lid": 0, "link_layer": "Ethernet"}}, []),
        ({"port": {"max_rate_gbps": 800.0}}, ["rate_below_maximum"]),
        ({"port": {"max_rate_gbps": 400.0}}, []),
        ({"port": {"max_rate_gbps": 800.0}, "software": True}, []),
        ({"port": {"lanes": 2}}, ["rate_below_maximum"]),
        ({"port": {"lanes": 2, "link_layer": "Ethernet"}}, []),
        ({"port": {"lanes": None}}, []),
        ({"port": {"umad": None}}, ["umad_missing"]),
        ({"port": {"umad": ABSENT}}, ["umad_missing"]),
        ({"uverbs": None}, ["uverbs_missing"]),
        ({"uverbs": ABSENT}, ["uverbs_missing"]),
        ({"pcie_link": SLOW}, ["pcie_below_port_rate", "pcie_degraded"]),
        ({"pcie_link": SLOW, "software": True}, []),
        ({"pcie_link": PcieLink(gbps=400.0, degraded=False)}, []),
        ({"pcie_link": SLOW, "port": {"rate_gbps": 50.0}}, ["pcie_degraded"]),
    ],
)
def test_what_is_told_of_a_usable_port(changes: Dict[str, Any], codes: List[str]) -> None:
    assert told(hca(**changes)) == codes


@pytest.mark.parametrize(
    ("reasons", "port", "codes"),
    [
        (["port_down"], {"physical_state": "LinkUp"}, ["no_subnet_manager"]),
        (["port_down"], {"physical_state": "Disabled"}, ["port_down"]),
        (["port_down"], {"physical_state": "LinkUp", "link_layer": "Ethernet"}, ["port_down"]),
        # What else keeps it out is reason enough, but for the place that a recording lacks.
        (["port_down", "vf"], {}, []),
        (["port_down", "pci_unknown"], {}, ["port_down"]),
        (["in_pod"], {}, []),
    ],
)
def test_what_is_told_of_a_port_that_is_down(reasons: List[str], port: Dict[str, Any], codes: List[str]) -> None:
    found = warned(hca(port={"state": "DOWN", **port}), hca("mlx5_1"), out={"mlx5_0": reasons})
    assert [one.code for one in found] == codes
    if codes == ["port_down"]:
        assert found[0].fields["up"] == ["mlx5_1/1"]


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"port": {"rate_gbps": 200.0}}, ["rate_below_maximum"]),
        ({"port": {"rate_gbps": 200.0}, "board_id": "MT_2"}, []),
        ({"port": {"rate_gbps": 200.0}, "board_id": None}, []),
        ({"port": {"rate_gbps": 200.0}, "sriov": Sriov("vf")}, []),
        ({"port": {"rate_gbps": 200.0, "number": 2}}, []),
        # Once for its lanes.
        ({"port": {"rate_gbps": 200.0, "lanes": 2}}, ["rate_below_maximum"]),
    ],
)
def test_a_port_slower_than_that_of_an_equal_card(changes: Dict[str, Any], codes: List[str]) -> None:
    found = warned(hca("mlx5_0"), hca("mlx5_1", **changes))
    assert [(one.code, one.subject) for one in found] == [(code, "mlx5_1/1") for code in codes]
    if codes and "lanes" not in changes["port"]:
        assert found[0].fields["twin"] == "mlx5_0/1"


def test_counters_are_held_against_the_time_since_boot() -> None:
    own = hca(port={"error_counters": {"link_downed": 3}})
    assert told(own, seconds=86400.0) == ["link_errors"]
    assert told(own, seconds=3 * 86400.0) == []
    assert told(own) == []
    assert told(hca(port={"error_counters": {"link_downed": 3}}, software=True), seconds=86400.0) == []


def test_a_netdev_of_two_ports() -> None:
    twins = [hca(name, port={"netdev": Netdev("rail0", "gid")}) for name in ("mlx5_0", "mlx5_1")]
    (found,) = warned(*twins)
    assert (found.code, found.subject, found.fields["ports"]) == (
        "netdev_claimed_twice",
        "rail0",
        ["mlx5_0/1", "mlx5_1/1"],
    )
    # Soft-RoCE has the netdev of a NIC.
    twins[1].software = True
    assert told(*twins) == []


@pytest.mark.parametrize(
    ("nic", "bond", "codes"),
    [
        (PciFunction("0000:1b:00.0", "15b3", "1021", "020700", "mlx5_core"), False, ["no_rdma_device"]),
        (PciFunction("0000:1b:00.0", "15b3", "1021", "020700", "mlx4_core"), False, []),
        # Allowed, and without RDMA.
        (PciFunction("0000:1b:00.0", "8086", "1521", "020000", "igb"), False, []),
        (PLACE, False, []),
        (PciFunction("0000:1a:00.1", "15b3", "1021", "020700", "mlx5_core"), False, ["no_rdma_device"]),
        # The first function of a card serves the ports of all where they are bonded.
        (PciFunction("0000:1a:00.1", "15b3", "1021", "020700", "mlx5_core"), True, []),
    ],
)
def test_a_nic_without_an_rdma_device(nic: PciFunction, bond: bool, codes: List[str]) -> None:
    own = hca(port={"netdev": Netdev("bond0", "gid", bond=bond)})
    assert told(own, nics=[nic]) == codes


def test_soft_roce_is_no_device_of_the_nic_below_it() -> None:
    assert told(hca(), nics=[PLACE]) == []
    assert told(hca(software=True), nics=[PLACE]) == ["no_rdma_device"]


def gpu(index: int, driver: Optional[str] = "nvidia", numa_node: Optional[int] = 0) -> Gpu:
    return Gpu(index, PciFunction(f"0000:2{index}:00.0", "10de", "2330", "030200", driver, numa_node))


def test_indices_that_nvidia_smi_has_not() -> None:
    gpus = [gpu(0), gpu(1, "vfio-pci"), gpu(2)]
    displays = [one.pci for one in gpus]
    (found,) = warned(gpus=gpus, displays=displays)
    assert (found.code, found.subject, found.fields) == ("gpu_index", "GPU 1", {})
    # A display that is no GPU here counts there.
    other = PciFunction("0000:01:00.0", "10de", "1cb3", "030000", "nvidia")
    (found,) = warned(gpus=gpus[:1], displays=[other, gpus[0].pci])
    assert (found.subject, found.fields) == ("GPU 0", {"nvidia_smi": 1})
    # Without the driver there is no nvidia-smi.
    assert told(gpus=[gpu(0, None)], displays=[gpu(0, None).pci]) == []


def test_numa_nodes_that_firmware_did_not_tell() -> None:
    lost = PciFunction("0000:1a:00.0", "15b3", "1021", "020700", "mlx5_core")
    assert [one.subject for one in warned(hca(pci=lost), gpus=[gpu(0, None, None)])] == ["GPU 0", "mlx5_0"]
    assert told(hca(pci=lost), out={"mlx5_0": ["vf"]}) == []
    # With one node there is nothing to be far from.
    assert told(hca(pci=lost), system=System(numa_nodes=[0])) == []


def test_bridges_that_redirect() -> None:
    acs = {"0000:02:00.0": True, "0000:01:00.0": True, "0000:03:00.0": False, "0000:04:00.0": None}
    (found,) = warned(system=System(acs=acs))
    assert (found.code, found.subject) == ("acs_redirects", "0000:01:00.0")
    assert found.fields["bridges"] == ["0000:01:00.0", "0000:02:00.0"]


def test_files_without_permission_are_listed_and_not_told() -> None:
    found = discover_warnings.unreadable({"/b": "EIO", "/a": "not a number", "/c": "permission"})
    assert [(one.code, one.subject, one.fields) for one in found] == [
        ("unreadable", "/a", {"reason": "not a number"}),
        ("unreadable", "/b", {"reason": "EIO"}),
    ]


def test_acs_counts_where_peers_could_meet_below_a_bridge(tmp_path: Path) -> None:
    def placed(address: str, *path: str) -> PciFunction:
        return PciFunction(address, "", "", "", pcie_root="pci0000:00", pcie_path=[*path, address])

    own = Gpu(0, placed("0000:21:00.0", "0000:00:01.0", "0000:20:00.0"))
    hcas = [Hca("near", pci=placed("0000:22:00.0", "0000:00:01.0", "0000:20:01.0")), Hca("far", pci=PLACE)]
    entry = GpuAffinity(0, own.pci.address, {"near": "PIX", "far": "PHB"}, ["near", "far"])
    found = gather._acs(Tree(str(tmp_path)), [own], hcas, [entry])
    # Nothing can be read here, and of a path over the root complex nothing has to be.
    assert found == {"0000:20:00.0": None, "0000:20:01.0": None}
    entry.nearest = ["far"]
    assert gather._acs(Tree(str(tmp_path)), [own], hcas, [entry]) == {}


def test_what_was_asked_is_named_as_the_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reading, netdevs = nldev.Nldev(netns_mode="shared"), {"rail0": interfaces.Interface("rail0")}
    live: Any = SimpleNamespace(live=True)
    monkeypatch.setattr(nldev, "read", lambda: reading)
    monkeypatch.setattr(interfaces, "read", lambda _tree: netdevs)
    sources: Dict[str, str] = {"hcas": "sysfs"}
    assert gather._netlink(True, sources) is reading
    assert gather._interfaces(live, sources) is netdevs
    told = dict.fromkeys(("port_netdevs", "netns_mode", "addresses", "max_mtu"), "netlink")
    assert sources == {"hcas": "sysfs", **told}

    def refuse(*_arguments: Any) -> None:
        raise OSError(93, "Protocol not supported")

    monkeypatch.setattr(nldev, "read", refuse)
    monkeypatch.setattr(interfaces, "read", refuse)
    sources = {}
    assert (gather._netlink(True, sources), gather._interfaces(live, sources)) == (None, None)
    assert sources == {"netlink_unused": "[Errno 93] Protocol not supported"}
    # Of a recorded node this machine's kernel knows nothing.
    monkeypatch.setattr(nldev, "read", lambda: pytest.fail("asked"))
    sources = {}
    assert (gather._netlink(False, sources), gather._interfaces(Tree(str(tmp_path)), sources)) == (None, None)
    assert sources == {}
