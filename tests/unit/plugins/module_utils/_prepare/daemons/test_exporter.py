# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The exporter's files and unit below a root of its own; systemd is played, and really asked about the unit."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import exporter, inject
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.exporter import DAEMON
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.daemons import daemon_node
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.daemons.daemon_node import (
    Systemd,
    kinds,
)

DIRECTORY = "/var/lib/prometheus/node-exporter"


def options(root: Path, **own: Any) -> Dict[str, Any]:
    return daemon_node.options(exporter.SPEC, root, **{"directory": DIRECTORY, **own})


def carry_out(root: Path, systemd: Systemd, check: bool = False, **own: Any) -> Dict[str, Any]:
    return daemon_node.carry_out(DAEMON, exporter.request(options(root, **own)), root, systemd, check)


def test_it_is_installed_changed_and_removed(tmp_path: Path) -> None:
    systemd = Systemd()
    predicted = carry_out(tmp_path, systemd, check=True)
    assert (systemd.asked, list(tmp_path.iterdir())) == ([], [])
    done = carry_out(tmp_path, systemd)
    assert done["changes"] == predicted["changes"]
    assert kinds(done) == [
        "file zerocopy-rdma-exporter.service present",
        "file exporter.json present",
        "file exporter.pyz present",
        "unit zerocopy-rdma-exporter.service enabled",
        "service zerocopy-rdma-exporter.service started",
    ]
    assert systemd.asked == ["daemon-reload", "reset-failed", "restart"]
    assert (done["service"], "registered" in done, done["warnings"]) == ("active", False, [])
    # The program takes what prepare writes.
    written = configuration.read((tmp_path / DAEMON.config[1:]).read_text())
    assert (written.directory, written.interval) == (DIRECTORY, 15)
    assert carry_out(tmp_path, systemd)["changed"] is False
    # Of a new configuration it is told by a restart.
    systemd.asked.clear()
    rails = [{"name": "0", "hca": "mlx5_0", "port": 1, "pci": ""}]
    again = carry_out(tmp_path, systemd, rails=rails, rate_gbps=400.0)
    assert kinds(again) == ["file exporter.json present", "service zerocopy-rdma-exporter.service restarted"]
    assert systemd.asked == ["reset-failed", "restart"]
    gone = carry_out(tmp_path, systemd, state="absent")
    assert "service zerocopy-rdma-exporter.service stopped" in kinds(gone)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"] == []
    assert carry_out(tmp_path, systemd, state="absent")["changed"] is False


@pytest.mark.parametrize(
    ("socket", "written"),
    [
        ("", False),
        # The first that the exporter tries by itself.
        ("/run/containerd/containerd.sock", False),
        ("/var/run/containerd/containerd.sock", False),
        ("/run/k3s/containerd/containerd.sock", True),
        ("/var/run/crio/crio.sock", True),
        ("/run/own.sock", True),
        ("own.sock", False),
    ],
)
def test_the_socket_is_written_where_the_exporter_may_ask_another_runtime(
    tmp_path: Path, socket: str, written: bool
) -> None:
    carry_out(tmp_path, Systemd(), runtime_socket=socket)
    text = (tmp_path / DAEMON.config[1:]).read_text()
    assert ("runtime_socket" in text, configuration.read(text).runtime_socket) == (written, socket if written else "")


def _rail(name: str, hca: str, pci: str = "", port: int = 1) -> Dict[str, Any]:
    return {"name": name, "hca": hca, "port": port, "pci": pci}


@pytest.mark.parametrize(
    ("planned", "written"),
    [
        # Soft-RoCE has its place from the netdev, which the pod has.
        ([_rail("0", "rxe5"), _rail("1", "rxe6", "0000:65:00.0")], {"0": "0000:64:00.0", "1": "0000:65:00.0"}),
        # In netns mode exclusive the HCA is away with it.
        ([_rail("1", "rxe6", "0000:65:00.0")], {"0": "0000:64:00.0", "1": "0000:65:00.0"}),
        # Another port is this rail by now, or another rail has the port.
        ([_rail("0", "rxe7"), _rail("1", "rxe6", "0000:65:00.0")], {"0": "", "1": "0000:65:00.0"}),
        (
            [_rail("1", "rxe6", "0000:65:00.0"), _rail("2", "rxe5", "0000:64:00.0")],
            {"1": "0000:65:00.0", "2": "0000:64:00.0"},
        ),
    ],
)
def test_rails_in_pods_stay_as_they_were(tmp_path: Path, planned: Any, written: Dict[str, str]) -> None:
    systemd = Systemd()
    both = [_rail("0", "rxe5", "0000:64:00.0"), _rail("1", "rxe6", "0000:65:00.0")]
    carry_out(tmp_path, systemd, rails=both)
    done = carry_out(tmp_path, systemd, rails=planned, keep=True)
    found = configuration.read((tmp_path / DAEMON.config[1:]).read_text())
    assert {rail.name: rail.pci for rail in found.rails} == written
    assert done["changed"] == ({rail["name"]: rail["pci"] for rail in both} != written)
    carry_out(tmp_path, systemd, rails=planned)
    found = configuration.read((tmp_path / DAEMON.config[1:]).read_text())
    assert [rail._asdict() for rail in found.rails] == planned


@pytest.mark.parametrize("broken", ["", "{", '{"rails": [1]}'])
def test_what_somebody_has_broken_is_written_anew(tmp_path: Path, broken: str) -> None:
    planned = [_rail("0", "rxe5", "0000:64:00.0")]
    carry_out(tmp_path, Systemd(), rails=planned)
    (tmp_path / DAEMON.config[1:]).write_text(broken)
    assert carry_out(tmp_path, Systemd(), rails=planned, keep=True)["changed"] is True
    found = configuration.read((tmp_path / DAEMON.config[1:]).read_text())
    assert [rail._asdict() for rail in found.rails] == planned


def test_one_that_does_not_start_says_why_and_the_next_run_tries_again(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"zerocopy-rdma-exporter\.service does not start: .*cannot be written"):
        carry_out(tmp_path, Systemd(starts=False))
    systemd = Systemd()
    assert kinds(carry_out(tmp_path, systemd)) == ["service zerocopy-rdma-exporter.service started"]


def test_in_an_image_it_is_written_and_nothing_is_asked(tmp_path: Path) -> None:
    found = exporter.converge(options(tmp_path), False, Systemd())
    assert found["exporter"]["changes"] == found["changes"]
    assert os.readlink(tmp_path / DAEMON.enabled[1:]) == DAEMON.unit_path
    assert "unit" not in found
    gone = exporter.converge(options(tmp_path, state="absent"), False, Systemd())
    assert gone["changed"]
    assert "exporter" not in exporter.converge(options(tmp_path, state="absent"), False, Systemd())


@pytest.mark.parametrize(
    ("own", "right"),
    [
        ({"listen": "0.0.0.0:9880"}, "exactly one of them"),
        ({"directory": ""}, "exactly one of them"),
        ({"directory": "", "listen": "node:9880"}, "an IP address and a port"),
        ({"directory": "relative"}, "directory is 'relative'"),
        ({"directory": "/a b"}, "directory is '/a b'"),
        ({"directory": "/a\nExecStart=/bin/sh"}, "directory is"),
        ({"interval": 0}, "5 to 300"),
        ({"interpreter": "/home/me/python3"}, "which the unit hides"),
        ({"digest": ""}, "digest is missing"),
        ({"program": "AAAA"}, "SHA-256 digest"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_written(tmp_path: Path, own: Dict[str, Any], right: str) -> None:
    with pytest.raises(HostError, match=right):
        exporter.converge(options(tmp_path, **own), False, Systemd())
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    lost = str(tmp_path / "lost")
    with pytest.raises(HostError, match="which is no directory"):
        exporter.converge(options(Path("/"), directory=lost), True, Systemd())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("directory", ["", DIRECTORY])
def test_systemd_understands_the_unit(tmp_path: Path, directory: str) -> None:
    text = exporter.unit("/bin/true", directory)
    assert daemon_node.complaints(DAEMON.unit, text, tmp_path) == []
    lines = text.splitlines()
    # Nothing of the network but an address to listen on, and no right more than it needs.
    assert ("IPAddressDeny=any" in lines) is bool(directory)
    assert ("RestrictAddressFamilies=AF_UNIX AF_NETLINK" in lines) is bool(directory)
    own = "CAP_SYS_ADMIN CAP_SYSLOG CAP_DAC_OVERRIDE" if directory else "CAP_SYS_ADMIN CAP_SYSLOG"
    assert f"CapabilityBoundingSet={own}" in lines
    devices = [line for line in lines if line.startswith(("DevicePolicy", "DeviceAllow", "ProtectKernelLogs"))]
    assert devices == ["DevicePolicy=closed", "DeviceAllow=/dev/kmsg r"]


def test_both_daemons_share_what_none_of_them_needs() -> None:
    ours, other = (set(text.splitlines()) for text in (exporter.unit("/p", "/d"), inject.unit("/p", "")))
    shared = {line for line in other if line.startswith(("Protect", "NoNew", "Lock", "RestrictReal", "RestrictSUID"))}
    assert len(shared) >= 11
    # It reads the kernel's log.
    assert shared - ours == {"ProtectKernelLogs=yes"}
