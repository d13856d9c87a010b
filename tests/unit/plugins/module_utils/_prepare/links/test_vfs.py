# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""VFs of links: how many a port can have, where they will be, what is refused because somebody uses one."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import keyfile, live, vfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import (
    ActiveConnection,
    NmDevice,
    Snapshot,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.links.nm_sriov import (
    LINK,
    NETDEVS,
    PF,
    VFS,
    SriovTree,
    applied,
    disconnected,
    node,
    plan,
    text_of,
)


@pytest.fixture
def tree(tmp_path: Path) -> SriovTree:
    return SriovTree(tmp_path)


def test_the_documented_recovery_removes_every_file_of_links(tree: SriovTree) -> None:
    applied(tree, LINK)
    assert (tree.root / keyfile.VFS_PATH.lstrip("/")).exists()
    text = (Path(__file__).resolve().parents[6] / "docs/recovery.md").read_text()
    script = text.split("```sh\n")[1].split("```")[0]
    assert script.startswith("root=/\nconcern=kernel_modules\n")
    script = script.replace("root=/\nconcern=kernel_modules\n", f"root={tree.root}\nconcern=nm_links\n", 1)
    subprocess.run(["sh", "-euc", script], check=True)
    assert [path for path in (tree.root / "etc").rglob("*") if path.is_file()] == []


def test_vfs_are_planned_before_they_exist(tree: SriovTree) -> None:
    found = plan(node(tree), LINK)
    assert Change("vfs", PF, 0, 2) in found.changes
    assert text_of(found, keyfile.VFS_PATH).splitlines()[1:] == [
        "",
        "[device-zerocopy-rdma-rail0]",
        "match-device=mac:B8:59:9F:3B:2B:88",
        "sriov-num-vfs=2",
    ]
    match = 'SUBSYSTEM=="net", KERNELS=="0000:81:00.2", '
    assert text_of(found, keyfile.UDEV_PATH).splitlines()[1:3] == [
        f'ACTION!="remove", {match}ENV{{NM_UNMANAGED}}="1"',
        f'ACTION=="add", {match}ATTR{{mtu}}="9000"',
    ]
    assert found.unmanaged == dict.fromkeys(VFS, "pci")
    # NetworkManager reads its configuration again, and no profile of that name.
    assert keyfile.VFS_PATH in found.pending
    assert keyfile.VFS_PATH not in [path for paths in found.load for path in paths]
    assert "sriov" not in text_of(found, keyfile.path_of("rail0"))


@pytest.mark.parametrize(
    ("offset", "stride", "found"),
    [
        (2, 1, ["0000:81:00.2", "0000:81:00.3"]),
        # As of an 82576: on another device, every second function.
        (128, 2, ["0000:81:10.0", "0000:81:10.2"]),
        (384, 2, ["0000:82:10.0", "0000:82:10.2"]),
    ],
)
def test_where_vfs_will_be(tree: SriovTree, offset: int, stride: int, found: List[str]) -> None:
    tree.write(f"sys/bus/pci/devices/{PF}/sriov_offset", f"{offset}\n")
    tree.write(f"sys/bus/pci/devices/{PF}/sriov_stride", f"{stride}\n")
    assert vfs.addresses(Tree(str(tree.root)), PF, 2) == found


def test_a_node_that_has_them_changes_no_more(tree: SriovTree) -> None:
    applied(tree, LINK, vfs={PF: 0})
    tree.make(mtu=9000)
    for index in (200, 201):
        tree.write(f"run/udev/data/n{index}", "E:NM_UNMANAGED=1\n")
    tree.write("sys/class/net/ens1np0/mtu", "9000\n")
    found = plan(node(tree), LINK)
    assert (found.changes, found.pending) == ([], {})
    # Also while a pod has one of them, and while one has the PF.
    tree.away("ens1v0")
    assert plan(node(tree), LINK).changes == []
    tree.away("ens1np0")
    (tree.root / "sys/class/infiniband/mlx5_0").unlink()
    found = plan(node(tree), LINK)
    assert (found.changes, found.links[0]["state"]) == ([], "in_pod")


def test_vfs_that_others_made_get_mtu_and_peace(tree: SriovTree) -> None:
    tree.make()
    found = plan(node(tree), LINK)
    assert found.vfs == []
    assert found.handed == [(name, False) for name in NETDEVS]
    assert [change for change in found.changes if change.kind == "mtu"] == [
        Change("mtu", name, 1500, 9000) for name in NETDEVS
    ]


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (
            {"vfs": 9},
            "links: rail0: vfs is 9, but 0000:81:00.0 can have 8 at most; raise that in its firmware "
            "(mlxconfig -d 0000:81:00.0 set SRIOV_EN=1 NUM_OF_VFS=9), then reboot the node",
        ),
        ({"hca": "mlx5_1"}, "links: rail0: vfs is 2, but 0000:82:00.0 can have 0 at most"),
        ({"vfs": -1}, "links: rail0: vfs: -1 is not a number of VFs"),
    ],
)
def test_refused(tree: SriovTree, link: Dict[str, Any], message: str) -> None:
    with pytest.raises(HostError) as caught:
        plan(node(tree), {**LINK, **link})
    assert str(caught.value).startswith(message)


def test_another_card_is_not_set_by_mlxconfig(tree: SriovTree) -> None:
    driver = tree.root / "sys/bus/pci/devices" / PF / "driver"
    driver.unlink()
    driver.symlink_to("../../../bus/pci/drivers/igb")
    with pytest.raises(HostError, match="ask for fewer, or raise that in the firmware's settings"):
        plan(node(tree), {**LINK, "vfs": 9})


def in_a_pod(tree: SriovTree) -> str:
    tree.away("ens1v1")
    return "VF 0000:81:00.3 (mlx5_core) has no netdev on the host, so it is in a pod"


def with_the_default_route(tree: SriovTree) -> str:
    routes = (tree.root / "proc/net/route").read_text()
    tree.write("proc/net/route", routes.replace("eno1", "ens1v0"))
    return "VF 0000:81:00.2 is used: ens1v0 carries the default route"


def in_a_bond(tree: SriovTree) -> str:
    (tree.root / "sys/class/net/ens1v0/master").symlink_to("../bond0")
    tree.write("sys/class/net/bond0/bonding/mode", "active-backup 1\n")
    return "VF 0000:81:00.2 is used: ens1v0 belongs to bond bond0"


def below_a_vlan(tree: SriovTree) -> str:
    # It has no address itself.
    (tree.root / "sys/class/net/ens1v0/upper_storage").symlink_to("../storage")
    return "VF 0000:81:00.2 is used: storage is on ens1v0"


@pytest.mark.parametrize("use", [in_a_pod, in_a_bond, below_a_vlan])
@pytest.mark.parametrize("links", [[{**LINK, "vfs": 4}], []], ids=["another number", "teardown"])
def test_vfs_in_use_are_not_taken(tree: SriovTree, use: Any, links: List[Dict[str, Any]]) -> None:
    applied(tree, LINK, vfs={PF: 0})
    tree.make()
    message = use(tree)
    with pytest.raises(HostError) as caught:
        plan(node(tree), *links)
    assert message in str(caught.value)
    assert f"0000:81:00.0 has 2 VFs and would get {4 if links else 0}" in str(caught.value)


def test_the_node_s_own_way_out_is_not_taken(tree: SriovTree) -> None:
    applied(tree, LINK, vfs={PF: 0})
    tree.make()
    message = with_the_default_route(tree)
    with pytest.raises(HostError) as caught:
        plan(node(tree))
    assert message in str(caught.value)


def test_a_vf_with_an_address_of_the_host_s_is_not_taken(tree: SriovTree) -> None:
    tree.make()
    with pytest.raises(HostError, match=r"VF 0000:81:00\.2 is used: ens1v0 has 10\.9\.0\.1/24"):
        plan(node(tree, ens1v0="10.9.0.1/24"), {**LINK, "vfs": 4})
    assert plan(node(tree, ens1v0="fe80::1/64"), {**LINK, "vfs": 4}).vfs


def managed(external: bool, **addresses: str) -> Snapshot:
    active = ActiveConnection("/active", "uuid", "storage", 2, external)
    devices = disconnected("ens1np0", *NETDEVS).devices
    return Snapshot({**devices, **{name: NmDevice(f"/{name}", name, 100, active) for name in addresses}})


def test_a_vf_that_networkmanager_has_configured_is_not_taken_from_it(tree: SriovTree) -> None:
    """Somebody made the VFs, and keeps one for the host: its address would go."""
    tree.make()
    own = {"ens1v0": "10.9.0.1/24"}
    said = "unmanaged: ens1v0 cannot be made unmanaged: connection 'storage' has given 10.9.0.1/24 to ens1v0"
    for options in ({"unmanaged": [{"pci": VFS[0]}]}, {}):
        with pytest.raises(HostError) as caught:
            plan(node(tree, managed(False, **own), **own), *([] if options else [LINK]), **options)
        assert str(caught.value).startswith(said)
    # Given by hand, or link-local, it stays.
    assert ("ens1v0", False) in plan(node(tree, managed(True, **own), **own), LINK).handed
    local = {"ens1v0": "fe80::1/64"}
    assert ("ens1v0", False) in plan(node(tree, managed(False, **local), **local), LINK).handed
    # NetworkManager takes a VLAN down with the port.
    below_a_vlan(tree)
    tree.write("sys/class/net/storage/ifindex", "300\n")
    tree.write("sys/class/net/storage/type", "1\n")
    with pytest.raises(HostError, match=r"ens1v0 cannot be made .* has given 10\.9\.0\.1/24 to storage"):
        plan(node(tree, managed(False, storage="10.9.0.1/24"), storage="10.9.0.1/24"), LINK)


def test_unused_vfs_change_their_number(tree: SriovTree) -> None:
    tree.make()
    # Free: no driver, so nobody can use it.
    (tree.root / "sys/bus/pci/devices" / VFS[1] / "driver").unlink()
    tree.away("ens1v1")
    found = plan(node(tree), {**LINK, "vfs": 4})
    assert found.vfs[0].changes == [Change("vfs", PF, 2, 4)]
    # Those there are go, so nothing is done to them.
    assert (found.handed, found.vf_mtus) == ([], [])


def test_a_dropped_link_gets_back_the_number_it_had(tree: SriovTree) -> None:
    applied(tree, LINK, vfs={PF: 1})
    tree.make()
    found = plan(node(tree))
    assert Change("vfs", PF, 2, 1) in found.changes
    absent = [entry.path for entry in found.files if entry.after is None]
    assert {keyfile.VFS_PATH, keyfile.UDEV_PATH} <= set(absent)
    tree.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", "1\n")
    assert plan(node(tree)).vfs == []


def test_a_profile_of_others_is_not_replaced_under_used_vfs(tree: SriovTree) -> None:
    tree.make()
    active = ActiveConnection("/a", "theirs", "site-rail0", 2, external=False)
    snapshot = Snapshot({"ens1np0": NmDevice("/d", "ens1np0", 100, active)}, {"/a": active})
    assert [entry.id for entry, _device in plan(node(tree, snapshot), LINK).up] == ["rail0"]
    in_a_pod(tree)
    with pytest.raises(HostError, match="connection 'site-rail0' would go down on ens1np0, and may take its VFs"):
        plan(node(tree, snapshot), {**LINK, "vfs": 0})


def run(argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
    return Completed(0, "", "")


def numbers(tree: SriovTree) -> str:
    return (tree.root / f"sys/bus/pci/devices/{PF}/sriov_numvfs").read_text()


def test_numbers_are_written_once(tree: SriovTree) -> None:
    files = Tree(str(tree.root))
    live.make(run, files, [(PF, 4), ("0000:99:00.0", 2)], {})
    assert numbers(tree) == "4"
    tree.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", "4\n")
    live.make(run, files, [(PF, 4)], {})
    assert numbers(tree) == "4\n"


def test_another_number_by_way_of_none(tree: SriovTree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", "4\n")
    written = []

    def opened(path: str, mode: str, encoding: str) -> Any:
        written.append(numbers(tree))
        return open(path, mode, encoding=encoding)

    monkeypatch.setattr(live, "open", opened, raising=False)
    live.make(run, Tree(str(tree.root)), [(PF, 2)], {})
    assert [*written, numbers(tree)] == ["4\n", "0", "2"]


def test_netdevs_of_new_vfs_are_told(tree: SriovTree) -> None:
    tree.make()
    tree.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", "0\n")
    files = Tree(str(tree.root))
    assert live.make(run, files, [(PF, 2)], {}) == {PF: ["ens1v0", "ens1v1"]}
    assert live.make(run, files, [(PF, 2)], {}) == {}
