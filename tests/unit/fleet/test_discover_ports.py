# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Ports of HCAs from hand-written trees: what sysfs says of them, their netdevs, and which of them fit."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, Dict, List, Optional
from unittest import mock

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, port_netdev, selection
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.nldev import Nldev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.routes import Routing
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Excluded, Reason, Usable
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import (
    CharDevice,
    Gid,
    Hca,
    Netdev,
    NetdevRoute,
    NetdevRule,
    PciFunction,
    Port,
    Sriov,
)

ZERO_GID = ":".join(["0000"] * 8)
MAPPED = "0000:0000:0000:0000:0000:ffff:0a00:0007"


def put(root: Path, path: str, text: str = "") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def port(root: Path, **files: str) -> Port:
    """Port 1 of mlx5_0 with these files; a double underscore is a slash."""
    put(root, "sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n")
    for name, text in files.items():
        put(root, "sys/class/infiniband/mlx5_0/ports/1/" + name.replace("__", "/"), text + "\n")
    (found,) = infiniband.hcas(Tree(str(root)), counters=True)
    return found.ports[0]


@pytest.mark.parametrize(
    ("text", "rate", "lanes"),
    [
        ("400 Gb/sec (4X NDR)", 400.0, 4),
        ("2.5 Gb/sec (1X SDR)", 2.5, 1),
        ("100 Gb/sec", 100.0, None),
        ("fast", None, None),
        ("1234567 Gb/sec", None, None),
        ("400 Mb/sec", None, None),
    ],
)
def test_rate_and_lanes(tmp_path: Path, text: str, rate: Optional[float], lanes: Optional[int]) -> None:
    found = port(tmp_path, rate=text)
    assert (found.rate_gbps, found.lanes) == (rate, lanes)


def test_what_a_port_says(tmp_path: Path) -> None:
    found = port(
        tmp_path,
        phys_state="5: LinkUp",
        link_layer="Ethernet",
        lid="0x12",
        sm_lid="0x1",
        pkeys__1="0x7fff",
        pkeys__0="0xffff",
        pkeys__2="0x0000",
        pkeys__odd="0x8001",
        gids__0="fe80:0000:0000:0000:0000:0000:0000:0001",
        gids__1=ZERO_GID,
        gids__10=MAPPED,
        gids__2=MAPPED,
        gid_attrs__types__0="IB/RoCE v1",
        gid_attrs__types__2="RoCE v2",
        gid_attrs__ndevs__2="rail0",
        counters__link_downed="3",
        hw_counters__out_of_sequence="7",
    )
    assert (found.state, found.physical_state, found.lid, found.sm_lid) == ("ACTIVE", "LinkUp", 0x12, 1)
    assert found.pkeys == ["0xffff", "0x7fff"]
    first = Gid(0, "fe80:0000:0000:0000:0000:0000:0000:0001", "RoCE v1")
    assert found.gids == [first, Gid(2, MAPPED, "RoCE v2", "rail0"), Gid(10, MAPPED)]
    assert found.error_counters == {"link_downed": 3, "out_of_sequence": 7}
    assert port(tmp_path, link_layer="InfiniBand").gids[0].type == "IB"


@pytest.mark.parametrize(
    ("gid", "address"), [(MAPPED, "10.0.0.7"), ("fe80" + ZERO_GID[4:], None), (MAPPED[:-4] + "zzzz", None)]
)
def test_ipv4_in_a_gid(gid: str, address: Optional[str]) -> None:
    assert infiniband.mapped_ipv4(gid) == address


LINK_LOCAL, GLOBAL = "fe80" + ZERO_GID[4:-1] + "1", "fd00" + ZERO_GID[4:-1] + "1"


@pytest.mark.parametrize(
    ("gids", "index"),
    [
        ([(0, LINK_LOCAL, "rail0"), (1, GLOBAL, "rail0"), (2, MAPPED, "rail0")], 2),
        ([(0, LINK_LOCAL, "rail0"), (1, GLOBAL, "rail0")], 1),
        ([(3, LINK_LOCAL, "rail0"), (4, LINK_LOCAL, "rail0")], 3),
        # The port's own before that of a VLAN on it, whatever their order.
        ([(1, MAPPED, "rail0.7"), (2, MAPPED, "rail0")], 2),
        ([(1, MAPPED, "rail0.7"), (2, GLOBAL, "rail0")], 1),
        ([(1, MAPPED, None), (2, MAPPED, "rail0")], 1),
        ([], None),
    ],
)
def test_gid_index_of_roce(gids: List[Any], index: Optional[int]) -> None:
    def own(link_layer: str, kind: str) -> Port:
        table = [Gid(number, gid, kind, name) for number, gid, name in gids]
        return Port(1, link_layer=link_layer, gids=table, netdev=Netdev("rail0", "gid"))

    assert infiniband.roce_v2_gid_index(own("Ethernet", "RoCE v2")) == index
    assert infiniband.roce_v2_gid_index(own("Ethernet", "RoCE v1")) is None
    assert infiniband.roce_v2_gid_index(own("InfiniBand", "RoCE v2")) is None


def test_character_devices(tmp_path: Path) -> None:
    files = {
        "sys/class/infiniband_verbs/uverbs0/ibdev": "mlx5_0",
        "sys/class/infiniband_verbs/uverbs0/dev": "231:192",
        "sys/class/infiniband_verbs/abi_version": "6",
        "sys/class/infiniband_verbs/other/ibdev": "mlx5_9",
        "sys/class/infiniband_cm/ucm0/ibdev": "mlx5_0",
        "sys/class/infiniband_mad/umad0/ibdev": "mlx5_0",
        "sys/class/infiniband_mad/umad0/port": "1",
        "sys/class/infiniband_mad/issm0/ibdev": "mlx5_0",
        "sys/class/infiniband_mad/issm0/port": "1",
        "sys/class/infiniband_mad/umad1/ibdev": "mlx5_1",
        "sys/class/infiniband_mad/umad2/port": "1",
        "dev/infiniband/uverbs0": "",
        "dev/infiniband/umad0": "",
    }
    for path, text in files.items():
        put(tmp_path, path, text + "\n")
    found = infiniband.char_devices(Tree(str(tmp_path)))
    assert found.uverbs == {"mlx5_0": CharDevice("uverbs0", "/dev/infiniband/uverbs0", "231:192", True)}
    assert found.ucm == {"mlx5_0": CharDevice("ucm0", "/dev/infiniband/ucm0", None, False)}
    # One without its port or its HCA serves nothing that is known.
    assert found.umad == {("mlx5_0", 1): CharDevice("umad0", "/dev/infiniband/umad0", None, True)}
    assert found.issm == {("mlx5_0", 1): CharDevice("issm0", "/dev/infiniband/issm0", None, False)}


PCI = "0000:1a:00.0"


def device(root: Path, netdevs: Dict[str, Dict[str, str]]) -> Hca:
    """An HCA whose function has these netdevs."""
    place = f"sys/devices/pci0000:15/{PCI}"
    (root / place / "net").mkdir(parents=True)
    (root / "sys/bus/pci/devices").mkdir(parents=True)
    (root / "sys/bus/pci/devices" / PCI).symlink_to(root / place)
    (root / "sys/class/net").mkdir(parents=True)
    for name, files in netdevs.items():
        put(root, f"{place}/net/{name}/mtu", "1500")
        for file, text in files.items():
            put(root, f"{place}/net/{name}/{file}", text)
        (root / "sys/class/net" / name).symlink_to(root / place / "net" / name)
    return Hca("mlx5_0", driver="mlx5_core", pci=PciFunction(PCI, "15b3", "1017", "020000"))


def attached(root: Path, hca: Hca, own: Port, nldev: Optional[Nldev] = None) -> Optional[Netdev]:
    hca.ports = [own]
    port_netdev.attach(Tree(str(root)), [hca], nldev, None)
    return own.netdev


@pytest.mark.parametrize(
    ("netdevs", "own", "name"),
    [
        ({"a": {"dev_port": "0"}, "b": {"dev_port": "1"}}, Port(2, link_layer="Ethernet"), "b"),
        ({"a": {"dev_port": "1"}, "b": {"dev_port": "0"}}, Port(1, link_layer="Ethernet"), "b"),
        ({"a": {}}, Port(2, link_layer="Ethernet"), "a"),
        ({"a": {"type": "32"}, "b": {"type": "1"}}, Port(1, link_layer="Ethernet"), "b"),
        ({"a": {"type": "1"}, "b": {"type": "32"}}, Port(1, link_layer="InfiniBand"), "b"),
        ({"a": {"type": "32"}}, Port(1), "a"),
        ({"a": {"dev_port": "1"}}, Port(1, link_layer="Ethernet"), None),
    ],
)
def test_a_netdev_by_the_function_of_the_port(tmp_path: Path, netdevs: Any, own: Port, name: Optional[str]) -> None:
    found = attached(tmp_path, device(tmp_path, netdevs), own)
    assert (found.name if found else None) == name
    assert found is None or (found.source, found.present) == ("device", True)


def test_what_names_a_netdev_in_the_order_of_trust(tmp_path: Path) -> None:
    hca = device(tmp_path, {name: {"dev_port": "0"} for name in ("by-device", "by-gid", "told")})
    gids = [Gid(0, MAPPED), Gid(1, MAPPED, netdev="by-gid"), Gid(2, MAPPED, netdev="told")]
    told = Nldev({("mlx5_0", 1): "told", ("mlx5_0", 2): "by-gid"})
    found = attached(tmp_path, hca, Port(1, gids=gids), told)
    assert found
    assert (found.name, found.source) == ("told", "netlink")
    found = attached(tmp_path, hca, Port(1, gids=gids))
    assert found
    assert (found.name, found.source) == ("by-gid", "gid")


@pytest.mark.parametrize(
    ("nldev", "present"),
    [
        (None, True),
        # It tells of no netdev at all before Linux 4.20, else of all in this namespace.
        (Nldev(), True),
        (Nldev({("mlx5_1", 1): "other"}), False),
    ],
)
def test_a_netdev_that_a_gid_names(tmp_path: Path, nldev: Optional[Nldev], present: bool) -> None:
    hca = device(tmp_path, {"rail0": {}})
    found = attached(tmp_path, hca, Port(1, gids=[Gid(0, MAPPED, netdev="rail0")]), nldev)
    assert found
    assert (found.name, found.present) == ("rail0", present)


def test_a_netdev_of_that_name_on_another_function_is_another(tmp_path: Path) -> None:
    hca = device(tmp_path, {"rail0": {}})
    hca.pci = PciFunction("0000:99:00.0", "15b3", "1017", "020000")
    found = attached(tmp_path, hca, Port(1, gids=[Gid(0, MAPPED, netdev="rail0")]))
    assert found
    assert found.present is False


def software(root: Path, gid: str, *netdevs: str, driver: str = "siw") -> Optional[Netdev]:
    for name in netdevs:
        put(root, f"sys/class/net/{name}", "02:00:00:00:00:07\n")
    hca = Hca("siw0", driver=driver, software=True)
    return attached(root, hca, Port(1, gids=[Gid(0, gid)]))


SIW = "0200:0000:0007:0000:0000:0000:0000:0000"


@pytest.mark.parametrize(
    ("gid", "driver", "netdevs", "name"),
    [
        (SIW, "siw", ["eth0/address"], "eth0"),
        (SIW, "rxe", ["eth0/address"], None),
        # A bond has the address of its slave; two that are nobody's are two too many.
        (SIW, "siw", ["eth0/address", "bond0/address", "bond0/lower_eth0"], "eth0"),
        (SIW, "siw", ["eth0/address", "eth1/address"], None),
        ("0200:0000:0008" + SIW[14:], "siw", ["eth0/address"], None),
        (ZERO_GID, "siw", ["eth0/address"], None),
        ("0200:0000", "siw", ["eth0/address"], None),
    ],
)
def test_the_netdev_of_siw_by_its_mac_address(
    tmp_path: Path, gid: str, driver: str, netdevs: List[str], name: Optional[str]
) -> None:
    found = software(tmp_path, gid, *netdevs, driver=driver)
    assert (found.name if found else None) == name


def test_what_rtnetlink_adds_to_a_netdev(tmp_path: Path) -> None:
    hca = device(tmp_path, {"rail0": {}})
    hca.ports = [Port(1)]
    known = {"rail0": Interface("rail0", 5, max_mtu=9978, addresses=("10.0.0.7/24",))}
    routing = Routing({5: [NetdevRoute("10.0.0.0/24", 254)], 6: [NetdevRoute("10.1.0.0/24", 254)]})
    routing.rules = [NetdevRule("10.0.0.7/32", 100), NetdevRule("10.0.0.8/32", 100)]
    port_netdev.attach(Tree(str(tmp_path)), [hca], None, known, routing)
    found = hca.ports[0].netdev
    assert found
    assert (found.max_mtu, found.addresses) == (9978, ["10.0.0.7/24"])
    assert (found.routes, found.rules) == ([NetdevRoute("10.0.0.0/24", 254)], [NetdevRule("10.0.0.7/32", 100)])
    # Of a netdev that rtnetlink does not have, nothing is known.
    hca.ports = [Port(1)]
    port_netdev.attach(Tree(str(tmp_path)), [hca], None, {}, routing)
    assert hca.ports[0].netdev
    assert (hca.ports[0].netdev.max_mtu, hca.ports[0].netdev.routes) == (None, None)


def test_hints_are_the_mapped_gids_with_a_netdev() -> None:
    gids = [Gid(0, MAPPED, netdev="rail0"), Gid(1, MAPPED[:-1] + "8"), Gid(2, LINK_LOCAL, netdev="rail0")]
    assert port_netdev.address_hints([Hca("mlx5_0", ports=[Port(1, gids=gids)])]) == {"10.0.0.7": "rail0"}


def chosen(root: Path, *hcas: Hca, **options: Any) -> Dict[str, List[str]]:
    """The reasons against the ports of these HCAs, by HCA."""
    put(root, "proc/net/route", "Iface\n")
    usable, excluded = selection.select(
        Tree(str(root)),
        hcas,
        options.get("drivers", ("mlx5_core",)),
        options.get("allow_software", False),
        options.get("nvswitch", ()),
        options.get("interfaces"),
    )
    found: Dict[str, List[str]] = {entry.hca: [] for entry in usable}
    found.update((entry.hca, [reason.code for reason in entry.reasons]) for entry in excluded)
    return found


def nic(name: str = "mlx5_0", link_layer: str = "Ethernet", netdev: Optional[Netdev] = None, **own: Any) -> Hca:
    own.setdefault("pci", PciFunction(PCI, "15b3", "1017", "020000"))
    port = Port(1, state=own.pop("state", "ACTIVE"), link_layer=link_layer, netdev=netdev)
    return Hca(name, **{"driver": "mlx5_core", "ports": [port], **own})


HERE, AWAY = Netdev("rail0", "netlink"), Netdev("rail0", "gid", present=False)


@pytest.mark.parametrize(
    ("hca", "options", "reasons"),
    [
        (nic(netdev=HERE), {}, []),
        (nic(netdev=HERE, state="DOWN"), {}, ["port_down"]),
        (nic(netdev=HERE, driver="irdma"), {}, ["driver_not_allowed"]),
        (nic(netdev=HERE, sriov=Sriov("vf", pf_address=PCI)), {}, ["vf"]),
        (nic(netdev=HERE, pci=None), {}, ["pci_unknown"]),
        (nic(netdev=HERE, software=True, pci=None), {}, ["software_device"]),
        (nic(netdev=HERE, software=True, pci=None), {"allow_software": True}, []),
        (nic(netdev=AWAY), {}, ["in_pod"]),
        # Every RoCE port has a netdev; software that lost its own has none to lose.
        (nic(netdev=None), {}, ["in_pod"]),
        (nic(netdev=None, software=True), {"allow_software": True}, []),
        (nic(netdev=None, link_layer="InfiniBand"), {}, []),
        (nic(netdev=None), {"nvswitch": ("mlx5_0",)}, ["nvswitch_management"]),
        # The node has nothing else.
        (nic(netdev=Netdev("bond0", "gid", bond=True)), {}, []),
        (nic(netdev=Netdev("bond0", "gid", bond=True), driver="irdma"), {}, ["driver_not_allowed", "bond"]),
    ],
)
def test_what_keeps_a_port_from_workloads(tmp_path: Path, hca: Hca, options: Any, reasons: List[str]) -> None:
    assert chosen(tmp_path, hca, **options) == {"mlx5_0": reasons}


def test_infiniband_without_ipoib_is_in_a_pod_only_beside_others_that_have_it(tmp_path: Path) -> None:
    without, beside = nic("mlx5_1", "InfiniBand"), nic("mlx5_0", "InfiniBand", HERE)
    assert chosen(tmp_path, beside, without) == {"mlx5_0": [], "mlx5_1": ["in_pod"]}
    assert chosen(tmp_path, without) == {"mlx5_1": []}
    # RoCE has a netdev anyway, and what manages NVSwitches tells nothing of the others.
    assert chosen(tmp_path, nic(netdev=HERE), without)["mlx5_1"] == []
    assert chosen(tmp_path, beside, without, nvswitch=("mlx5_0",))["mlx5_1"] == []


@pytest.mark.parametrize(("kind", "reason"), [("bonding", "bond_slave"), ("bridge", "bridge_port"), ("vrf", None)])
def test_what_a_netdev_is_enslaved_to(tmp_path: Path, kind: str, reason: Optional[str]) -> None:
    put(tmp_path, f"sys/class/net/master0/{kind}/x")
    own = Netdev("rail0", "netlink", master="master0")
    assert chosen(tmp_path, nic(netdev=own)) == {"mlx5_0": [reason] if reason else []}


@pytest.mark.parametrize(
    ("kind", "reason"), [("openvswitch", "bridge_port"), ("team", "team_port"), ("vrf", None), (None, None)]
)
def test_a_master_of_which_only_the_kernel_tells_what_it_is(
    tmp_path: Path, kind: Optional[str], reason: Optional[str]
) -> None:
    put(tmp_path, "sys/class/net/ovs-system/mtu")
    own = Netdev("rail0", "netlink", master="ovs-system")
    there = {"ovs-system": Interface("ovs-system", virtual=kind)}
    assert chosen(tmp_path, nic(netdev=own), interfaces=there) == {"mlx5_0": [reason] if reason else []}


def test_a_route_over_the_port_or_over_what_stands_on_it(tmp_path: Path) -> None:
    put(tmp_path, "sys/class/net/rail0.7/lower_rail0")
    put(tmp_path, "sys/class/net/rail0/mtu")
    row = "{} 00000000 00000000 0003 0 0 0 00000000 0 0 0\n"
    for name, through in (("rail0", None), ("rail0.7", "rail0.7")):
        put(tmp_path, "proc/net/route", "Iface\n" + row.format(name))
        _usable, (found,) = selection.select(Tree(str(tmp_path)), [nic(netdev=HERE)], ("mlx5_core",), False)
        assert [reason.code for reason in found.reasons] == ["default_route"]
        assert found.reasons[0].fields.get("through") == through


def test_without_routing_tables_only_a_netdev_on_the_host_may_carry_the_default_route(tmp_path: Path) -> None:
    tree = Tree(str(tmp_path))
    for own, codes in ((HERE, ["default_route_unknown"]), (AWAY, ["in_pod"])):
        _usable, (found,) = selection.select(tree, [nic(netdev=own)], ("mlx5_core",), False)
        assert [reason.code for reason in found.reasons] == codes


def test_which_hcas_gpus_can_have() -> None:
    def out(name: str, *codes: str) -> Excluded:
        return Excluded(name, 1, [Reason(code, "") for code in codes])

    excluded = [out("in-pod", "in_pod"), out("down", "port_down"), out("vf", "vf", "in_pod"), out("bond", "bond")]
    assert selection.assignable([Usable("up", 1), Usable("up", 2)], excluded) == ["in-pod", "up"]
    assert selection.passing([*excluded, out("both", "in_pod", "port_down")]) == ["in-pod", "down", "both"]


def test_reading_never_leaves_the_root(tmp_path: Path) -> None:
    put(tmp_path, "outside/secret", "1")
    put(tmp_path, "node/own", "2")
    (tmp_path / "node/out").symlink_to("../outside/secret")
    (tmp_path / "node/in").symlink_to("own")
    (tmp_path / "node/lost").symlink_to("nowhere")
    tree = Tree(str(tmp_path / "node"))
    assert [tree.text(name) for name in ("own", "in", "out", "lost")] == ["2", "2", None, None]
    assert [tree.exists(name) for name in ("in", "out", "lost")] == [True, False, False]
    assert [tree.resolve(name) for name in ("in", "out", "lost")] == ["own", None, None]
    assert [tree.target_name(name) for name in ("out", "lost", "own", "none")] == ["secret", "nowhere", None, None]
    assert (tree.head("own", 5), tree.head("out", 5), tree.names("out"), tree.contents("out")) == (b"2", None, [], {})
    assert tree.unreadable == {}


def test_what_cannot_be_read_is_noted_with_its_reason(tmp_path: Path) -> None:
    put(tmp_path, "file", "x")
    put(tmp_path, "directory/file", "y")
    tree = Tree(str(tmp_path))
    for error, reason in ((errno.EACCES, "permission"), (errno.EPERM, "permission"), (errno.EIO, "EIO")):
        with mock.patch.object(os, "open", side_effect=OSError(error, "refused")):
            assert (tree.data("file"), tree.head("file", 9), tree.contents("directory")) == (None, None, {})
        assert tree.unreadable == {"/file": reason, "/directory": reason}
    tree = Tree(str(tmp_path))
    with mock.patch.object(os, "listdir", side_effect=OSError(errno.ENODEV, "gone")):
        assert (tree.names("directory"), tree.contents("directory")) == ([], {})
    assert tree.unreadable == {}
    assert tree.contents("directory") == {"file": b"y"}


@pytest.mark.parametrize(
    ("text", "base", "value", "noted"),
    [
        ("0x1f", 0, 31, False),
        ("1f", 16, 31, False),
        ("-1", 10, -1, False),
        (str(2**64 - 1), 10, 2**64 - 1, False),
        (str(2**64), 10, None, True),
        ("1f", 10, None, True),
        ("", 10, None, False),
    ],
)
def test_numbers(tmp_path: Path, text: str, base: int, value: Optional[int], noted: bool) -> None:
    put(tmp_path, "file", text)
    tree = Tree(str(tmp_path))
    assert tree.number("file", base) == value
    assert tree.unreadable == ({"/file": "not a number"} if noted else {})


@pytest.mark.parametrize(
    ("text", "name"), [("mlx5_0", "mlx5_0"), ("../x", None), (".", None), ("..", None), ("", None)]
)
def test_names_of_devices(tmp_path: Path, text: str, name: Optional[str]) -> None:
    put(tmp_path, "file", text)
    tree = Tree(str(tmp_path))
    assert tree.name("file") == name
    assert tree.unreadable == ({"/file": "not a name"} if text and name is None else {})
