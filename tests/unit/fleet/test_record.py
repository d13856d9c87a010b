# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Recording of machines (``tests/fleet/record.py``): synthesised nodes are recorded as if they were real."""

from __future__ import annotations

import ipaddress
import os
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import expand
import pytest
import record
from recorder import tools

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.tests.unit.fleet import topology_tree

FLEET = Path(expand.__file__).parent
CHECKOUT = FLEET.parents[1]
FIXTURES = CHECKOUT / "tests/unit/fixtures"

HOST, DOMAIN = "kumquat-17", "orchard.test"
# Invented for this test.
NODE = """\
synthesised_from: nothing, this node exists in this test only
platform: icelake
gpu: A100
nvidia: {version: 570.133.20, open: true}
runtime: {memlock: unlimited, config: containerd-2.1}
iommu: translated
pci:
  - {root: "0000:00", numa: 0, below: [eno1]}
  - {root: "0000:15", numa: 0, below: [{switch: [gpu, mlx5_0]}]}
  - {root: "0000:97", numa: 1, below: [{switch: [gpu, mlx5_1]}]}
hcas:
  mlx5_0: {model: ConnectX-7 NDR, ports: [{counters: {link_downed: 3}}]}
  mlx5_1: {model: ConnectX-7 400GbE, total_vfs: 4}
netdevs:
  eno1: {card: I350, mac: "a0:36:9f:77:88:99", addresses: [10.20.30.40/22, "fd12:3456:789a:5::40/64"]}
  ib0: {hca: mlx5_0, addresses: [10.64.7.8/16]}
  enxb8599f4a5b6c: {hca: mlx5_1, mac: "b8:59:9f:4a:5b:6c", mtu: 9000, addresses: [172.16.9.10/31]}
default_routes:
  - {via: 10.20.28.1, dev: eno1}
  - {via: "fd12:3456:789a:5::1", dev: eno1}
"""
MACHINE_ID, BOOT_ID = "4d1e8c0a9b7f4c55a1d2e3f405162738", "5e1f9d1b-0c80-4d66-b2e3-f4051627384a"
SERIALS = {
    "product_serial": "J7QK2M3",
    "board_serial": "CNFCP0099G00LM",
    "product_uuid": "4c4c4544-004a-5110-804b-b4c04f324d33",
}
DSN = 0xB8599FFFFF4A5B6C
TOOLS = {
    "lspci": "0000:15:00.0 PCI bridge [0604]: Intel [8086:347a]\n\tCapabilities: [100] Device Serial Number "
    "b8-59-9f-ff-ff-4a-5b-6c\n\t\t[SN] Serial number: MT2233T01234\n",
    "ibstat": "CA 'mlx5_9'\n\tNode GUID: 0xb8599f0300112233\n\tPort 1:\n\t\tPort GUID: 0xb8599f0300112233\n",
    "nvidia-smi-gpus": "00000000:17:00.0, NVIDIA A100, GPU-6b1d5c2e-1f0a-4b8e-9c3d-2a1b0c9d8e7f\n",
}


def silent(_command: Sequence[str]) -> tools.Answer:
    return tools.Answer(problem="not installed")


def talkative(command: Sequence[str]) -> tools.Answer:
    name = next(name for name, known in tools.COMMANDS.items() if known == command)
    text = TOOLS.get(name)
    return tools.Answer(text, "" if text else f"exit status 1: {HOST}.{DOMAIN}: no answer from 10.99.0.3")


def put(root: Path, path: str, text: str | bytes) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``/`` of a machine with something to hide in every place where machines have it."""
    base = tmp_path_factory.mktemp("machine")
    (base / f"{HOST}.yml").write_text(NODE)
    root = base / "root"
    expand.write(expand.load(base / f"{HOST}.yml"), root)
    put(root, "proc/sys/kernel/hostname", HOST)
    put(root, "etc/hostname", f"{HOST}.{DOMAIN}")
    put(root, "etc/hosts", f"127.0.0.1 localhost\n10.20.30.40 {HOST}.{DOMAIN} {HOST} mango-alias  # {HOST}")
    put(root, "etc/machine-id", MACHINE_ID)
    put(root, "proc/sys/kernel/random/boot_id", BOOT_ID)
    for name, serial in SERIALS.items():
        put(root, f"sys/class/dmi/id/{name}", serial)
    put(root, "sys/class/dmi/id/chassis_serial", "Not Specified")
    put(
        root, "proc/cmdline", f"root=UUID={BOOT_ID} ip=10.20.30.40::10.20.28.1:255.255.252.0:{HOST}:eno1 iommu=pt quiet"
    )
    put(root, "proc/stat", "cpu 1 2 3\nbtime 1790000000")
    version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build  (root@{})"
    put(root, "proc/driver/nvidia/version", version.format("quince-builder"))
    put(
        root,
        "proc/net/unix",
        "Num RefCount Protocol Flags Type St Inode Path\n0: 2 0 00010000 0001 01 9 /run/mango/secret",
    )
    for hca in ("mlx5_0", "mlx5_1"):
        (directory,) = root.glob(f"sys/devices/pci*/**/infiniband/{hca}")
        put(directory, "node_desc", f"{HOST} {hca}")
    _config(root)
    log = [f"6,1,5000,-;Linux version 6.8.0 (builder@{HOST})", "6,2,6000,-;EXT4-fs: mounted " + BOOT_ID]
    log.append("3,3,7000000,-;mlx5_core 0000:15:01.0: mlx5_0: Rate limit: 127 rates are supported, range: 0Mbps")
    address = next(path.parents[1].name for path in root.glob("sys/devices/pci*/**/infiniband/mlx5_0"))
    log.append(f"3,4,8000000,-;mlx5_core {address}: device's health compromised - peer b8:59:9f:4a:5b:6c at 10.98.0.2")
    put(root, "dev/kmsg", "\n".join(log))
    return root


def _config(root: Path) -> None:
    """A serial number (PCI Express Base Specification 6.0, 7.9.3) and a vendor's own bytes in a bridge."""
    bridge = next(path for path in sorted(root.glob("sys/devices/pci0000:97/*/class")) if "0604" in path.read_text())
    config = bridge.with_name("config")
    space = bytearray(config.read_bytes())
    last = 0x100
    while struct.unpack_from("<I", space, last)[0] >> 20:
        last = struct.unpack_from("<I", space, last)[0] >> 20
    (header,) = struct.unpack_from("<I", space, last)
    struct.pack_into("<I", space, last, header & 0xFFFFF | 0x400 << 20)
    struct.pack_into("<IQ", space, 0x400, 0x0003 | 1 << 16 | 0x440 << 20, DSN)
    struct.pack_into("<II", space, 0x440, 0x000B | 1 << 16, 0)
    space[0x448:0x454] = b"MT2233T01234"
    config.write_bytes(space)


@pytest.fixture(scope="module", name="recorded")
def make_recorded(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    recorder = record.Recorder("node-01", str(root), talkative)
    recorder.record()
    place = tmp_path_factory.mktemp("recorded") / "node-01"
    recorder.write(place)
    return place


def pieces(place: Path) -> Iterator[bytes]:
    """Names of all files, targets of all links and contents."""
    for directory, directories, files in os.walk(place):
        for name in [*directories, *files]:
            path = Path(directory) / name
            yield str(path.relative_to(place)).encode()
            if path.is_symlink():
                yield os.readlink(path).encode()
            elif path.is_file():
                yield path.read_bytes()


def originals(root: Path) -> dict[str, bytes]:
    """What must not be in the recording, read from the machine by other means than those of the recorder."""
    found = {HOST: HOST.encode(), DOMAIN: DOMAIN.encode(), "alias": b"mango", "machine id": MACHINE_ID.encode()}
    found.update({name: serial.encode() for name, serial in SERIALS.items()})
    found.update({"boot id": BOOT_ID.encode(), "serial of a card": b"MT2233T01234"})
    for text in ("10.20.30.40", "10.64.7.8", "172.16.9.10", "10.20.28.1", "10.98.0.2", "10.99.0.3"):
        packed = ipaddress.IPv4Address(text).packed
        found[text] = text.encode()
        found[f"{text} in a GID"] = f"{packed[:2].hex()}:{packed[2:].hex()}".encode()
        found[f"{text} in a routing table"] = packed[::-1].hex().upper().encode()
    found["network"], found["network in a GID"] = b"fd123456789a", b"fd12:3456:789a"
    paths = [*root.glob("sys/devices/**/node_guid"), *root.glob("sys/devices/pci*/**/net/*/address")]
    assert len(paths) == 5
    for path in paths:
        digits = path.read_text().strip().replace(":", "")[-16:]
        for size in (12, 16) if len(digits) == 16 else (12,):
            part = digits[-size:]
            pairs = [part[at : at + 2] for at in range(0, size, 2)]
            quads = [digits[at : at + 4] for at in range(0, len(digits), 4)]
            for spelling in (part, ":".join(pairs), "-".join(pairs), ":".join(quads)):
                found[f"{path} as {spelling}"] = spelling.encode()
        found[f"{path} in bytes"] = bytes.fromhex(digits)
        found[f"{path} in bytes, reversed"] = bytes.fromhex(digits)[::-1]
    found["serial number of a bridge"] = DSN.to_bytes(8, "little")
    for path in root.glob("sys/devices/**/vpd"):
        found[f"serial in {path}"] = path.read_bytes().partition(b"SN")[2][1:13]
    for path in root.glob("proc/driver/nvidia/gpus/*/information"):
        found[f"UUID in {path}"] = path.read_text().partition("GPU-")[2].split()[0].encode()
    found["who compiled a driver"] = b"quince"
    found["GUID of a tool"], found["UUID of a tool"] = b"b8599f0300112233", b"6b1d5c2e"
    return found


def test_nothing_of_the_originals_is_in_a_recording(root: Path, recorded: Path) -> None:
    there = [piece.lower() for piece in pieces(root)] + list(pieces(root))
    here = [piece.lower() for piece in pieces(recorded)] + list(pieces(recorded))
    secrets = originals(root)
    assert len(secrets) > 60
    assert [name for name, secret in secrets.items() for piece in here if secret in piece] == []
    # The same look finds them where they are, so it can see.
    seen = {name for name, secret in secrets.items() for piece in there if secret in piece or secret.lower() in piece}
    assert {HOST, "machine id", "boot id", "10.64.7.8", "10.20.28.1 in a routing table", "serial of a card"} <= seen
    assert {"172.16.9.10 in a GID", "network", "serial number of a bridge", "product_serial"} <= seen


def test_a_recording_gives_the_same_facts_with_other_identifiers(root: Path, recorded: Path) -> None:
    machine, recording = gather.gather(str(root)), gather.gather(str(recorded))
    names = {"enxb8599f4a5b6c": next(iter(recorded.glob("sys/class/net/enx*"))).name}
    for one, other in zip(machine["hcas"], recording["hcas"], strict=True):
        assert one["pci"] == other["pci"]
        assert one["pcie_link"] == other["pcie_link"]
        # The vendor's part stays, the rest does not.
        assert one["node_guid"][:7] == other["node_guid"][:7]
        assert one["node_guid"][10:] != other["node_guid"][10:]
        (port,), (again,) = one["ports"], other["ports"]
        assert names.get(port["netdev"]["name"], port["netdev"]["name"]) == again["netdev"]["name"]
        assert [gid["type"] for gid in port["gids"]] == [gid["type"] for gid in again["gids"]]
        assert (port["roce_v2_gid_index"], port["error_counters"]) == (
            again["roce_v2_gid_index"],
            again["error_counters"],
        )
        assert [text.split("/")[1] for text in port["netdev"]["addresses"]] == [
            text.split("/")[1] for text in again["netdev"]["addresses"]
        ]
    for section in ("signature", "affinity", "system"):
        assert machine[section] == recording[section]
    for section in ("usable", "excluded"):
        assert [(entry["hca"], entry["port"]) for entry in machine[section]] == [
            (entry["hca"], entry["port"]) for entry in recording[section]
        ]
    heard = [warning for warning in recording["warnings"] if warning["code"] == "hca_unhealthy"]
    assert len(heard) == 1
    assert "health compromised" in heard[0]["text"]


def test_what_belongs_together_still_does(recorded: Path) -> None:
    facts = gather.gather(str(recorded))
    infiniband, ethernet = facts["hcas"]
    # The GID of an InfiniBand port ends with its GUID, which is that of the HCA.
    assert infiniband["ports"][0]["gids"][0]["gid"] == f"fe80:0000:0000:0000:{infiniband['node_guid']}"
    (address,) = recorded.glob("sys/devices/pci*/**/net/ib0/address")
    assert address.read_text().strip().replace(":", "").endswith(infiniband["node_guid"].replace(":", ""))
    port = ethernet["ports"][0]
    mac = port["netdev"]["mac"].replace(":", "")
    assert port["netdev"]["name"] == f"enx{mac}"
    assert mac.startswith("b8599f")
    assert mac.endswith("c")
    gids = [gid["gid"].replace(":", "") for gid in port["gids"]]
    assert any(gid.endswith(f"9fff:fe{mac[6:]}".replace(":", "")) for gid in gids)
    (own,) = (text for text in port["netdev"]["addresses"] if ":" not in text)
    assert ipaddress.ip_interface(own).ip.packed.hex() in {gid[-8:] for gid in gids}
    documentation = [ipaddress.ip_network(net) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
    assert any(ipaddress.ip_interface(own).ip in net for net in documentation)
    # Too large for these.
    (wide,) = (text for text in infiniband["ports"][0]["netdev"]["addresses"] if ":" not in text)
    assert wide.endswith("/16")
    assert wide.startswith("240.")
    # The bridge's serial number was made of the MAC address of the card.
    (bridge,) = (path for path in recorded.glob("sys/devices/pci0000:97/*/config") if len(path.read_bytes()) == 4096)
    serial = struct.unpack_from("<Q", bridge.read_bytes(), 0x404)[0]
    assert f"{serial:016x}" == f"{mac[:6]}ffff{mac[6:]}"


def test_only_lines_that_facts_read_are_kept(recorded: Path) -> None:
    assert (recorded / "proc/cmdline").read_text().split() == ["iommu=pt"]
    assert (recorded / "proc/stat").read_text() == "btime 1790000000\n"
    assert len((recorded / "proc/net/unix").read_text().splitlines()) == 1
    assert len((recorded / "dev/kmsg").read_text().splitlines()) == 3
    assert not list(recorded.glob("**/node_desc"))
    assert "SN" in (next(recorded.glob("sys/devices/**/vpd")).read_bytes().decode("latin-1"))
    assert (recorded / ".recorded/lspci.txt").read_text().count("\n") == 1


# One of each kind that is read in a way of its own.
@pytest.mark.parametrize(
    "name",
    [
        "a100-01",
        "case-amd",
        "case-default-route",
        "case-in-pod",
        "case-soft-roce",
        "case-two-ports",
        "case-vf",
        "lab-02",
    ],
)
def test_nodes_of_the_fleet_are_recorded_without_a_difference(
    root_of: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    recorder = record.Recorder("node-01", str(root_of(name)), silent)
    recorder.record()
    recorder.write(tmp_path / "node-01")
    assert recorder.differences == []
    assert "Differences between facts of the machine and of the recording:\n  none" in recorder.report


@pytest.mark.parametrize("name", sorted(path.stem for path in topology_tree.CASES.glob("*.yml")))
def test_published_topologies_are_recorded_without_a_difference(tmp_path: Path, name: str) -> None:
    machine = topology_tree.write(name, tmp_path / "machine")
    recorder = record.Recorder("node-01", str(machine.root), silent)
    recorder.record()
    recorder.write(tmp_path / "node-01")
    assert recorder.differences == []


def test_a_real_guest_is_recorded_without_a_difference(tmp_path: Path) -> None:
    with tarfile.open(FIXTURES / "guest-sysfs.tar.gz") as archive:
        # As it is, also the absolute links; Debian 12's Python has no argument for that.
        archive.extraction_filter = lambda member, path: member
        archive.extractall(tmp_path / "machine")
    recorder = record.Recorder("node-01", str(tmp_path / "machine"), silent)
    recorder.record()
    recorder.write(tmp_path / "node-01")
    assert recorder.differences == []


def test_a_recording_is_a_node_of_the_fleet(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(expand, "RECORDED", tmp_path)
    with tarfile.open(tmp_path / "plum-01.tar.gz", "w:gz") as archive:
        archive.add(recorded, "node-01")
    # The second time it replaces what the first one has left.
    for _turn in range(2):
        assert expand.main(["--output", str(tmp_path / "fleet"), "--node", "plum-01"]) == 0
    assert capsys.readouterr().out == "plum-01          recorded\n" * 2
    assert gather.gather(str(tmp_path / "fleet/plum-01")) == gather.gather(str(recorded))


def test_a_file_that_recordings_lack_is_a_difference(root: Path, tmp_path: Path) -> None:
    recorder = record.Recorder("node-01", str(root), silent)
    recorder.record()
    (lost,) = [path for path in recorder.out.files if path.endswith("/infiniband/mlx5_0/fw_ver")]
    del recorder.out.files[lost]
    recorder.write(tmp_path / "node-01")
    assert recorder.differences == ["hcas.mlx5_0.firmware: '28.39.1002' on the machine, None in the recording"]


def test_an_identifier_in_a_form_that_nobody_knows_stops_the_recording(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "machine"
    shutil.copytree(root, copy, symlinks=True)
    (name,) = copy.glob("sys/devices/pci*/**/infiniband/mlx5_0/board_id")
    guid = (name.parent / "node_guid").read_text().strip().replace(":", "")
    name.write_text(f"board{guid}\n")
    with pytest.raises(record.RecordError, match=r"identifiers of this machine would be in .*mlx5_0/board_id"):
        record.Recorder("node-01", str(copy), silent).record()


def test_a_copy_of_the_files_records_this_machine(tmp_path: Path) -> None:
    """As the README of the fleet says, with the oldest Python of nodes where pyenv has it."""
    copy = tmp_path / "copy"
    for name in ("plugins/module_utils", "tests/fleet", "tests/lab/record_sysfs.py"):
        source = CHECKOUT / name
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    before = sorted(copy.rglob("*"))
    versions = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))) / "versions"
    python = next((str(path) for path in sorted(versions.glob("3.8.*/bin/python3.8"))), sys.executable)
    command = [
        python,
        "-S",
        "-E",
        str(copy / "tests/fleet/record.py"),
        "--output",
        str(tmp_path / "out"),
        "--name",
        "here",
    ]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    # With HCAs and GPUs, facts may differ from what the tools say.
    assert (run.returncode in (0, 1), run.stderr) == (True, "")
    report = (tmp_path / "out/here/.recorded/report.txt").read_text()
    assert report in run.stdout
    assert "Differences between facts of the machine and of the recording:" in report
    assert sorted(copy.rglob("*")) == before
    # A second time, it would mix two machines.
    again = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (again.returncode, again.stderr.count("is there already")) == (2, 1)


def test_the_report_says_what_is_missing(recorded: Path) -> None:
    report: Any = (recorded / ".recorded/report.txt").read_text()
    assert "rdma -j link show: exit status 1: node-01" in report
    assert "HCA mlx5_0 at " in report
    assert "lspci does not list it" in report
    assert "Replaced:\n  GUIDs\n  IPv4 addresses\n  IPv6 networks\n  MAC addresses\n  UUIDs\n" in report
