# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Writing and reading in a directory of another user, who does there what that user can."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable, Iterator

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import (
    NOBODY,
    as_nobody,
    within_reach,
)

SECRET = "root's secret\n"


@pytest.fixture
def theirs() -> Iterator[Path]:
    """The directory of node_exporter, which belongs to another user, beside a file of root's."""
    with within_reach() as top:
        (top / "secret").write_text(SECRET)
        (top / "secret").chmod(0o600)
        directory = top / "exporter/textfile"
        directory.mkdir(parents=True)
        for path in (directory.parent, directory):
            os.chown(path, NOBODY, NOBODY)
        yield directory


def _link(path: Path) -> Callable[[], None]:
    return lambda: path.symlink_to(path.parents[2] / "secret")


def _hard_link(path: Path) -> Callable[[], None]:
    def act() -> None:
        other = path.with_name("other")
        other.write_text("theirs\n")
        os.link(other, path)

    return act


def _fifo(path: Path) -> Callable[[], None]:
    return lambda: os.mkfifo(path)


@pytest.mark.parametrize("trap", [_link, _hard_link, _fifo], ids=["link", "hard link", "fifo"])
@pytest.mark.parametrize("name", ["x.prom", "x.prom.tmp"])
@pytest.mark.parametrize("follow", [False, True])
def test_what_another_user_put_there_is_replaced(
    theirs: Path, name: str, trap: Callable[[Path], Callable[[], None]], follow: bool
) -> None:
    assert as_nobody(trap(theirs / name)) is None
    writing.replace(str(theirs / "x.prom"), b"ours\n", "x.prom.tmp", follow=follow)
    status = (theirs / "x.prom").lstat()
    assert (status.st_mode, status.st_uid, status.st_nlink) == (0o100644, 0, 1)
    assert (theirs / "x.prom").read_text() == "ours\n"
    assert (theirs.parents[1] / "secret").read_text() == SECRET
    assert not os.path.lexists(theirs / "x.prom.tmp")
    if (theirs / "other").exists():
        assert (theirs / "other").read_text() == "theirs\n"


@pytest.mark.parametrize("follow", [False, True])
def test_a_directory_that_is_a_link_of_another_user_is_refused(theirs: Path, follow: bool) -> None:
    def attack() -> None:
        theirs.rmdir()
        theirs.symlink_to(theirs.parents[1])

    assert as_nobody(attack) is None
    for path in ("x.prom", "made/x.prom"):
        with pytest.raises(PermissionError, match="textfile is a link that another user can change"):
            writing.replace(str(theirs / path), b"ours\n", follow=follow)
    with pytest.raises(PermissionError):
        writing.remove(str(theirs / "secret"))
    with pytest.raises(PermissionError):
        writing.read(str(theirs / "secret"), follow)
    assert sorted(path.name for path in theirs.parents[1].iterdir()) == ["exporter", "secret"]


def test_nothing_is_read_through_another_users_link(theirs: Path) -> None:
    assert as_nobody(_link(theirs / "x.prom")) is None
    for follow in (False, True):
        with pytest.raises(OSError, match="is a link"):
            writing.text(str(theirs / "x.prom"), follow)


def test_a_fifo_is_not_waited_for_and_a_huge_file_not_read(theirs: Path) -> None:
    def attack() -> None:
        os.mkfifo(theirs / "fifo")
        with (theirs / "huge").open("wb") as file:
            file.truncate(3 << 30)

    assert as_nobody(attack) is None
    for name, message in (("fifo", "not a regular file"), ("huge", "larger than")):
        with pytest.raises(OSError, match=message):
            writing.text(str(theirs / name))


def test_a_link_of_ones_own_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to("real")
    (tmp_path / "latest").symlink_to("way/report")
    writing.replace(str(tmp_path / "latest"), b"new\n", follow=True)
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "real/report").read_text() == "new\n"
    assert writing.text(str(tmp_path / "latest"), follow=True) == "new\n"
    writing.replace(str(tmp_path / "latest"), b"newer\n")
    assert not (tmp_path / "latest").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "real", "way"]


@pytest.mark.parametrize("target", ["../x", "../x/", "{}/b/x", "../made/x"])
def test_a_link_leads_where_the_kernel_says_by_way_of_others_too(tmp_path: Path, target: str) -> None:
    for directory in ("a", "b/c"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "a/link").symlink_to("../b/c")
    (tmp_path / "b/c/latest").symlink_to(target.format(tmp_path))
    path, real = tmp_path / "a/link/latest", tmp_path / ("b/made/x" if "made" in target else "b/x")
    for content in (b"new\n", b"newer\n"):
        writing.replace(str(path), content, follow=True)
        assert real.read_bytes() == content
        assert writing.text(str(path), follow=True) == content.decode()
    assert [entry.name for entry in (tmp_path / "a").iterdir()] == ["link"]
    assert path.is_symlink()


def _broken(path: Path) -> None:
    path.symlink_to("file/x")
    (path.parent / "file").touch()


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


def _not_there(path: Path) -> None:
    path.symlink_to("../nothing/x")


@pytest.mark.parametrize("make", [_broken, _circle, _not_there])
def test_what_a_link_does_not_lead_to_names_the_link_and_leaves_nothing_open(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "latest")
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=r"latest'$"):
        writing.read(str(tmp_path / "latest"), follow=True)
    with pytest.raises(ValueError, match="null"):
        writing.read(f"{tmp_path}/\0/x")
    assert os.listdir("/proc/self/fd") == before


def test_a_directory_is_not_read_or_left_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        writing.read(str(tmp_path))
    assert os.listdir("/proc/self/fd") == before


def test_reading_makes_nothing_and_circles_end(tmp_path: Path) -> None:
    assert writing.text(str(tmp_path / "a/b"), follow=True) == ""
    (tmp_path / "circle").symlink_to("circle")
    for path in ("circle", "circle/file"):
        with pytest.raises(OSError, match=r"Too many levels|is a link"):
            writing.replace(str(tmp_path / path), b"", follow=True)
    assert [path.name for path in tmp_path.iterdir()] == ["circle"]


def test_a_directory_that_is_there_is_not_walked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As each file that is written asks for its own."""
    monkeypatch.delattr(os, "open")
    writing.make_directories(str(tmp_path))


def test_an_entry_of_the_kernel_is_read() -> None:
    """It refuses a large buffer, as if there were no memory."""
    assert writing.read("/proc/sys/kernel/osrelease").decode().strip() == os.uname().release
