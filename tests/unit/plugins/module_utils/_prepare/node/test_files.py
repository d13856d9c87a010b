# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Files of a node as they are replaced, on a real file system."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import NOBODY

ACL, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def acl(group: int, mask: int) -> bytes:
    """An access control list by which one group has rights of its own (include/uapi/linux/posix_acl_xattr.h)."""
    anyone = 0xFFFFFFFF
    rows = [(1, 6, anyone), (4, 0, anyone), (8, group, NOBODY), (16, mask, anyone), (32, 0, anyone)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


def attributes(path: Path) -> Dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


def set_or_skip(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        pytest.skip(f"{name} cannot be set here: {error.strerror}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (ACL, acl(4, 4)),
        ("user.note", b"theirs"),
        ("security.selinux", b"system_u:object_r:container_config_t:s0\0"),
    ],
)
def test_a_replaced_file_keeps_its_attributes_there_and_back(tmp_path: Path, name: str, value: bytes) -> None:
    path = tmp_path / "theirs.conf"
    path.write_text("old\n")
    set_or_skip(path, name, value)
    before, mode = attributes(path), path.stat().st_mode
    for wanted in ([File("/theirs.conf", "new\n")], []):
        ledger = Ledger(Files(str(tmp_path)), "test")
        ledger.apply(ledger.compare(wanted))
        assert (attributes(path), path.stat().st_mode) == (before, mode)
    assert path.read_text() == "old\n"


def test_a_replaced_file_gets_no_list_of_its_directory(tmp_path: Path) -> None:
    """By which others could read it who could not before."""
    path = tmp_path / "theirs.conf"
    path.write_text("secret\n")
    path.chmod(0o640)
    set_or_skip(tmp_path, DEFAULT, acl(6, 6))
    Files(str(tmp_path)).write("/theirs.conf", Stored(b"new\n", 0o640, os.geteuid(), os.getegid()))
    assert ACL not in attributes(path)
    assert path.stat().st_mode & 0o777 == 0o640
    # A new file is as its directory says.
    Files(str(tmp_path)).write("/new.conf", Stored(b"new\n", 0o640, os.geteuid(), os.getegid()))
    assert ACL in attributes(tmp_path / "new.conf")


def test_without_its_access_control_list_no_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "theirs.conf"
    path.write_text("old\n")
    set_or_skip(path, ACL, acl(4, 4))
    real = os.setxattr

    def refused(file: Any, name: str, value: bytes) -> None:
        if name == ACL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(file, name, value)

    monkeypatch.setattr(os, "setxattr", refused)
    with pytest.raises(HostError, match=r"^/theirs\.conf: No space left on device"):
        Files(str(tmp_path)).write("/theirs.conf", Stored(b"new\n", 0o640, os.geteuid(), os.getegid()))
    assert path.read_text() == "old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["theirs.conf"]


def test_a_fifo_in_the_way_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".a.conf.zerocopy-rdma.tmp")
    Files(str(tmp_path)).write("/a.conf", Stored(b"new\n", 0o644, os.geteuid(), os.getegid()))
    assert [(entry.name, entry.is_file()) for entry in tmp_path.iterdir()] == [("a.conf", True)]


def test_a_link_that_cannot_be_read_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to("/target")

    def refused(path: Any) -> str:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "readlink", refused)
    with pytest.raises(HostError, match=r"^/link/a\.conf: Input/output error"):
        Files(str(tmp_path)).text("/link/a.conf")


def test_a_file_of_any_size_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 3 << 30)
    with pytest.raises(HostError, match="/huge is larger than 16777216 bytes"):
        Files(str(tmp_path)).text("/huge")


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_what_a_directory_keeps_from_all_below_it_stays(tmp_path: Path, mask: int) -> None:
    """A default access control list: others get nothing, and the umask does not count."""
    set_or_skip(tmp_path, DEFAULT, acl(5, 5))
    before = os.umask(mask)
    try:
        Files(str(tmp_path)).write("/made/new.conf", Stored(b"new\n", 0o600, os.geteuid(), os.getegid()))
    finally:
        os.umask(before)
    assert (tmp_path / "made").stat().st_mode & 0o007 == 0


def test_an_entry_of_the_kernel_is_read() -> None:
    """It refuses a large buffer, as if there were no memory."""
    assert (Files("/").text("/proc/sys/kernel/osrelease") or "").strip() == os.uname().release
