# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What links must never touch, rule by rule, and how the node's tools are run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import guard, plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import request as links_request
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored

HEAD = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
ZEROS = "0" * 32


def put(root: Path, path: str, text: str = "") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def netdevs(**addresses: str) -> Dict[str, Interface]:
    return {name: Interface(name, addresses=tuple(own.split())) for name, own in addresses.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("", None),
        ("192.0.2.9 50000 192.0.2.1", None),
        ("192.0.2.9 50000 192.0.2.1 22", ("192.0.2.9", "192.0.2.1", ["eth0"])),
        # sshd writes the zone of a link-local address.
        ("fe80::9%eth1 50000 fe80::1%eth1 22", ("fe80::9", "fe80::1", ["eth1"])),
        # By way of systemd-ssh-proxy, over a socket that is no TCP.
        ("UNKNOWN 65535 UNKNOWN 65535", ("UNKNOWN", "UNKNOWN", [])),
        # By way of an address that is nobody's here, as behind NAT.
        ("192.0.2.9 50000 198.51.100.1 22", ("192.0.2.9", "198.51.100.1", [])),
    ],
)
def test_the_session_of_ansible(tmp_path: Path, text: Optional[str], expected: Any) -> None:
    interfaces = netdevs(eth0="192.0.2.1/24", eth1="192.0.2.11/24 fe80::1/64")
    found = guard.session(Tree(str(tmp_path)), interfaces, text)
    assert (found and (found.client, found.server, list(found.netdevs))) == expected


def test_what_the_session_runs_on_belongs_to_it(tmp_path: Path) -> None:
    for path in ("bond0.7/lower_bond0", "bond0/lower_eno1", "bond0/lower_eno2"):
        put(tmp_path, f"sys/class/net/{path}")
    tree = Tree(str(tmp_path))
    ours = guard.session(tree, netdevs(**{"bond0.7": "192.0.2.1/24"}), "192.0.2.9 1 192.0.2.1 22")
    assert ours
    assert ours.netdevs == dict.fromkeys(["bond0.7", "bond0", "eno2", "eno1"], "bond0.7")
    routes = netdev.DefaultRoutes()
    assert guard.problem(tree, "eno1", routes, ours, True) == "eno1 carries this Ansible connection (through bond0.7)"
    assert guard.problem(tree, "bond0.7", routes, ours, True) == "bond0.7 carries this Ansible connection"
    assert guard.problem(tree, "eno3", routes, ours, True) is None


@pytest.mark.parametrize(
    ("files_of", "routes", "physical", "said"),
    [
        ([], {}, True, None),
        ([], {"needed": {"rail0": "rail0"}}, True, "rail0 carries the default route"),
        ([], {"needed": {"rail0": "br0"}}, True, "rail0 carries the default route (through br0)"),
        ([], {"needed": {"eth0": "eth0"}}, True, None),
        (
            [],
            {"complete": False},
            True,
            "the routing tables cannot be read, so rail0 may carry the default route",
        ),
        (["rail0/bonding/mode"], {}, True, "rail0 is a bond"),
        (["bond0/bonding/mode"], {}, True, "rail0 belongs to bond bond0"),
        (["bond0/bridge/x"], {}, True, "rail0 belongs to bridge bond0"),
        (["bond0/mtu"], {}, True, "rail0 belongs to device bond0"),
        ([], {}, False, "rail0 is a virtual netdev, not the port of a NIC"),
    ],
)
def test_netdevs_that_are_left_alone(
    tmp_path: Path, files_of: List[str], routes: Dict[str, Any], physical: bool, said: Optional[str]
) -> None:
    put(tmp_path, "sys/class/net/rail0/mtu")
    for path in files_of:
        put(tmp_path, f"sys/class/net/{path}")
    if any(path.startswith("bond0") for path in files_of):
        (tmp_path / "sys/class/net/rail0/master").symlink_to("../bond0")
    found = guard.problem(Tree(str(tmp_path)), "rail0", netdev.DefaultRoutes(**routes), None, physical)
    assert found == said


def link(*addresses: str, **more: Any) -> Any:
    (found,) = links_request.parse([{"name": "rail0", "hca": "mlx5_0", "addresses": list(addresses), **more}])
    return found


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("10.0.0.7/24", None),
        ("192.0.2.7/24", "192.0.2.0/24 would contain 192.0.2.254, the default gateway"),
        ("198.51.100.7/24", "198.51.100.0/24 would contain 198.51.100.9, where Ansible connects from"),
        ("203.0.113.7/24", "203.0.113.0/24 would contain 203.0.113.1, the address that Ansible connects to"),
        ("fd00::7/64", "fd00::/64 would contain fd00::fe, the default gateway"),
        # A route to a network and one through a gateway that is no default.
        ("172.16.0.7/16", None),
        ("fd01::7/64", None),
    ],
)
def test_networks_that_would_draw_the_nodes_own_traffic(tmp_path: Path, address: str, said: Optional[str]) -> None:
    rows = [
        "eth0 00000000 FE0200C0 0003 0 0 0 00000000 0 0 0",
        "eth0 0000000A 010010AC 0003 0 0 0 000000FF 0 0 0",
        "eth1 00000000 00000000 0001 0 0 0 00000000 0 0 0",
        "short",
    ]
    put(tmp_path, "proc/net/route", HEAD + "\n".join(rows) + "\n")
    gateway, other = "fd00" + ZEROS[:-6] + "fe", "fd01" + ZEROS[:-6] + "fe"
    routes6 = [
        f"{ZEROS} 00 {ZEROS} 00 {gateway} 0 0 0 3 eth0",
        f"{'fd02' + ZEROS[4:]} 40 {ZEROS} 00 {other} 0 0 0 3 eth0",
        f"{ZEROS} 00 {ZEROS} 00 {ZEROS} 0 0 0 3 eth0",
    ]
    put(tmp_path, "proc/net/ipv6_route", "\n".join(routes6) + "\n")
    ours = guard.SshSession("198.51.100.9", "203.0.113.1")
    found = netdev.default_routes(Tree(str(tmp_path)))
    if said is None:
        guard.check_networks(found, link(address), ours)
        return
    with pytest.raises(HostError) as error:
        guard.check_networks(found, link(address), ours)
    assert said in str(error.value)
    assert str(error.value).startswith("links: rail0: addresses")


def test_a_connection_without_addresses_forbids_no_network() -> None:
    guard.check_networks(netdev.DefaultRoutes(), link("10.0.0.7/24"), guard.SshSession("UNKNOWN", "UNKNOWN"))


def test_routes_of_a_link_count_as_its_networks() -> None:
    ours = guard.SshSession("198.51.100.9", "203.0.113.1")
    routes = [{"to": "198.51.100.0/24", "via": "10.0.0.1"}]
    with pytest.raises(HostError, match="where Ansible connects from"):
        guard.check_networks(netdev.DefaultRoutes(), link("10.0.0.7/24", routes=routes), ours)


@pytest.mark.parametrize(
    ("own", "parents", "expected"),
    [
        ("192.0.2.9 1 192.0.2.1 22", {}, "192.0.2.9 1 192.0.2.1 22"),
        # sudo took it from its child; sshd's own child has it.
        ("", {"10": (b"A=1\0", 11), "11": (b"A=1\0SSH_CONNECTION=a b c d\0B=2", 1)}, "a b c d"),
        ("", {"10": (b"", 11), "11": (b"XSSH_CONNECTION=x\0", 0)}, None),
        ("", {}, None),
        # Processes that are each other's parent.
        ("", {"10": (b"", 11), "11": (b"", 10)}, None),
    ],
)
def test_the_connection_is_found_above_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, parents: Any, expected: Optional[str]
) -> None:
    monkeypatch.setattr(os, "getppid", lambda: 10)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    if own:
        monkeypatch.setenv("SSH_CONNECTION", own)
    for pid, (environment, parent) in parents.items():
        put(tmp_path, f"proc/{pid}/status", f"Name:\tsh\nPPid:\t{parent}\n")
        (tmp_path / f"proc/{pid}/environ").write_bytes(environment)
    assert guard.ssh_connection(Tree(str(tmp_path))) == expected


@pytest.mark.parametrize(
    ("subnets", "tables", "warned"),
    [
        (["10.0.0.1/24", "10.0.1.1/24"], [None, None], False),
        (["10.0.0.1/24", "10.0.0.2/24"], [None, None], True),
        (["10.0.0.1/24", "10.0.0.2/24"], [100, None], True),
        (["10.0.0.1/24", "10.0.0.2/24"], [100, 101], False),
    ],
)
def test_ports_in_one_subnet_without_tables(subnets: List[str], tables: List[Optional[int]], warned: bool) -> None:
    links = links_request.parse(
        [
            {"name": f"rail{number}", "hca": f"mlx5_{number}", "addresses": [subnet], "rail_table": table}
            for number, (subnet, table) in enumerate(zip(subnets, tables))
        ]
    )
    said = "rail0, rail1 are in one subnet, 10.0.0.0/24, so replies may leave by the wrong port: give each a rail_table"
    assert plan.shared_subnets(links) == ([said] if warned else [])


def test_tools_answer_in_english_and_are_found_in_sbin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LANGUAGE", "de")
    done = command.run(["sh", "-c", "echo $LC_ALL:$LANGUAGE:$PATH; cat; echo why >&2; exit 3"], stdin="asked\n")
    lines = done.out.splitlines()
    assert lines[0].startswith(f"C::{tmp_path}:/usr/local/sbin:/usr/sbin:/sbin:")
    assert (lines[1:], done.err, done.rc, done.reason) == (["asked"], "why\n", 3, "why")
    with pytest.raises(HostError, match=r"^it failed: why$"):
        command.must(done, "it failed")


def test_without_input_a_tool_does_not_wait_for_any() -> None:
    assert command.run(["cat"], timeout=600) == command.Completed(0, "", "")
    assert command.must(command.run(["echo", "fine"]), "x") == "fine\n"


def test_tools_that_are_missing_or_hang() -> None:
    missing = command.run(["no-such-tool-here"])
    assert (missing.rc, missing.reason) == (command.NOT_INSTALLED, "no-such-tool-here: No such file or directory")
    with pytest.raises(HostError, match=r"^'sleep 60' did not end within 0\.1 s$"):
        command.run(["sleep", "60"], timeout=0.1)


@pytest.mark.parametrize(
    ("out", "err", "reason"),
    [
        ("", "", "exit status 4"),
        ("a\nb\n", "", "b"),
        ("a\n", "first\nlast\n\n", "last"),
        ("said\n", "\n", "said"),
    ],
)
def test_the_last_word_of_a_tool(out: str, err: str, reason: str) -> None:
    assert command.Completed(4, out, err).reason == reason


def test_a_file_is_replaced_whole_with_its_mode(tmp_path: Path) -> None:
    own = Files(str(tmp_path))
    stored = Stored(b"new", 0o640, os.getuid(), os.getgid())
    assert own.missing_directories("/etc/a/b/file") == ["/etc", "/etc/a", "/etc/a/b"]
    own.write("/etc/a/b/file", stored)
    assert own.stored("/etc/a/b/file") == stored
    assert own.missing_directories("/etc/a/b/file") == []
    assert own.names("/etc/a/b") == ["file"]
    assert own.exists("/etc/a/b/file")
    own.remove("/etc/a/b/file")
    own.remove("/etc/a/b/file")
    assert (own.stored("/etc/a/b/file"), own.text("/etc/a/b/file"), own.exists("/etc/a/b/file")) == (None, None, False)
    assert own.names("/etc/a/b") == []
    assert own.names("/etc/a")
    own.remove_empty_directory("/etc/a")
    own.remove_empty_directory("/etc/a/b")
    assert own.names("/etc/a") == []


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Files(str(tmp_path))
    put(tmp_path, "etc/file", "old")

    def refuse(*_arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(HostError, match=r"^/etc/file: No space left on device$"):
        own.write("/etc/file", Stored(b"new", 0o644, 0, 0))
    assert (own.text("/etc/file"), own.names("/etc")) == ("old", ["file"])


def test_paths_of_a_node_are_followed_below_its_root(tmp_path: Path) -> None:
    put(tmp_path, "node/usr/etc/file", "inside")
    put(tmp_path, "usr/etc/file", "outside")
    (tmp_path / "node/etc").symlink_to("/usr/etc")
    (tmp_path / "node/up").symlink_to("../../../usr")
    (tmp_path / "node/circle").symlink_to("circle")
    own = Files(str(tmp_path / "node"))
    assert [own.text(path) for path in ("/etc/file", "/up/etc/file", "/usr/./etc/../etc/file", "/../usr/etc/file")] == [
        "inside"
    ] * 4
    with pytest.raises(HostError, match="too many levels of symbolic links"):
        own.full("/circle/file")
    with pytest.raises(HostError, match="'etc/file' is not an absolute path"):
        own.full("etc/file")
    with pytest.raises(HostError, match="root: '/no/such/root' is not a directory"):
        Files("/no/such/root")
