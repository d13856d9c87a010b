# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""lldpd's configuration, and whose lldpd it is; systemd and the package are played. tests/cabling has the real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import lldpd
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.lldpd import DAEMON
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.daemons import daemon_node
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.daemons.daemon_node import kinds

README = "# Files should be suffixed by .conf and have content like:\n#   configure system description 'x'\n"


class Systemd:
    """systemd with one unit, which is there once its package is installed."""

    def __init__(self, load: str = "not-found", enabled: str = "", active: str = "inactive") -> None:
        self.load, self.enabled, self.active = load, enabled, active
        self.asked: List[str] = []
        self.starts = True

    def install(self, starts: bool) -> None:
        """As Debian's package does, which starts it, or as RHEL's."""
        self.load, self.enabled = "loaded", "enabled" if starts else "disabled"
        self.active = "active" if starts else "inactive"

    def __call__(self, argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        if argv[0] == "journalctl":
            return Completed(0, "unable to open a raw socket\n", "")
        word = argv[1]
        if word == "show":
            said = {"ActiveState": self.active, "SubState": "running", "MainPID": "0"}
            said.update(LoadState=self.load, UnitFileState=self.enabled)
            return Completed(0, "".join(f"{name}={value}\n" for name, value in said.items()), "")
        self.asked.append(word)
        if word == "restart":
            self.active = "active" if self.starts else "failed"
            return Completed(0 if self.starts else 1, "", "")
        if word == "stop":
            self.active = "inactive"
        if word in ("enable", "disable"):
            self.enabled = f"{word}d"
        return Completed(0, "", "")


class Node:
    """A running node with these netdevs."""

    def __init__(self, root: Path, netdevs: Sequence[str] = ("rail0", "rail1"), **systemd: str) -> None:
        self.root, self.systemd = root, Systemd(**systemd)
        for name in netdevs:
            (root / "sys/class/net" / name).mkdir(parents=True)

    def write(self, path: str, text: str) -> None:
        (self.root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path[1:]).write_text(text)

    def run(self, check: bool = False, **own: Any) -> Dict[str, Any]:
        options = {"netdevs": ["rail0", "rail1"], "root": "/", "state": "present", **own}
        return lldpd.converge(options, check, self.systemd, daemon_node.live(self.root))

    @property
    def config(self) -> Optional[str]:
        path = self.root / DAEMON.config[1:]
        return path.read_text() if path.exists() else None

    @property
    def files(self) -> List[str]:
        found = [path for path in self.root.rglob("*") if path.is_file() and path.name != "lock"]
        return sorted(str(path.relative_to(self.root)) for path in found)


@pytest.mark.parametrize("starts", [True, False], ids=["debian", "rhel"])
def test_the_configuration_comes_before_the_package_and_goes_with_what_was_started(
    tmp_path: Path, starts: bool
) -> None:
    node = Node(tmp_path)
    predicted = node.run(check=True)
    assert (node.files, node.systemd.asked) == ([], [])
    assert kinds(predicted) == [
        "file zerocopy-rdma.conf present",
        "package lldpd present",
        "unit lldpd.service enabled",
        "service lldpd.service started",
    ]
    first = node.run()
    assert (kinds(first), first["lldpd"]["package"]) == (["file zerocopy-rdma.conf present"], "lldpd")
    assert node.systemd.asked == []
    assert (node.config or "").splitlines()[1:] == [
        "configure system interface pattern rail0,rail1",
        "configure lldp status rx-only",
    ]
    # Until its package is there, it is not as configured.
    assert kinds(node.run(check=True)) == kinds(predicted)[1:]
    node.systemd.install(starts)
    second = node.run()
    assert (node.systemd.active, node.systemd.enabled) == ("active", "enabled")
    assert (second["lldpd"]["package"], second["lldpd"]["service"], second["warnings"]) == ("", "active", [])
    again = node.run()
    assert (again["changed"], again["lldpd"]["changes"]) == (False, [])
    gone = node.run(state="absent")
    assert kinds(gone) == [
        "file zerocopy-rdma.conf absent",
        "unit lldpd.service disabled",
        "service lldpd.service stopped",
    ]
    assert (node.files, node.systemd.active, node.systemd.enabled) == ([], "inactive", "disabled")
    assert node.run(state="absent")["changed"] is False


def test_what_somebody_changes_is_drift_and_is_mended(tmp_path: Path) -> None:
    node = Node(tmp_path, load="loaded", enabled="disabled")
    node.run()
    node.systemd.asked.clear()
    node.write(DAEMON.config, "configure lldp status rx-and-tx\n")
    found = node.run(check=True)
    assert kinds(found) == ["file zerocopy-rdma.conf present", "service lldpd.service restarted"]
    assert "rx-and-tx" in found["diff"][0]["before"]
    node.run()
    assert (node.systemd.asked, "rx-only" in (node.config or "")) == (["reset-failed", "restart"], True)
    node.systemd.active = "inactive"
    assert kinds(node.run(check=True)) == ["service lldpd.service started"]
    node.systemd.enabled = "disabled"
    assert kinds(node.run()) == ["unit lldpd.service enabled", "service lldpd.service started"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/lldpd.conf", "configure lldp tx-interval 5\n"),
        ("/etc/lldpd.d/site.conf", "# ours\nconfigure lldp status rx-and-tx\n"),
        ("/etc/default/lldpd", '# x\nDAEMON_ARGS="-c"\n'),
        ("/etc/sysconfig/lldpd", "LLDPD_OPTIONS=-c\n"),
        ("/etc/systemd/system/lldpd.service.d/args.conf", "[Service]\n"),
        ("/etc/systemd/system/lldpd.service", "[Service]\n"),
    ],
)
def test_one_that_somebody_has_configured_is_left_and_named(tmp_path: Path, path: str, text: str) -> None:
    node = Node(tmp_path)
    node.write(path, text)
    for check in (True, False):
        found = node.run(check=check)
        assert (found["changed"], "lldpd" in found) == (False, False)
        assert found["warnings"] == [f"lldpd is configured by {path}, so it is left as it is, and may also send"]
    assert (node.files, node.systemd.asked) == ([path[1:]], [])


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"load": "loaded", "active": "active"}, "runs already"),
        ({"load": "loaded", "enabled": "enabled"}, "is enabled already"),
        ({"load": "masked", "enabled": "masked"}, "is masked"),
    ],
)
def test_one_that_runs_without_us_is_left(tmp_path: Path, own: Dict[str, str], reason: str) -> None:
    node = Node(tmp_path, **own)
    (warning,) = node.run()["warnings"]
    assert reason in warning
    assert (node.files, node.systemd.asked) == ([], [])
    assert node.run(state="absent")["changed"] is False
    assert node.systemd.active == own.get("active", "inactive")


def test_what_packages_ship_is_nobodys_configuration(tmp_path: Path) -> None:
    node = Node(tmp_path, load="loaded", enabled="disabled")
    node.write("/etc/lldpd.d/README.conf", README)
    node.write("/etc/default/lldpd", '#DAEMON_ARGS="-x -c -s -e"\n')
    node.write("/etc/sysconfig/lldpd", '# Parameters\nLLDPD_OPTIONS=""\n')
    assert node.run()["lldpd"]["service"] == "active"


def test_one_that_somebody_has_configured_since_stays_with_them(tmp_path: Path) -> None:
    node = Node(tmp_path, load="loaded", enabled="disabled")
    node.run()
    node.write("/etc/lldpd.d/site.conf", "configure lldp tx-interval 5\n")
    found = node.run()
    assert (found["changed"], found["warnings"]) == (
        False,
        ["/etc/lldpd.d/site.conf configures lldpd as well, perhaps to send"],
    )
    gone = node.run(state="absent")
    assert kinds(gone) == ["file zerocopy-rdma.conf absent"]
    assert "is left running" in gone["warnings"][0]
    assert (node.systemd.active, node.systemd.enabled) == ("active", "enabled")


def test_netdevs_in_pods_stay_and_others_go(tmp_path: Path) -> None:
    node = Node(tmp_path, ["rail0", "eth0"], load="loaded", enabled="disabled")
    node.run()
    assert "pattern rail0,rail1\n" in (node.config or "")
    # rail1 is away; what is there and is no port of an HCA is not listened to.
    assert node.run(netdevs=["rail0"])["changed"] is False
    node.run(netdevs=["rail2"])
    assert "pattern rail1,rail2\n" in (node.config or "")
    # Without facts nobody knows.
    assert node.run(netdevs=None)["changed"] is False


def test_a_name_that_would_match_others_is_refused(tmp_path: Path) -> None:
    node = Node(tmp_path, load="loaded", enabled="disabled")
    found = node.run(netdevs=["*", "a,eth0", "rail0", "!!eth0", "a'b"])
    assert "pattern rail0\n" in (node.config or "")
    assert [repr(name) in text for name, text in zip(["*", "a,eth0", "!!eth0", "a'b"], found["warnings"])] == [True] * 4


def test_without_a_port_there_is_nothing_and_it_is_said(tmp_path: Path) -> None:
    node = Node(tmp_path)
    nothing: List[Optional[List[str]]] = [[], None]
    for netdevs in nothing:
        (warning,) = node.run(netdevs=netdevs)["warnings"]
        assert "no Ethernet port" in warning
    assert (node.files, node.systemd.asked) == ([], [])


def test_one_that_does_not_start_is_an_error_and_the_next_run_tries_again(tmp_path: Path) -> None:
    node = Node(tmp_path, load="loaded", enabled="disabled")
    node.systemd.starts = False
    with pytest.raises(HostError, match="does not start: unable to open a raw socket"):
        node.run()
    node.systemd.starts = True
    # It may run with what it has read before its file was written.
    node.systemd.active = "active"
    assert kinds(node.run()) == ["service lldpd.service restarted"]
    assert node.run()["changed"] is False
    node.systemd.load = "masked"
    with pytest.raises(HostError, match="is masked: unmask it"):
        node.run()


def test_in_an_image_only_the_file_is_written(tmp_path: Path) -> None:
    options = {"netdevs": ["rail0"], "root": str(tmp_path), "state": "present"}
    systemd = Systemd()
    found = lldpd.converge(options, False, systemd)
    assert (kinds(found), found["lldpd"]["package"]) == (["file zerocopy-rdma.conf present"], "")
    assert kinds(lldpd.converge({**options, "state": "absent"}, False, systemd)) == ["file zerocopy-rdma.conf absent"]
    assert systemd.asked == []
