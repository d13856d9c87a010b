# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Faults in logs that are synthesised (Documentation/ABI/testing/dev-kmsg), and the log of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Dict, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import kernel_log
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import kernel_faults, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import Configuration, Rail
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.history import History
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.kernel_faults import ENDING, KINDS, KernelFaults
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._exporter.readings import hca, known
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._exporter.test_text import parsed
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import need_root

ADDRESS = "0000:3b:00.0"
HOT = f"mlx5_core {ADDRESS}: temp_warn:174:(pid 0): High temperature on sensors with bit set 0x0 0x1"
FATAL = f"mlx5_core {ADDRESS}: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)"
WATCHDOG = "NETDEV WATCHDOG: ens1 (mlx5_core): transmit queue 3 timed out"
PEERMEM = "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing"
SAMPLE, ACTIVE = "rdma_device_kernel_faults_total", "rdma_device_kernel_fault_active"


class Log:
    """A kernel's log below a root."""

    def __init__(self, root: Path) -> None:
        self.root, self._path, self._number = str(root), root / "dev/kmsg", 0
        self._path.parent.mkdir()
        self._path.touch()

    def say(self, *messages: str, facility: int = 0, lost: int = 0) -> None:
        self._number += lost
        with self._path.open("a") as log:
            for message in messages:
                log.write(f"{facility << 3 | 4},{self._number},{self._number}000,-;{message}\n")
                self._number += 1


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_each_message_counts_once_in_whatever_look_it_is_read(log: Log) -> None:
    log.say("Linux version 6.8.0", HOT)
    found = KernelFaults(log.root)
    found.look({})
    assert found.counts == {(ADDRESS, "hca_temperature"): 1}
    found.look({})
    log.say(HOT, FATAL, PEERMEM, f"mlx5_core {ADDRESS}: health recovery succeeded")
    found.look({})
    assert found.counts == {
        (ADDRESS, "hca_temperature"): 2,
        (ADDRESS, "pcie_fatal"): 1,
        (kernel_log.PEERMEM, "peermem_error"): 1,
    }
    # It is not known to be over that a sensor was hot, and never will be.
    assert found.active == {(ADDRESS, "hca_temperature"), (kernel_log.PEERMEM, "peermem_error")}
    assert found.lost == 0


def test_a_fault_is_active_until_the_kernel_says_that_it_is_over(log: Log) -> None:
    log.say(FATAL, f"mlx5_core {ADDRESS}: health recovery succeeded", FATAL.replace("3b", "5e"))
    found = KernelFaults(log.root)
    found.look({})
    assert found.active == {("0000:5e:00.0", "pcie_fatal")}
    log.say(FATAL)
    found.look({})
    assert (ADDRESS, "pcie_fatal") in found.active


def test_a_netdev_is_the_function_that_it_was_on_the_host(log: Log) -> None:
    log.say(WATCHDOG)
    found = KernelFaults(log.root)
    found.look({"ens1": ADDRESS})
    # It is in a pod now, which may give another one this name.
    log.say(WATCHDOG)
    found.look({})
    assert found.counts == {(ADDRESS, "transmit_timeout"): 2}


def test_what_is_not_of_the_kernel_does_not_count(log: Log) -> None:
    log.say("Linux version 6.8.0")
    log.say(HOT, FATAL, PEERMEM, facility=1)
    log.say(f"x {ADDRESS}[21078]: segfault at 0 ip 0 sp 0 error 4 in Cold reset is required: synd 0x8[1+1]")
    found = KernelFaults(log.root)
    found.look({})
    assert found.counts == {}


def test_messages_that_nobody_read_are_told_of(log: Log) -> None:
    # The first one that the kernel still has is not the first one of this boot.
    log.say(HOT, lost=100)
    found = KernelFaults(log.root)
    found.look({})
    assert found.lost == 0
    log.say(HOT, lost=7)
    log.say(HOT, "another one", lost=5)
    found.look({})
    assert (found.lost, found.counts[ADDRESS, "hca_temperature"]) == (12, 3)


def test_a_flood_of_devices_is_bounded_and_told_of(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_faults, "_MOST", 3)
    log.say(*(HOT.replace("3b", f"{bus:02x}") for bus in range(10)))
    found = KernelFaults(log.root)
    found.look({})
    assert (len(found.counts), found.lost) == (3, 7)


def test_what_cannot_be_read_is_an_error_until_it_can(tmp_path: Path) -> None:
    found = KernelFaults(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        found.look({})
    log = Log(tmp_path)
    with pytest.raises(OSError, match="no message of a kernel"):
        found.look({})
    log.say(HOT)
    found.look({})
    assert found.counts == {(ADDRESS, "hca_temperature"): 1}


def test_the_log_of_this_machine_is_followed() -> None:
    need_root()
    if not os.access("/dev/kmsg", os.R_OK | os.W_OK):
        pytest.skip("needs /dev/kmsg, readable and writable; `make lab` follows the log of a guest")
    found = KernelFaults("/")
    found.look({})
    before, mine = dict(found.counts), f"mlx5_core ffff:ff:1f.7: a line of {os.getpid()}: Cold reset is required"
    # A process says it, so it is none of the kernel's.
    Path("/dev/kmsg").write_text(mine + "\n")
    with kernel_log.KernelLog() as log:
        assert any(mine.encode() in lines for lines in log._read())
    found.look({})
    assert ("ffff:ff:1f.7", "hca_unhealthy") not in found.counts
    assert all(found.counts[key] >= count for key, count in before.items())


def written(
    counts: Dict[Tuple[str, str], int], *rails: Rail, sample: str = SAMPLE
) -> Dict[Tuple[str, str, str], float]:
    """By device, PCI address and kind, what is written of three HCAs, one of which is a software device."""
    looked = known(hca(), hca("mlx5_1", pci="0000:5e:00.0"), hca("rxe0", pci="0000:01:00.0", software=True))
    metrics, history = text.Metrics(), History()
    history.look(looked.hcas, set())
    faults = KernelFaults("/")
    faults.counts, faults.active = counts, set(counts)
    text.of_kernel(metrics, Configuration(directory="/d", rails=rails), looked, history, faults)
    found: Dict[Tuple[str, str, str], float] = {}
    for (name, labels), value in parsed(metrics.text()).items():
        assert name in (SAMPLE, ACTIVE)
        if name != sample:
            continue
        own = dict(labels)
        found[own["device"], own["pci_address"], own["kind"]] = value
    return found


def test_known_devices_have_all_kinds_and_others_none() -> None:
    counts = {(ADDRESS, "pcie_fatal"): 2, ("0000:aa:00.0", "pcie_fatal"): 9, ("ens9", "transmit_timeout"): 1}
    found = written(counts)
    assert {key: value for key, value in found.items() if value} == {("mlx5_0", ADDRESS, "pcie_fatal"): 2}
    assert {device for device, _address, _kind in found} == {"mlx5_0", "mlx5_1", "nvidia_peermem"}
    assert len(found) == 2 * len(KINDS) + 1
    found = written(counts, sample=ACTIVE)
    assert {key: value for key, value in found.items() if value} == {("mlx5_0", ADDRESS, "pcie_fatal"): 1}
    assert len(found) == 2 * len(ENDING)


def test_a_planned_hca_that_never_appeared_is_told_of() -> None:
    """Its driver may have failed, and said why."""
    found = written({("0000:aa:00.0", "hca_unhealthy"): 1}, Rail("0", "mlx5_9", 1, "0000:aa:00.0"))
    assert found["mlx5_9", "0000:aa:00.0", "hca_unhealthy"] == 1
