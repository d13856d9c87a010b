# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Kernel messages since boot: their number, and those that report faults of HCAs (Documentation/ABI/testing/dev-kmsg).

Every message has the next number, so two numbers tell how many there were, also those that the ring buffer has lost.

What counts as a fault, and which file of the kernel says it, is in ``RULES``, by which both facts (and with them
verify) and the exporter go.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import warnings as codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Warn
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, PciFunction
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.warnings import warning
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci

# A flood must not keep the reader for ever; what it leaves unread is counted at the next look.
_AT_MOST = 200000
_CHUNK = 1 << 16
_BATCH = 1 << 12
_RECORD = re.compile(rb"(?m)^[0-9]+,([0-9]{1,19}),[^\n]*\n")
# Only what the kernel itself says (facility 0): anyone with root's rights can write to its log.
_MESSAGE = re.compile(rb"(?m)^[0-7],[0-9]{1,19},([0-9]{1,19}),[^;\n]*;([^\n]*)\n")


class KernelLog:
    """``/dev/kmsg`` below ``root``. The constructor and all reading raise OSError where it cannot be read.

    Whoever reads again gets what has come since. ``at_most`` bounds the reads of one time, each of one message.
    ``lost`` is how many messages were overwritten before they could be read, of those after the first one read.
    """

    def __init__(self, root: str = "/", at_most: int = _AT_MOST) -> None:
        self._file = os.open(os.path.join(root, "dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._at_most = at_most
        self.lost = 0
        self._last: Optional[int] = None
        self._rest = b""

    def __enter__(self) -> KernelLog:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._file)

    def last(self) -> int:
        """The number of the newest message, -1 if there has been none."""
        for lines in self._read():
            for match in _RECORD.finditer(lines):
                self._last = int(match.group(1))
        return -1 if self._last is None else self._last

    def messages(self) -> Iterator[Tuple[float, str]]:
        """The messages of the kernel that are there and were not read yet, with the seconds from boot to each."""
        for lines in self._read():
            self._count(lines)
            for match in _MESSAGE.finditer(lines):
                yield int(match.group(1)) / 1e6, match.group(2).decode("utf-8", "replace")

    def _count(self, lines: bytes) -> None:
        numbers = _RECORD.findall(lines)
        if numbers:
            last = int(numbers[-1])
            if self._last is not None:
                self.lost += max(0, last - self._last - len(numbers))
            self._last = last

    def _read(self) -> Iterator[bytes]:
        """Whole lines, as far as there are any, many at a time: most messages are about something else."""
        for _turn in range(self._at_most):
            try:
                # The device gives one message at a time, a recorded log as much as fits.
                found = os.read(self._file, _CHUNK)
            except BlockingIOError:
                break
            except BrokenPipeError:
                # Messages were lost before they could be read; the next one says how many.
                continue
            if not found:
                break
            self._rest += found
            if len(self._rest) > _BATCH:
                yield self._whole()
        yield self._whole()

    def _whole(self) -> bytes:
        """The lines read so far, without an incomplete last line."""
        whole, end, self._rest = self._rest.rpartition(b"\n")
        return whole + end


PATH = "/dev/kmsg"
_MOST_CHARACTERS = 200
_BOOT = re.compile(r"\bbtime ([0-9]{1,12})\b")
# What messages about a device start with: the driver and the device's address. Of a process, the kernel writes the name
# in the same place, which anyone can choose: 15 characters, in which a driver's name and an address have no room.
_DEVICE = re.compile(rf"[A-Za-z][\w-]{{2,31}} ({pci.PATTERN})(?=[: ])|NETDEV WATCHDOG: (\S+) \(", re.ASCII)
# Those of GPUDirect's module are about no single HCA. Function and line have no room in the name of a process.
_PEERMEM = r"(?:nvidia[-_]peermem|nv_peer_mem):? \w+:[0-9]+ ERROR\b"
_OF_PEERMEM = re.compile(_PEERMEM, re.ASCII)
# The kernel about a process, whose name comes first and the name of its file last: both are its user's text.
_PROCESS = re.compile(r".{1,15}\[[0-9]{1,10}\]: ")
PEERMEM = "nvidia_peermem"
_MLX5, _BNXT = "drivers/net/ethernet/mellanox/mlx5/core/", "drivers/net/ethernet/broadcom/bnxt/bnxt.c"
_IONIC, _AER = "drivers/net/ethernet/pensando/ionic/ionic_dev.c", "drivers/pci/pcie/aer.c"
# The driver has started the function: mlx5's health.c (once "revovery succeded"), main.c, rl.c (once the firmware has
# initialised the function) and en/params.h, bnxt.c, ionic_dev.c. mlx5 tells the firmware's version too early: before it
# waits for the firmware (main.c, mlx5_function_enable), also if that never answers.
_STARTED = (
    r"health (?:recovery succeeded|revovery succeded)|\bdevice recovered$|: Rate limit: [0-9]+ rates are supported"
    r"|: MLX5E: StrdRq\(|: \S.* found at mem |: FW heartbeat restored at "
)
# It could not: main.c of mlx5 (mlx5_pci_slot_reset, mlx5_pci_resume, wait_fw_init, probe_one).
_NOT_STARTED = (
    r"\bdevice [Ff]ailed$|: Firmware over [0-9]+ MS in [a-z-]+ state, aborting"
    r"|: wait[_ ]vital (?:timed out|failed )|\bmlx5_(?:init|load)_one failed with error code"
)


class Rule(NamedTuple):
    """Messages of one kind about a device: which report it, by which it is over, and the files that have their texts.

    ``code`` is that of the warning. The patterns are compiled when a message about a device is found: most nodes
    without a hardware HCA never need them.
    """

    code: str
    said: str
    over: str
    sources: Tuple[str, ...]


RULES = (
    Rule(
        # Fatal error 3 is a function that was disabled, as a VF is when it is removed.
        codes.HCA_UNHEALTHY,
        r"device's health compromised|: Fatal error (?!3 )[0-9]+ detected|: health recovery (?:failed|flow aborted)"
        r"|: synd 0x8: unrecoverable|Cold reset is required|: FW heartbeat stalled at |: Firmware reset aborted"
        f"|{_NOT_STARTED}",
        _STARTED,
        (f"{_MLX5}health.c", f"{_MLX5}main.c", _BNXT, _IONIC),
    ),
    Rule(
        codes.COMMAND_TIMEOUT,
        r" timeout\. Will cause a leak of a command|: cmdq\[\w+\]=\w+ timedout ",
        _STARTED,
        (f"{_MLX5}cmd.c", "drivers/infiniband/hw/bnxt_re/qplib_rcfw.c"),
    ),
    Rule(codes.FIRMWARE_RESET, r"[Ff]atal (?:firmware )?reset event", "", (_BNXT,)),
    # What the firmware refuses.
    Rule(
        codes.REGISTER_ACCESS,
        r"ACCESS_REG\(0x[0-9a-f]+\)(?: op_mod\(0x[0-9a-f]+\))? failed",
        _STARTED,
        (f"{_MLX5}cmd.c",),
    ),
    Rule(codes.SLOT_POWER, r"Detected insufficient power on the PCIe slot", "", (f"{_MLX5}events.c",)),
    Rule(codes.HCA_TEMPERATURE, r"High temperature on sensors", "", (f"{_MLX5}events.c",)),
    Rule(
        codes.MODULE_ERROR,
        r"Port module event\[error\]: ",
        r"Port module event: module [0-9]+, Cable plugged",
        (f"{_MLX5}events.c",),
    ),
    # Older kernels name only the netdev.
    Rule(
        codes.TRANSMIT_TIMEOUT,
        r"NETDEV WATCHDOG: .*transmit queue [0-9]+ timed out",
        "",
        ("net/sched/sch_generic.c",),
    ),
    # Older kernels write "Uncorrected"; where the system's firmware handles errors first, only ``aer_uncor_severity``
    # shows that one was not correctable.
    Rule(codes.PCIE_FATAL, r"PCIe Bus Error: severity=Uncorrect(?:ed|able) \(Fatal\)", _STARTED, (_AER,)),
    Rule(
        codes.PCIE_ERROR,
        r"PCIe Bus Error: severity=Uncorrect\w+ \(Non-Fatal\)|: aer_uncor_severity: ",
        "",
        (_AER,),
    ),
    Rule(codes.PEERMEM_ERROR, f"^{_PEERMEM}", "", ("nvidia-peermem.c of NVIDIA's driver",)),
)


def device_of(message: str) -> Optional[str]:
    """The PCI address or netdev that a message is about, or ``PEERMEM``; ``None`` for all other messages."""
    if _PROCESS.match(message):
        return None
    if _OF_PEERMEM.match(message):
        return PEERMEM
    device = _DEVICE.match(message)
    return (device.group(1) or device.group(2)) if device else None


def faults(message: str) -> Iterator[Tuple[str, bool]]:
    """What a message about a device says: codes, each with whether the problem is over."""
    for rule in RULES:
        if re.search(rule.said, message):
            yield rule.code, False
        elif rule.over and re.search(rule.over, message):
            yield rule.code, True


@dataclass
class _Heard:
    """Messages of one kind about one device; times are seconds from boot, ``over`` is ``None`` if it is not."""

    first: float
    last: float = 0.0
    count: int = 0
    message: str = ""
    over: Optional[float] = None


def subjects(hcas: Sequence[Hca], nics: Sequence[PciFunction], drivers: Sequence[str]) -> Dict[str, str]:
    """By PCI address and netdev, the devices to listen for: HCAs, and functions that have lost theirs."""
    found = {nic.address: nic.address for nic in nics if nic.driver in drivers}
    for hca in hcas:
        if hca.pci and not hca.software and hca.driver in drivers:
            found[hca.pci.address] = hca.name
            found.update({port.netdev.name: hca.name for port in hca.ports if port.netdev})
    return found


def _listen(log: KernelLog, names: Mapping[str, str]) -> Optional[Dict[Tuple[str, str], _Heard]]:
    """The messages heard, by code and device; ``None`` if the log has no message at all, so it is not a kernel log."""
    found: Dict[Tuple[str, str], _Heard] = {}
    subjects_of = {**names, PEERMEM: PEERMEM}
    silent = True
    for at, message in log.messages():
        silent = False
        subject = subjects_of.get(device_of(message) or "")
        if subject is None:
            continue
        for code, over in faults(message):
            before = found.get((code, subject))
            if not over:
                heard = found.setdefault((code, subject), _Heard(at))
                heard.last, heard.count, heard.message, heard.over = at, heard.count + 1, message, None
            elif before and before.over is None:
                before.over = at
    return None if silent else found


def _when(tree: Tree, seconds: float) -> str:
    boot = _BOOT.search(tree.text("proc/stat") or "")
    if boot is None:
        return f"{seconds:.0f} s after boot"
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(boot.group(1)) + seconds))


def warnings(tree: Tree, names: Mapping[str, str]) -> Optional[List[Warn]]:
    """A warning for each kind of message and device; ``None`` if no device is named, or the log cannot be read."""
    if not names or tree.resolve(PATH[1:]) is None:
        return None
    try:
        with KernelLog(tree.root) as log:
            found = _listen(log, names)
    except OSError as error:
        tree.note(PATH[1:], error)
        return None
    return (
        None
        if found is None
        else [
            warning(
                code,
                subject,
                message=heard.message[:_MOST_CHARACTERS],
                count=heard.count,
                first=_when(tree, heard.first),
                last=_when(tree, heard.last),
                recovered=None if heard.over is None else _when(tree, heard.over),
            )
            for (code, subject), heard in found.items()
        ]
    )
