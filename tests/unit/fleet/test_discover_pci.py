# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""PCI functions from hand-written trees: links, SR-IOV roles, NUMA nodes, ACS, GPUs, and what manages NVSwitches."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gpu, nvswitch, pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, PcieLink, PciFunction, Sriov

NIC = "0000:1a:00.0"


def function(root: Path, address: str, **files: str) -> Path:
    """A function below a root port, with these attributes."""
    place = root / "sys/devices/pci0000:15/0000:15:01.0" / address
    place.mkdir(parents=True, exist_ok=True)
    link = root / pci.DEVICES / address
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(place)
    for name, text in files.items():
        (place / name).write_text(text + "\n")
    return place


def link(root: Path, now: Tuple[str, str], most: Tuple[str, str]) -> Optional[PcieLink]:
    names = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
    function(root, NIC, **dict(zip(names, now + most)))
    return pci.link(Tree(str(root)), NIC)


@pytest.mark.parametrize(
    ("now", "most", "gbps", "max_gbps", "degraded"),
    [
        # 8b/10b up to 5 GT/s, 128b/130b above.
        (("5.0 GT/s PCIe", "8"), ("5.0 GT/s PCIe", "8"), 32.0, 32.0, False),
        (("8.0 GT/s PCIe", "16"), ("8.0 GT/s PCIe", "16"), 126.0, 126.0, False),
        (("8.0 GT/s PCIe", "8"), ("8.0 GT/s PCIe", "16"), 63.0, 126.0, True),
        (("8.0 GT/s PCIe", "16"), ("16.0 GT/s PCIe", "16"), 126.0, 252.1, True),
        (("16.0 GT/s PCIe", "32"), ("16.0 GT/s PCIe", "32"), 504.1, 504.1, False),
        # As a VF says: nothing of its own.
        (("Unknown", "0"), ("16.0 GT/s PCIe", "16"), None, 252.1, None),
        (("16.0 GT/s PCIe", "255"), ("16.0 GT/s PCIe", "16"), None, 252.1, None),
    ],
)
def test_what_a_link_carries(
    tmp_path: Path, now: Tuple[str, str], most: Tuple[str, str], gbps: Any, max_gbps: Any, degraded: Any
) -> None:
    found = link(tmp_path, now, most)
    assert found
    assert (found.gbps, found.max_gbps, found.degraded) == (gbps, max_gbps, degraded)


def test_a_function_without_a_link_has_none(tmp_path: Path) -> None:
    assert link(tmp_path, ("Unknown", "0"), ("Unknown", "255")) is None


@pytest.mark.parametrize(("said", "node"), [("1", 1), ("0", 0), ("-1", None), ("", None)])
def test_numa_node(tmp_path: Path, said: str, node: Optional[int]) -> None:
    function(tmp_path, NIC, numa_node=said, vendor="0x15b3", device="0x1017", **{"class": "0x020700"})
    found = pci.function(Tree(str(tmp_path)), NIC)
    assert found
    assert (found.numa_node, found.vendor_id, found.device_id, found.class_id) == (node, "15b3", "1017", "020700")
    assert (found.pcie_root, found.pcie_path) == ("pci0000:15", ["0000:15:01.0", NIC])


def test_a_function_that_is_gone_is_none(tmp_path: Path) -> None:
    assert pci.function(Tree(str(tmp_path)), NIC) is None


def test_only_the_wanted_classes(tmp_path: Path) -> None:
    codes = {"0000:1a:00.0": "020700", "0000:1b:00.0": "030200", "0000:1c:00.0": "010802", "0000:1d:00.0": ""}
    for address, code in codes.items():
        function(tmp_path, address, **{"class": f"0x{code}" if code else ""})
    tree = Tree(str(tmp_path))
    assert pci.classes(tree) == codes
    assert [found.address for found in pci.functions(tree, codes, {"02", "03"})] == ["0000:1a:00.0", "0000:1b:00.0"]


def test_roles_of_sriov(tmp_path: Path) -> None:
    names = ("totalvfs", "numvfs", "offset", "stride")
    function(tmp_path, NIC, **{f"sriov_{name}": text for name, text in zip(names, ("8", "2", "1", "2"))})
    vf = function(tmp_path, "0000:1a:00.1")
    (vf / "physfn").symlink_to(f"../{NIC}")
    function(tmp_path, "0000:1b:00.0")
    tree = Tree(str(tmp_path))
    assert pci.sriov(tree, NIC) == Sriov("pf", 8, 2, vf_offset=1, vf_stride=2)
    assert pci.sriov(tree, "0000:1a:00.1") == Sriov("vf", pf_address=NIC)
    assert pci.sriov(tree, "0000:1b:00.0") == Sriov("none")


def capability(kind: int, following: int, control: int = 0) -> bytes:
    """An extended capability of 16 bytes (PCI Express Base Specification 7.6.3); ACS has its control at offset 6."""
    return struct.pack("<IHH8x", following << 20 | 1 << 16 | kind, 0xFFFF, control)


def space(*capabilities: bytes, size: int = 0x1000) -> bytes:
    return (bytes(0x100) + b"".join(capabilities)).ljust(size, b"\0")


AER, ACS = 0x0001, 0x000D


@pytest.mark.parametrize(
    ("config", "redirects"),
    [
        (space(capability(ACS, 0, 0x04)), True),
        (space(capability(ACS, 0, 0x08)), True),
        (space(capability(ACS, 0, 0x20)), True),
        # Source validation, translation blocking, upstream forwarding, direct translated: peers still meet below.
        (space(capability(ACS, 0, 0x01 | 0x02 | 0x10 | 0x40)), False),
        (space(capability(AER, 0x110), capability(ACS, 0, 0x04)), True),
        (space(capability(AER, 0), capability(ACS, 0, 0x04)), False),
        # In a circle, and beyond the end.
        (space(capability(AER, 0x100)), False),
        (space(capability(AER, 0xFFC)), False),
        (space(capability(AER, 0xFF8)), False),
        (space(), False),
        (space(b"\xff" * 16), False),
        (bytes(256), False),
    ],
)
def test_acs(tmp_path: Path, config: bytes, redirects: bool) -> None:
    (function(tmp_path, NIC) / "config").write_bytes(config)
    assert pci.acs_redirects(Tree(str(tmp_path)), NIC) is redirects


def test_which_bits_of_acs_redirect(tmp_path: Path) -> None:
    (function(tmp_path, NIC) / "config").write_bytes(space(capability(ACS, 0, 0x3D)))
    assert pci.acs_flags(Tree(str(tmp_path)), NIC) == ["ReqRedir", "CmpltRedir", "EgressCtrl"]
    (tmp_path / "sys/bus/pci/devices" / NIC / "config").write_bytes(space(capability(ACS, 0, 0x08)))
    assert pci.acs_flags(Tree(str(tmp_path)), NIC) == ["CmpltRedir"]


def device_control(at: int, following: int, control: int, first: int = 0) -> bytes:
    """A header that points to a PCI Express capability (section 7.5.3), by way of another one where ``first`` is."""
    config = bytearray(0x1000)
    config[0x34] = first or at
    if first:
        config[first : first + 2] = bytes([0x01, at])
    config[at : at + 2] = bytes([0x10, following])
    struct.pack_into("<H", config, at + 8, control)
    return bytes(config)


@pytest.mark.parametrize(
    ("config", "on"),
    [
        # As at reset, and with all but that bit.
        (device_control(0x60, 0, 0x2810), True),
        (device_control(0x60, 0, 0x2810, first=0x40), True),
        (device_control(0x60, 0, 0xFFEF), False),
        # In a circle without it, beyond the end, no capability, too short.
        (device_control(0x60, 0x60, 0x10).replace(b"\x10\x60", b"\x05\x60"), None),
        (device_control(0xFC, 0, 0x10), None),
        (bytes(0x1000), None),
        (bytes(16), None),
    ],
)
def test_relaxed_ordering(tmp_path: Path, config: bytes, on: Optional[bool]) -> None:
    (function(tmp_path, NIC) / "config").write_bytes(config)
    tree = Tree(str(tmp_path))
    assert pci.relaxed_ordering(tree, NIC) is on
    assert tree.unreadable == {}


def test_relaxed_ordering_that_only_root_may_read(tmp_path: Path) -> None:
    (function(tmp_path, NIC) / "config").write_bytes(device_control(0x60, 0, 0x2810)[:64])
    tree = Tree(str(tmp_path))
    assert pci.relaxed_ordering(tree, NIC) is None
    assert list(tree.unreadable.values()) == ["permission"]
    assert pci.relaxed_ordering(tree, "0000:ff:00.0") is None


def test_of_a_card_only_the_registers_that_are_needed_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (function(tmp_path, NIC) / "config").write_bytes(device_control(0x60, 0x90, 0x2810, first=0x40))
    head, pieces = Tree.head, []

    def read(tree: Tree, path: str, size: int, offset: int = 0) -> Optional[bytes]:
        pieces.append((offset, size))
        return head(tree, path, size, offset)

    monkeypatch.setattr(Tree, "head", read)
    monkeypatch.setattr(Tree, "data", None)
    assert pci.relaxed_ordering(Tree(str(tmp_path)), NIC) is True
    assert pieces == [(0, 64), (0x40, 2), (0x60, 2), (0x68, 2), (0x90, 2)]


def test_acs_that_only_root_may_read(tmp_path: Path) -> None:
    place = function(tmp_path, NIC)
    assert pci.acs_redirects(Tree(str(tmp_path)), NIC) is None
    (place / "config").write_bytes(bytes(64))
    tree = Tree(str(tmp_path))
    assert pci.acs_redirects(tree, NIC) is None
    assert list(tree.unreadable.values()) == ["permission"]


@pytest.mark.parametrize(
    ("vendor", "code", "driver", "width", "counts"),
    [
        ("1002", "0380", None, False, True),
        # As the ES1000 of a BMC: VGA on conventional PCI.
        ("1002", "0300", None, False, False),
        ("1002", "0300", None, True, True),
        ("1002", "0300", "amdgpu", False, True),
        ("10de", "0300", None, False, True),
        ("10de", "0604", None, True, False),
        ("102b", "0300", None, True, False),
    ],
)
def test_what_counts_as_a_gpu(
    tmp_path: Path, vendor: str, code: str, driver: Optional[str], width: bool, counts: bool
) -> None:
    function(tmp_path, NIC, **({"max_link_width": "16"} if width else {}))
    own = PciFunction(NIC, vendor, "0000", code + "00", driver)
    found = gpu.gpus(Tree(str(tmp_path)), [own], gpu.DEFAULT_VENDORS, gpu.DEFAULT_CLASSES)
    assert [one.pci.address for one in found] == ([NIC] if counts else [])


def test_a_model_is_that_of_the_driver_in_charge(tmp_path: Path) -> None:
    function(tmp_path, NIC, product_name="Instinct MI300X", unique_id="0x1234")
    tree = Tree(str(tmp_path))
    found = [
        gpu.gpus(tree, [PciFunction(NIC, "1002", "74a1", "120000", driver)], gpu.DEFAULT_VENDORS, ("1200",))[0]
        for driver in ("amdgpu", "vfio-pci")
    ]
    assert [(one.model, one.uuid) for one in found] == [("Instinct MI300X", "0x1234"), (None, None)]


CARD = "0000:5d:00"


def hca(name: str, address: str, **changes: Any) -> Hca:
    own: Dict[str, Any] = {"vendor_id": "15b3", "device_id": "1021", "class_id": "020700"}
    own.update((key, changes.pop(key)) for key in list(changes) if key in own)
    return Hca(name, pci=PciFunction(address, **own), **changes)


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["mlx5_0", "mlx5_1"]),
        ({"device_id": "1017"}, []),
        ({"class_id": "020000"}, []),
        ({"vendor_id": "14e4"}, []),
        ({"software": True}, []),
        ({"sriov": Sriov("vf")}, []),
    ],
)
def test_functions_that_can_manage_nvswitches(tmp_path: Path, changes: Dict[str, Any], names: List[str]) -> None:
    for number in (0, 1):
        function(tmp_path, f"{CARD}.{number}", vpd="SMDL=SW_MNG" if number == 0 else "a NIC")
    gpus = [PciFunction("0000:1b:00.0", "10de", "2901", "030200")]
    hcas = [hca(f"mlx5_{number}", f"{CARD}.{number}", **changes) for number in (0, 1)]
    found = nvswitch.managing(Tree(str(tmp_path)), {}, gpus, hcas)
    assert sorted(found) == names


def test_where_nvswitches_are_in_pci_nothing_else_manages_them(tmp_path: Path) -> None:
    function(tmp_path, f"{CARD}.0", vpd="SMDL=SW_MNG")
    nvidia, hcas = [PciFunction("0000:1b:00.0", "10de", "2901", "030200")], [hca("mlx5_0", f"{CARD}.0")]
    for address, vendor in (("0000:60:00.0", "0x10de"), ("0000:61:00.0", "0x8086")):
        function(tmp_path, address, vendor=vendor)
    tree = Tree(str(tmp_path))
    assert nvswitch.managing(tree, {"0000:60:00.0": "068000"}, nvidia, hcas) == frozenset()
    assert nvswitch.managing(tree, {"0000:61:00.0": "068000", "0000:60:00.0": "060400"}, nvidia, hcas) == {"mlx5_0"}
    amd = [PciFunction("0000:1b:00.0", "1002", "74a1", "120000")]
    assert nvswitch.managing(tree, {}, amd, hcas) == frozenset()
