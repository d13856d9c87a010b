# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The files and the unit of the daemon of DRANET's attributes; systemd is played, and really asked about the unit."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import socket
from pathlib import Path
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import attributes, inject
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.attributes import DAEMON
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import (
    configuration,
    names,
    server,
)
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.daemons import daemon_node
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.daemons.daemon_node import (
    Systemd,
    kinds,
)
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import as_nobody, within_reach

FIRST, SECOND = "0000:1a:00.0", "0000:3b:00.0"
DEVICES = {FIRST: {"rail": 0, "rate_gbps": 400}, SECOND: {"rail": 1}}


def options(root: Path, **own: Any) -> Dict[str, Any]:
    return daemon_node.options(attributes.SPEC, root, **{"devices": DEVICES, **own})


def carry_out(root: Path, systemd: Systemd, check: bool = False, **own: Any) -> Dict[str, Any]:
    return daemon_node.carry_out(DAEMON, attributes.request(options(root, **own)), root, systemd, check)


def written(root: Path) -> configuration.Devices:
    return configuration.read((root / DAEMON.config[1:]).read_text())


def test_it_is_installed_and_removed_and_not_restarted_for_another_value(tmp_path: Path) -> None:
    systemd = Systemd()
    predicted = carry_out(tmp_path, systemd, check=True)
    assert (systemd.asked, list(tmp_path.iterdir())) == ([], [])
    done = carry_out(tmp_path, systemd)
    assert done["changes"] == predicted["changes"]
    assert kinds(done) == [
        "file zerocopy-rdma-attributes.service present",
        "file attributes.json present",
        "file attributes.pyz present",
        "unit zerocopy-rdma-attributes.service enabled",
        "service zerocopy-rdma-attributes.service started",
    ]
    assert systemd.asked == ["daemon-reload", "reset-failed", "restart"]
    assert written(tmp_path) == DEVICES
    assert carry_out(tmp_path, systemd)["changed"] is False
    systemd.asked.clear()
    # It reads its file by itself; a restart would cost DRANET the attributes of a scan.
    again = carry_out(tmp_path, systemd, devices={FIRST: {"rail": 5}})
    assert (kinds(again), systemd.asked, written(tmp_path)) == (
        ["file attributes.json present"],
        [],
        {FIRST: {"rail": 5}},
    )
    other = carry_out(
        tmp_path, systemd, program=base64.b64encode(b"x").decode(), digest=hashlib.sha256(b"x").hexdigest()
    )
    assert "service zerocopy-rdma-attributes.service restarted" in kinds(other)
    gone = carry_out(tmp_path, systemd, state="absent")
    assert "service zerocopy-rdma-attributes.service stopped" in kinds(gone)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"] == []


def test_what_is_away_is_kept_where_it_can_be(tmp_path: Path) -> None:
    attributes.converge(options(tmp_path), False, Systemd())
    away = options(tmp_path, devices={FIRST: DEVICES[FIRST]}, keep=True)
    assert attributes.converge(away, False, Systemd())["changed"] is False
    assert attributes.converge({**away, "keep": False}, False, Systemd())["changed"] is True
    assert written(tmp_path) == {FIRST: DEVICES[FIRST]}
    # What somebody has broken is written anew.
    (tmp_path / DAEMON.config[1:]).write_text("{")
    attributes.converge(options(tmp_path, keep=True), False, Systemd())
    assert written(tmp_path) == DEVICES


def test_what_cannot_be_told_now_stays_as_it_was(tmp_path: Path) -> None:
    attributes.converge(options(tmp_path), False, Systemd())
    down = options(tmp_path, devices={FIRST: {"rail": 0}, SECOND: {"rail": 1}}, untold={FIRST: ["rate_gbps"]})
    assert attributes.converge(down, True, Systemd())["changed"] is False
    # What the facts do tell counts: its ports differ, so it has no rate.
    attributes.converge({**down, "untold": {SECOND: ["rate_gbps"]}}, False, Systemd())
    assert written(tmp_path) == {FIRST: {"rail": 0}, SECOND: {"rail": 1}}


def test_in_an_image_it_is_written_and_nothing_is_asked(tmp_path: Path) -> None:
    found = attributes.converge(options(tmp_path), False, Systemd())
    assert found["attributes"] == {"unit": DAEMON.unit, "changes": found["changes"]}
    assert os.readlink(tmp_path / DAEMON.enabled[1:]) == DAEMON.unit_path
    assert "unit" not in found
    assert attributes.converge(options(tmp_path, state="absent"), False, Systemd())["changed"]
    assert "attributes" not in attributes.converge(options(tmp_path, state="absent"), False, Systemd())


@pytest.mark.parametrize(
    ("own", "right"),
    [
        ({"devices": {FIRST: {"rail": "0"}}}, "an integer of 0 to"),
        ({"devices": {"nic": {}}}, "a PCI address like"),
        ({"interpreter": "/home/me/python3"}, "which the unit hides"),
        ({"digest": ""}, "digest is missing"),
        ({"program": "AAAA"}, "SHA-256 digest"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_written(tmp_path: Path, own: Dict[str, Any], right: str) -> None:
    with pytest.raises(HostError, match=right):
        attributes.converge(options(tmp_path, **own), False, Systemd())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    assert daemon_node.complaints(DAEMON.unit, attributes.unit("/bin/true"), tmp_path) == []


def test_a_local_user_does_not_reach_it() -> None:
    """With the directory and the umask that systemd makes by the unit; each is enough."""
    unit = dict(line.split("=", 1) for line in attributes.unit("/p").splitlines() if "=" in line)
    with within_reach() as top:
        config, directory = top / "attributes.json", top / "run"
        config.write_text('{"devices": {}}')
        directory.mkdir()
        directory.chmod(int(unit["RuntimeDirectoryMode"], 8))
        path = directory / "webhook.sock"

        def connect() -> None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.connect(str(path))

        umask = os.umask(int(unit["UMask"], 8))
        try:
            webhook = server.Webhook(str(path), server.Source(str(config)))
        finally:
            os.umask(umask)
        with webhook:
            for act in (connect, path.lstat, path.unlink):
                assert isinstance(as_nobody(act), PermissionError)
            directory.chmod(0o755)
            assert isinstance(as_nobody(connect), PermissionError)
            connect()


def test_it_has_no_right_that_it_does_not_need() -> None:
    lines = attributes.unit("/p").splitlines()
    shared = {line for line in inject.unit("/p", "").splitlines() if line.startswith(("Protect", "NoNew", "Lock"))}
    assert shared <= set(lines)
    assert {"CapabilityBoundingSet=", "RestrictAddressFamilies=AF_UNIX", "IPAddressDeny=any", "PrivateNetwork=yes"} <= {
        *lines
    }
    # The directory outlives the daemon, since pods have mounted it, and nobody but root enters it.
    own = {line for line in lines if line.startswith("RuntimeDirectory")}
    name = os.path.basename(names.DIRECTORY)
    assert own == {f"RuntimeDirectory={name}", "RuntimeDirectoryMode=0700", "RuntimeDirectoryPreserve=yes"}
    assert os.path.dirname(names.SOCKET) == names.DIRECTORY == f"/run/{name}"
    assert [line for line in lines if line.startswith("Before=kubelet.service ")]
