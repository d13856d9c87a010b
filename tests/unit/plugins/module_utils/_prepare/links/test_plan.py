# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What links make of a node: which port is meant, what is refused, what has to change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, netdev, port_netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import interfaces as discover_interfaces
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import guard, request
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import plan as links_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import (
    ActiveConnection,
    NmDevice,
    Snapshot,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import LinkChanges, LinkState
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.links.nm_node import NodeTree

FILE = "/etc/NetworkManager/system-connections/{}.nmconnection"
RAIL = {"name": "rail0", "hca": "mlx5_0", "addresses": ["10.20.0.11/16"]}


@pytest.fixture
def tree(tmp_path: Path) -> NodeTree:
    return NodeTree(tmp_path)


def node(
    tree: NodeTree,
    snapshot: Optional[Snapshot] = None,
    ssh: Optional[str] = None,
    there: Optional[Dict[str, Dict[str, Any]]] = None,
) -> LinkState:
    """The node as links read it; ``there`` are properties of netdevs that only a running kernel tells."""
    files = Tree(str(tree.root))
    interfaces = {name: replace(found, carrier=True) for name, found in discover_interfaces.read(files).items()}
    for name, values in (there or {}).items():
        interfaces[name] = replace(interfaces[name], **values)
    hcas = infiniband.hcas(files, counters=False)
    port_netdev.attach(files, hcas, None, None)
    return LinkState(
        tree=files,
        ledger=Ledger(Files(str(tree.root)), "nm_links"),
        interfaces=interfaces,
        hcas=hcas,
        routes=netdev.default_routes(files),
        session=guard.session(files, interfaces, ssh),
        snapshot=None if snapshot is None else lambda: snapshot,
    )


def plan(on: LinkState, *links: Dict[str, Any], unmanaged: Any = ()) -> LinkChanges:
    return links_plan.build(on, request.parse(links), request.parse_unmanaged(unmanaged))


def disconnected(*names: str) -> Snapshot:
    return Snapshot({name: NmDevice(f"/{name}", name, 30) for name in names})


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"hca": "mlx5_9"}, "hca: the node has no HCA 'mlx5_9'; it has: mlx5_0, mlx5_1"),
        ({"hca": "mlx5_0", "port": 2}, "port: mlx5_0 has no port 2; it has: 1"),
        (
            {"pci": "0000:99:00.0"},
            "pci: 0000:99:00.0 does not exist on this node; NICs are: 0000:01:00.0, 0000:81:00.0",
        ),
        ({"mac": "aa:00:00:00:00:99"}, "mac: no NIC has aa:00:00:00:00:99; the node has: aa:00:00:00:00:01 (eno1)"),
        ({"mac": "aa:00:00:00:00:01"}, "mac aa:00:00:00:00:01 cannot be used: eno1 carries the default route"),
        ({"hca": "mlx5_0", "addresses": ["10.0.0.9/16"]}, "10.0.0.0/16 would contain 10.0.1.1, the default gateway"),
        ({"hca": "mlx5_0", "routes": [{"to": "10.0.1.0/24"}]}, "routes: 10.0.1.0/24 would contain 10.0.1.1"),
        ({"hca": "mlx5_0", "type": "infiniband"}, "type: hca mlx5_0 port 1 is ethernet, not infiniband"),
        ({"hca": "mlx5_0", "mtu": 9217}, "mtu is 9217, it must be 1280 to 9216"),
    ],
)
def test_refused(tree: NodeTree, link: Dict[str, Any], message: str) -> None:
    with pytest.raises(HostError) as caught:
        plan(node(tree), {"name": "rail0", **link})
    assert message in str(caught.value)
    assert str(caught.value).startswith("links: rail0: ")


def test_one_port_cannot_be_two_links(tree: NodeTree) -> None:
    with pytest.raises(HostError, match=r"links: b: pci 0000:81:00\.0 is the same port as that of rail0"):
        plan(node(tree), RAIL, {"name": "b", "pci": "0000:81:00.0"})


def test_bonds_and_bridges_are_refused(tree: NodeTree) -> None:
    (tree.root / "sys/class/net/ens1np0/master").symlink_to("../bond0")
    tree.write("sys/class/net/bond0/bonding/mode", "active-backup 1\n")
    with pytest.raises(HostError, match="ens1np0 belongs to bond bond0"):
        plan(node(tree), RAIL)


def test_the_connection_ansible_came_by_is_refused_below_a_vlan_too(tree: NodeTree) -> None:
    tree.write("sys/class/net/ens1np0.5/address", "b8:59:9f:3b:2b:88\n")
    (tree.root / "sys/class/net/ens1np0.5/lower_ens1np0").symlink_to("../ens1np0")
    there = {"ens1np0.5": {"addresses": ("10.9.0.1/24",)}}
    with pytest.raises(HostError, match=r"ens1np0 carries this Ansible connection \(through ens1np0\.5\)"):
        plan(node(tree, ssh="10.9.0.2 40000 10.9.0.1 22", there=there), RAIL)


def test_the_controllers_address_is_not_drawn_to_a_link(tree: NodeTree) -> None:
    ssh = "10.20.7.7 40000 10.0.1.5 22"
    with pytest.raises(HostError, match=r"10\.20\.0\.0/16 would contain 10\.20\.7\.7, where Ansible connects from"):
        plan(node(tree, ssh=ssh), RAIL)


def test_somebody_elses_profile_is_not_overwritten(tree: NodeTree) -> None:
    tree.write(FILE.format("rail0")[1:], "[connection]\nid=rail0\n")
    with pytest.raises(HostError, match="was not written by this module; choose another name"):
        plan(node(tree), RAIL)


def test_what_the_hardware_cannot_do(tree: NodeTree) -> None:
    with pytest.raises(HostError, match="mtu: ens1np0 supports at most 9000, not 9216"):
        plan(node(tree, there={"ens1np0": {"max_mtu": 9000}}), dict(RAIL, mtu=9216))
    tree.nic("0000:91:00.0", "ibp145s0", "00:00:10:03:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:c6:e4:6b", hca="mlx5_4")
    with pytest.raises(HostError, match="ibp145s0 does not support connected mode"):
        plan(node(tree), {"name": "ib0", "hca": "mlx5_4", "transport_mode": "connected", "mtu": 65520})


@pytest.mark.parametrize(("name", "hca"), [("ens1np0", "mlx5_0"), ("ibp145s0", "mlx5_4")])
def test_a_port_in_a_pod_is_known_by_its_gid(tree: NodeTree, name: str, hca: str) -> None:
    tree.nic("0000:91:00.0", "ibp145s0", "00:00:10:03:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:c6:e4:6b", hca="mlx5_4")
    link = dict(RAIL, hca=hca)
    before = plan(node(tree), link)
    tree.away(name)
    after = plan(node(tree, disconnected()), link)
    assert [entry.after for entry in after.files] == [entry.after for entry in before.files]
    assert after.links[0]["state"] == "in_pod"
    assert after.up == []


def test_a_port_whose_hca_is_in_the_pod_as_well_is_remembered(tree: NodeTree) -> None:
    on = node(tree)
    first = plan(on, RAIL)
    on.ledger.apply(first.files)
    on.ledger.notes["links"] = first.remembered
    on.ledger.save()
    tree.away("ens1np0")
    (tree.root / "sys/class/infiniband/mlx5_0").unlink()
    again = plan(node(tree, disconnected()), RAIL)
    assert (again.changes, again.links[0]["state"], again.links[0]["netdev"]) == ([], "in_pod", "ens1np0")


def test_a_port_in_a_pod_that_was_never_seen(tree: NodeTree) -> None:
    tree.nic("0000:83:00.0", None, "b8:59:9f:3b:2b:90")
    unknown = plan(node(tree), {"name": "rail2", "pci": "0000:83:00.0"})
    assert (unknown.files, unknown.links[0]["state"], unknown.links[0]["mac"]) == ([], "in_pod", None)
    given = plan(node(tree), {"name": "rail2", "mac": "b8:59:9f:3b:2b:90"})
    assert [entry.path for entry in given.files] == [FILE.format("rail2")]


def test_live_changes_in_their_order(tree: NodeTree) -> None:
    snapshot = disconnected("ens1np0", "ens2np0")
    found = plan(node(tree, snapshot), dict(RAIL, rail_table=100), {"name": "rail1", "hca": "mlx5_1", "mtu": 1500})
    kinds = [(change.kind, change.name) for change in found.changes]
    assert kinds == [
        ("file", FILE.format("rail0")),
        ("file", FILE.format("rail1")),
        ("file", "/etc/sysctl.d/90-zerocopy-rdma-links.conf"),
        ("sysctl", "net/ipv4/conf/ens1np0/arp_announce"),
        ("sysctl", "net/ipv4/conf/ens1np0/arp_ignore"),
        ("sysctl", "net/ipv4/conf/ens1np0/rp_filter"),
        ("connection", "rail0"),
        ("connection", "rail1"),
    ]


def made(tree: NodeTree, *links: Dict[str, Any], **notes: Any) -> None:
    """As an earlier run left the node."""
    on = node(tree)
    on.ledger.apply(plan(on, *links).files)
    on.ledger.notes.update(notes)
    on.ledger.save()


@pytest.mark.parametrize(
    ("there", "change"),
    [
        ({"addresses": ("10.20.0.11/16",), "mtu": 9000}, []),
        (
            {"addresses": ("10.20.0.11/16",), "mtu": 1500},
            [Change("connection", "rail0", "disconnected", "connected as configured")],
        ),
        ({"addresses": (), "mtu": 9000}, [Change("connection", "rail0", "disconnected", "connected as configured")]),
        ({"addresses": (), "mtu": 9000, "carrier": False}, []),
    ],
)
def test_a_link_that_is_not_as_it_should_be_is_brought_up_again(
    tree: NodeTree, there: Dict[str, Any], change: List[Change]
) -> None:
    link = dict(RAIL, mtu=9000)
    made(tree, link)
    assert plan(node(tree, disconnected("ens1np0"), there={"ens1np0": there}), link).changes == change


def test_networkmanager_is_not_asked_when_all_is_well(tree: NodeTree) -> None:
    def asked() -> Snapshot:
        raise AssertionError("NetworkManager was asked")

    made(tree, RAIL)
    on = replace(node(tree, there={"ens1np0": {"addresses": ("10.20.0.11/16",)}}), snapshot=asked)
    assert plan(on, RAIL).changes == []


def test_a_dropped_link_goes_and_what_was_before_comes_back(tree: NodeTree) -> None:
    made(tree, RAIL, prior={"ens1np0": {"uuid": "old-uuid", "id": "old"}}, mtu={"ens1np0": 4200})
    (uuid,) = [line[5:] for line in (tree.root / FILE.format("rail0")[1:]).read_text().splitlines() if "uuid=" in line]
    active = ActiveConnection("/a", uuid, "rail0", 2, external=False)
    snapshot = Snapshot({"ens1np0": NmDevice("/d", "ens1np0", 100, active)}, {"/a": active})
    found = plan(node(tree, snapshot))
    assert found.changes == [
        Change("file", FILE.format("rail0"), "present", "absent"),
        Change("connection", "rail0", "connected (rail0)", "absent"),
        Change("mtu", "ens1np0", 1500, 4200),
        Change("connection", "old", "disconnected", "connected on ens1np0"),
    ]
    assert (found.load, found.left) == ([[FILE.format("rail0")]], ["ens1np0"])


VLANS = dict(RAIL, vlans=[{"id": 5, "addresses": ["10.40.0.11/24"]}])
VLAN = "ens1np0.5"
PORTS = {
    "ens1np0": {"mac": "b8:59:9f:3b:2b:88", "addresses": ["10.20.0.11/16"], "rules": []},
    VLAN: {"mac": None, "addresses": ["10.40.0.11/24"], "rules": []},
}


def on_port(tree: NodeTree, name: str, port: str = "ens1np0") -> None:
    """A virtual netdev on a port."""
    tree.write(f"sys/devices/virtual/net/{name}/address", "b8:59:9f:3b:2b:88\n")
    tree.write(f"sys/devices/virtual/net/{name}/type", "1\n")
    tree.write(f"sys/devices/virtual/net/{name}/ifindex", f"{100 + len(name)}\n")
    (tree.root / "sys/class/net" / name).symlink_to(f"../../devices/virtual/net/{name}")
    (tree.root / "sys/class/net" / name / f"lower_{port}").symlink_to(f"../{port}")
    (tree.root / "sys/class/net" / port / f"upper_{name}").symlink_to(f"../../../virtual/net/{name}")


def with_vlan(tree: NodeTree, active: Optional[str], external: bool = False) -> Snapshot:
    """The VLAN of a link is there, with this connection (its uuid) active on it."""
    made(tree, VLANS, ports=PORTS)
    on_port(tree, VLAN)
    if active is None:
        return disconnected("ens1np0", VLAN)
    uuid = uuid_of(tree.root / FILE.format("rail0.5")[1:]) if active == "ours" else active
    on = ActiveConnection("/a", uuid, "rail0.5", 2, external)
    devices = {"ens1np0": NmDevice("/p", "ens1np0", 30), VLAN: NmDevice("/d", VLAN, 100, on)}
    return Snapshot(devices, {"/a": on})


GIVEN = {VLAN: {"addresses": ("10.40.0.11/24", "fe80::1/64")}}


@pytest.mark.parametrize("links", [[], [RAIL]], ids=["absent", "dropped"])
@pytest.mark.parametrize(
    ("active", "external", "told"),
    [
        ("ours", False, Change("connection", "rail0.5", "connected (rail0.5)", "absent")),
        # NetworkManager was killed, and found it when it was started again.
        ("its-own", True, Change("netdev", VLAN, "present", "absent")),
        (None, False, Change("netdev", VLAN, "present", "absent")),
    ],
    ids=["known", "external", "idle"],
)
def test_a_vlan_goes_with_its_link_whatever_networkmanager_knows_of_it(
    tree: NodeTree, active: Optional[str], external: bool, told: Change, links: List[Dict[str, Any]]
) -> None:
    found = plan(node(tree, with_vlan(tree, active, external), there=GIVEN), *links)
    assert found.strays == [VLAN]
    assert [change for change in found.changes if change.name in ("rail0.5", VLAN)] == [told]
    assert found.warnings == []


def test_a_vlan_of_a_link_that_stays_stays(tree: NodeTree) -> None:
    found = plan(node(tree, with_vlan(tree, "ours"), there=GIVEN), VLANS)
    assert (found.strays, found.warnings) == ([], [])


@pytest.mark.parametrize(
    ("active", "external", "addresses", "above", "why"),
    [
        ("theirs", False, (), "", "connection 'rail0.5' is active on it now"),
        ("its-own", True, ("10.40.0.11/24", "192.0.2.7/24"), "", "somebody has given it 192.0.2.7/24"),
        ("its-own", True, ("10.40.0.11/24",), "tenant", "tenant is on it"),
    ],
    ids=["connection", "address", "macvlan"],
)
def test_a_vlan_that_somebody_else_uses_stays_and_is_named(
    tree: NodeTree, active: str, external: bool, addresses: Any, above: str, why: str
) -> None:
    snapshot = with_vlan(tree, active, external)
    if above:
        on_port(tree, above, VLAN)
    found = plan(node(tree, snapshot, there={VLAN: {"addresses": addresses}}))
    assert (found.strays, [change for change in found.changes if change.kind == "netdev"]) == ([], [])
    assert found.left == [VLAN]
    assert found.warnings == [f"{VLAN} was made for a link that is gone, and stays: {why}"]


@pytest.mark.parametrize("name", ["ens1np0.7", VLAN])
def test_a_vlan_that_is_not_ours_is_nothing_to_us(tree: NodeTree, name: str) -> None:
    """One that we did not note, or one of our name on another port."""
    made(tree, RAIL, ports=PORTS)
    on_port(tree, name, "ens1np0" if name != VLAN else "ens2np0")
    found = plan(node(tree, disconnected("ens1np0", name)))
    assert (found.strays, found.warnings) == ([], [])


def test_a_partition_is_on_its_port_by_another_name(tree: NodeTree) -> None:
    """The kernel has no links between them, but the name of the port."""
    made(tree, RAIL, ports=PORTS)
    on_port(tree, VLAN)
    (tree.root / "sys/class/net" / VLAN / "lower_ens1np0").unlink()
    assert plan(node(tree, disconnected("ens1np0", VLAN))).strays == []
    tree.write(f"sys/class/net/{VLAN}/parent", "ens1np0\n")
    assert plan(node(tree, disconnected("ens1np0", VLAN))).strays == [VLAN]


def test_a_vlan_whose_profile_somebody_edited_stays_with_it(tree: NodeTree) -> None:
    snapshot = with_vlan(tree, "ours")
    rewritten(tree, "rail0.5")
    found = plan(node(tree, snapshot, there=GIVEN), RAIL)
    assert found.strays == []
    assert [text.partition(" ")[0] for text in found.warnings] == [FILE.format("rail0.5")]


@pytest.mark.parametrize(
    ("mtu", "had"), [(4200, "connection 'old' and MTU 4200"), (1500, "connection 'old'")], ids=["other", "same"]
)
def test_only_an_mtu_that_differs_is_said_not_to_come_back(tree: NodeTree, mtu: int, had: str) -> None:
    made(tree, RAIL, prior={"ens1np0": {"uuid": "old-uuid", "id": "old"}}, mtu={"ens1np0": mtu})
    active = ActiveConnection("/a", "since-uuid", "since", 2, external=False)
    found = plan(node(tree, Snapshot({"ens1np0": NmDevice("/d", "ens1np0", 100, active)}, {"/a": active})))
    assert (found.mtus, found.again) == ([], [])
    assert found.warnings == [
        f"ens1np0 had {had} before it became a link; this is not restored: connection 'since' is active on it now"
    ]


def rewritten(tree: NodeTree, name: str) -> Path:
    """The profile as NetworkManager writes it: it leaves out comments and defaults."""
    path = tree.root / FILE.format(name)[1:]
    path.write_text(path.read_text().split("\n", 2)[2].replace("autoconnect=true\n", ""))
    return path


def uuid_of(path: Path) -> str:
    return next(line[5:] for line in path.read_text().splitlines() if line.startswith("uuid="))


def test_a_profile_that_a_rollback_brought_back_is_still_ours(tree: NodeTree) -> None:
    made(tree, RAIL)
    text = (tree.root / FILE.format("rail0")[1:]).read_bytes()
    uuids = [uuid_of(tree.root / FILE.format("rail0")[1:])]
    note = {"path": "/c", "devices": ["ens1np0"], "seconds": 60, "profiles": {FILE.format("rail0"): uuids}}
    # A change that dropped the link was not confirmed.
    made(tree, checkpoint=note)
    (tree.root / FILE.format("rail0")[1:]).write_bytes(text)
    rewritten(tree, "rail0")
    assert [change.after for change in plan(node(tree)).changes] == ["absent"]
    on = node(tree)
    wanted = plan(on, RAIL)
    assert [change.kind for change in wanted.changes] == ["file"]
    on.ledger.apply(wanted.files)
    gone = node(tree)
    gone.ledger.apply(plan(gone).files)
    assert not (tree.root / FILE.format("rail0")[1:]).exists()


def test_a_profile_that_somebody_edited_stays_with_its_netdev(tree: NodeTree) -> None:
    on = node(tree)
    found = plan(on, RAIL)
    on.ledger.apply(found.files)
    on.ledger.notes.update(links=found.remembered, prior={"ens1np0": {"uuid": "old-uuid", "id": "old"}})
    on.ledger.save()
    rewritten(tree, "rail0")
    kept = plan(node(tree, disconnected("ens1np0")))
    assert (kept.changes, kept.left, kept.again) == ([], [], [])
    assert kept.remembered == found.remembered
    (warning,) = kept.warnings
    assert warning == f"{FILE.format('rail0')} was edited since this collection wrote it, so it is kept"


def test_a_copy_of_a_profile_is_somebody_elses(tree: NodeTree) -> None:
    made(tree, RAIL)
    copy = tree.root / FILE.format("copy")[1:]
    copy.write_bytes((tree.root / FILE.format("rail0")[1:]).read_bytes())
    assert [change.name for change in plan(node(tree)).changes] == [FILE.format("rail0")]
    with pytest.raises(HostError, match=r"copy\.nmconnection was not written by this module"):
        plan(node(tree), dict(RAIL, name="copy"))


@pytest.mark.parametrize("wanted", [False, True], ids=["dropped", "wanted"])
@pytest.mark.parametrize("vlans", [[], [{"id": 7, "addresses": ["10.7.0.1/24"], "mtu": None}]], ids=["port", "vlan"])
def test_a_profile_that_netplan_has_taken_over_is_not_forgotten(tree: NodeTree, wanted: bool, vlans: Any) -> None:
    link = dict(RAIL, vlans=vlans)
    made(tree, link, links=plan(node(tree), link).remembered)
    name = "rail0.7" if vlans else "rail0"
    path = tree.root / FILE.format(name)[1:]
    uuid = uuid_of(path)
    moved = f"/run/NetworkManager/system-connections/netplan-NM-{uuid}.nmconnection"
    tree.write(moved[1:], path.read_text())
    path.unlink()
    with pytest.raises(HostError) as caught:
        plan(node(tree, disconnected("ens1np0")), *([link] if wanted else []))
    assert str(caught.value) == (
        f"links: {name}: netplan has taken over this connection: NetworkManager has it from {moved} instead of "
        f"{FILE.format(name)}; remove /etc/netplan/90-NM-{uuid}.yaml, run 'netplan generate' and 'nmcli connection "
        "reload', and repeat the run"
    )
    # As these commands leave it.
    (tree.root / moved[1:]).unlink()
    plan(node(tree, disconnected("ens1np0")), *([link] if wanted else []))


@pytest.mark.parametrize("links", [[], [RAIL]], ids=["dropped", "wanted"])
@pytest.mark.parametrize("ours", [None, "[connection]\nid=rail0\n"], ids=["removed", "edited"])
def test_a_profile_without_a_uuid_is_no_copy(tree: NodeTree, ours: Optional[str], links: List[Dict[str, Any]]) -> None:
    made(tree, RAIL)
    path = tree.root / FILE.format("rail0")[1:]
    path.unlink()
    if ours:
        path.write_text(ours)
    tree.write(FILE.format("office")[1:], "[connection]\nid=office\ntype=ethernet\n")
    plan(node(tree, disconnected("ens1np0")), *links)
    # With ours it is one.
    made(tree, RAIL)
    tree.write(FILE.format("office")[1:], f"[connection]\nid=office\nuuid={uuid_of(path)}\n")
    with pytest.raises(HostError, match=r"^links: rail0: .* from /etc.*/office.nmconnection instead of /etc.*/rail0"):
        plan(node(tree, disconnected("ens1np0")), *links)


@pytest.mark.parametrize(
    ("state", "external", "extra", "message"),
    [
        (10, False, {}, "NetworkManager does not manage ens1np0: it is marked unmanaged"),
        (10, False, {"etc/network/interfaces": "auto ens1np0\niface ens1np0 inet manual\n"}, "/etc/network/interfaces"),
        (100, True, {}, "ens1np0 was configured by hand or by another tool"),
        (30, False, {"run/systemd/netif/links/129": "ADMIN_STATE=configured\n"}, "systemd-networkd configures ens1np0"),
    ],
)
def test_what_others_configure_is_refused(
    tree: NodeTree, state: int, external: bool, extra: Dict[str, str], message: str
) -> None:
    for path, text in extra.items():
        tree.write(path, text)
    active = ActiveConnection("/a", "u", "ens1np0", 2, external=True) if external else None
    with pytest.raises(HostError, match=message):
        plan(node(tree, Snapshot({"ens1np0": NmDevice("/d", "ens1np0", state, active)})), RAIL)


def test_ports_are_taken_from_networkmanager(tree: NodeTree) -> None:
    there = [{"pci": "0000:82:00.0"}, {"pci": "0000:82:00.1"}]
    found = plan(node(tree, disconnected("ens2np0")), unmanaged=there)
    assert found.handed == [("ens2np0", False)]
    tree.write("run/udev/data/n130", "I:1\nE:NM_UNMANAGED=1\n")
    assert plan(node(tree, disconnected("ens2np0")), unmanaged=there).handed == []
    with pytest.raises(HostError, match="ens1np0 is one of the links"):
        plan(node(tree, disconnected("ens1np0")), RAIL, unmanaged=[{"pci": "0000:81:00.0"}])
    with pytest.raises(HostError, match="eno1 carries the default route"):
        plan(node(tree, disconnected()), unmanaged=[{"pci": "0000:01:00.0"}])


def test_several_ports_in_one_subnet_are_warned_about(tree: NodeTree) -> None:
    other = {"name": "rail1", "hca": "mlx5_1", "addresses": ["10.20.1.11/16"]}
    assert "rail0, rail1 are in one subnet, 10.20.0.0/16" in plan(node(tree), RAIL, other).warnings[0]
    both = [dict(link, rail_table=number) for number, link in enumerate((RAIL, other), 100)]
    assert plan(node(tree), *both).warnings == []
