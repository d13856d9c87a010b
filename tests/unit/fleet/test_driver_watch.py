# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A node whose NIC driver is replaced: its kernel log, disk and signs of the driver, in a synthesised file system."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.kernel_log import KernelLog
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import CONCERN, NOTES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import driver_watch
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.driver_watch import Limits, Watch
from ansible_collections.zerocopy.rdma.plugins.modules import driver_watch as module

LIMITS = Limits(messages=100, free=0, timeout=30, watch=10)
UBUNTU = 'module(load="imklog" permitnonkernelfacility="on")\n'


def say(root: Path, first: int, number: int, newline: bool = True) -> None:
    records = "".join(f"6,{first + count},{count},-;mlx5_core 0000:19:00.0: text, 6,99\n" for count in range(number))
    with (root / "dev" / "kmsg").open("a", encoding="utf-8") as log:
        log.write(records if newline else records[:-1])


def load(root: Path, version: str = "26.07-0.7.0") -> None:
    for path, text in ((driver_watch.VERSION, version + "\n"), (driver_watch.READY, "")):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@pytest.fixture(name="root")
def make_root(tmp_path: Path) -> Path:
    (tmp_path / "dev").mkdir()
    say(tmp_path, 40, 3)
    return tmp_path


class Steps:
    """Time that goes on by sleeping only; at each second something happens on the node."""

    def __init__(self, **at: Callable[[], Any]) -> None:
        self.now, self._at = 0.0, {int(name[1:]): call for name, call in at.items()}

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._at.get(int(self.now), lambda: None)()

    def watch(self, root: Path, limits: Limits = LIMITS, since: int | None = None) -> dict[str, Any]:
        one = Watch(str(root), limits, lambda: self.now, self.sleep)
        return {**one.run(since), "text": driver_watch.text(one.result, limits)}


def test_the_number_of_the_newest_message(root: Path) -> None:
    with KernelLog(str(root)) as log:
        assert log.last() == 42
        say(root, 43, 1, newline=False)
        # Of half a message the number may be half as well.
        assert log.last() == 42
        say(root, 44, 0)
        with (root / "dev" / "kmsg").open("a") as more:
            more.write("\n SUBSYSTEM=pci\n")
        assert log.last() == 43
    (root / "dev" / "kmsg").write_text("")
    assert driver_watch.sequence(str(root)) == -1


def test_a_driver_that_works_is_watched_for_the_whole_time(root: Path) -> None:
    steps = Steps(s5=lambda: load(root), s7=lambda: say(root, 43, 90))
    found = steps.watch(root)
    assert (found["reason"], found["text"], steps.now) == ("", "", 15)
    assert (found["messages"], found["most"], found["version"]) == (90, 90, "26.07-0.7.0")


def test_messages_of_a_minute_count_and_not_those_of_an_hour(root: Path) -> None:
    def loaded() -> None:
        say(root, 44, 1)
        load(root)

    calls: dict[str, Callable[..., None]] = {
        f"s{second}": lambda second=second: say(root, 42 + second, 1) for second in range(1, 300)
    }
    calls["s2"] = loaded
    found = Steps(**calls).watch(root, Limits(messages=61, free=0, timeout=30, watch=280))
    assert (found["reason"], found["messages"] > 250, found["most"]) == ("", True, 60)


def test_a_flood_ends_the_watch_at_once(root: Path) -> None:
    steps = Steps(s5=lambda: load(root), s6=lambda: say(root, 4000, 1))
    found = steps.watch(root)
    # The buffer has lost most of them.
    assert (found["reason"], steps.now, found["most"]) == ("log", 6, 3958)
    assert found["text"] == "the kernel wrote 3958 messages within a minute, more than 100"
    # What came between two calls counts.
    assert Steps().watch(root, since=42)["reason"] == "log"


@pytest.mark.parametrize(
    ("limits", "happens", "reason", "text"),
    [
        (Limits(100, 1e9, 30, 10), {}, "disk", r"free space fell below 1e\+09 GiB \(/ [0-9.]+ GiB"),
        (LIMITS, {}, "timeout", "the driver was not ready after 30 s"),
        (
            LIMITS,
            {"s1": load, "s3": lambda root: (root / driver_watch.READY).unlink()},
            "gone",
            "the driver was ready and then was no longer ready",
        ),
    ],
)
def test_why_a_watch_ends(root: Path, limits: Limits, happens: dict[str, Any], reason: str, text: str) -> None:
    found = Steps(**{name: lambda call=call: call(root) for name, call in happens.items()}).watch(root, limits)
    assert found["reason"] == reason
    assert re.match(text, found["text"])


def test_the_kernels_own_driver_is_not_the_one_that_is_awaited(root: Path) -> None:
    load(root, "")
    assert Steps().watch(root)["reason"] == "timeout"


@pytest.mark.parametrize(
    ("config", "running", "unlimited"),
    [
        (UBUNTU, True, True),
        (UBUNTU, False, False),
        ('module(load="imjournal")\n', True, False),
        ('module(load="imklog" RatelimitInterval="5" ratelimitBurst="500")\n', True, False),
        (UBUNTU + '# rotation.sizeLimit="100"\n', True, True),
        (UBUNTU + 'action(type="omfile" file="/var/log/kern.log" rotation.sizeLimit="100000000")\n', True, False),
        (UBUNTU + "$outchannel kernel,/var/log/kern.log,100000000,/usr/sbin/rotate\n", True, False),
    ],
)
def test_whether_rsyslog_writes_all_that_the_kernel_says(
    root: Path, config: str, running: bool, unlimited: bool
) -> None:
    procs = root / "sys" / "fs" / "cgroup" / "system.slice" / "rsyslog.service" / "cgroup.procs"
    procs.parent.mkdir(parents=True)
    procs.write_text("812\n" if running else "")
    (root / "etc" / "rsyslog.d").mkdir(parents=True)
    (root / "etc" / "rsyslog.d" / "50.conf").write_text(config)
    (root / "etc" / "rsyslog.conf").write_text("# rsyslog\n")
    assert driver_watch.measure(str(root))["unlimited"] == unlimited


def test_what_quality_of_service_has_made_is_named(root: Path, run_module: Callable[..., dict[str, Any]]) -> None:
    note = {"netdev": "ens1np0", "mac": "b8:59:9f:3b:2b:88", "before": {}, "wanted": {}, "made": True}
    ledger = Ledger(Files(str(root)), CONCERN, NOTES)
    ledger.notes["qos"] = {"mlx5_0/1": note}
    ledger.save()
    directory = root / "sys/kernel/config/rdma_cm/mlx5_0"
    directory.mkdir(parents=True)
    assert run_module(module, root=str(root))["made"] == [str(directory)]
    (root / ledger.path.lstrip("/")).write_text("{")
    assert "is damaged" in run_module(module, root=str(root))["msg"]


def test_the_module(root: Path, run_module: Callable[..., dict[str, Any]]) -> None:
    (root / "proc").mkdir()
    (root / "proc" / "modules").write_text(
        "nvidia_peermem 16384 1 - Live 0x0\nib_core 401408 8 rdma_cm,mlx5_ib, Live 0x0\nbroken\n"
    )
    found = run_module(module, root=str(root))
    assert (found["sequence"], found["modules"]) == (42, {"nvidia_peermem": 1, "ib_core": 8})
    assert (found["ready"], found["version"], set(found["free"])) == (False, "", {"/"})
    load(root, version="")
    assert found["made"] == []
    # The file of a container that has gone says nothing of the driver that is loaded now.
    assert not run_module(module, root=str(root))["ready"]
    load(root)
    assert run_module(module, root=str(root))["ready"]
    found = run_module(module, root=str(root), watch=0, since=41, free=0)
    assert (found["reason"], found["messages"], found["ready"]) == ("", 1, True)
    (root / "dev" / "kmsg").unlink()
    assert "the kernel log of the node cannot be read" in run_module(module, root=str(root))["msg"]
