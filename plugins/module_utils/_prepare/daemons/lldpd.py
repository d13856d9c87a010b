# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""lldpd of the distribution, which hears the switches at RDMA ports and sends nothing (lldpd(8), lldpcli(8)).

Its configuration is written before its package is installed: Debian's starts it at once, and without this file it would
send on every NIC. lldpd has read all its files before it sends anything (``lldpd_configure`` in src/daemon/lldpd.c).

One that somebody else has configured, or that runs without us, is left as it is.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import absent
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.daemon import NodeDaemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.service import DaemonService, DaemonState
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

DAEMON = NodeDaemon(
    concern="lldpd",
    unit="lldpd.service",
    program="/usr/sbin/lldpd",
    config="/etc/lldpd.d/zerocopy-rdma.conf",
    at_start=(),
)
# Debian and its derivatives, RHEL and its derivatives, SUSE.
PACKAGE = "lldpd"
VARIABLE = "rdma_cabling_lldpd"
SPEC: Dict[str, Dict[str, Any]] = {
    "netdevs": {"type": "list", "elements": "str"},
    **absent.SPEC,
}
_PATTERN = "configure system interface pattern "
_TEXT = """\
# Written by zerocopy.rdma. Changes are lost.
{pattern}{netdevs}
configure lldp status rx-only
"""
# What neither ends a word for lldpcli nor means something in a pattern (lldpcli(8)).
_NAME = re.compile(r"[A-Za-z0-9_.@-]+")
# Where the units of Debian and RHEL have the arguments from. lldpd.conf is lldpd's own.
_ARGUMENTS = {"/etc/default/lldpd": "DAEMON_ARGS", "/etc/sysconfig/lldpd": "LLDPD_OPTIONS"}
_CONFIG, _DIRECTORY, _DROP_INS = "/etc/lldpd.conf", "/etc/lldpd.d", f"/etc/systemd/system/{DAEMON.unit}.d"
_RESTART = "restart"


def text(netdevs: Sequence[str]) -> str:
    """The configuration for these netdevs."""
    return _TEXT.format(pattern=_PATTERN, netdevs=",".join(netdevs))


def _written(files: Files) -> List[str]:
    """The netdevs in the file of an earlier run."""
    lines = (files.text(DAEMON.config) or "").splitlines()
    found = [line[len(_PATTERN) :].split(",") for line in lines if line.startswith(_PATTERN)]
    return [name for names in found for name in names if _NAME.fullmatch(name)]


def _netdevs(files: Files, asked: Optional[Sequence[str]]) -> List[str]:
    """Those asked for, and those that are away, perhaps in a pod. All of an earlier run where nobody knows."""
    old = _written(files)
    if asked is None:
        return old
    away = [name for name in old if not files.exists(f"/sys/class/net/{name}")]
    return sorted({*away, *(name for name in asked if _NAME.fullmatch(name))})


def _says_something(content: Optional[str]) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in (content or "").splitlines())


def _of_others(files: Files) -> List[str]:
    """Files in which somebody else has configured lldpd; what packages ship has comments only."""
    names = [f"{_DIRECTORY}/{name}" for name in files.names(_DIRECTORY) if name.endswith(".conf")]
    found = [path for path in (_CONFIG, *names) if path != DAEMON.config and _says_something(files.text(path))]
    for path, variable in _ARGUMENTS.items():
        if re.search(rf"^\s*{variable}=[\"']?[^\"'\s]", files.text(path) or "", re.M):
            found.append(path)
    found += [f"{_DROP_INS}/{name}" for name in files.names(_DROP_INS) if name.endswith(".conf")]
    return [*found, DAEMON.unit_path] if files.exists(DAEMON.unit_path) else found


class _LldpdRun:
    def __init__(self, files: Files, options: Mapping[str, Any], ledger: Ledger, runner: Runner) -> None:
        self.files, self.ledger, self.runner = files, ledger, runner
        self.service = DaemonService(DAEMON, files, "", runner)
        self.state, self.unit = DaemonState(""), {"LoadState": "loaded", "UnitFileState": "enabled"}
        if files.live:
            self.state, self.unit = self.service.state(), self._unit()
        self.others, self.warnings = _of_others(files), []
        netdevs = _netdevs(files, options["netdevs"]) if options["state"] == "present" else []
        self._complain(options, netdevs)
        foreign = self._foreign() if netdevs and not self._ours else ""
        if foreign:
            self.warnings.append(f"{foreign}, so it is left as it is, and may also send")
        self.wanted = bool(netdevs) and not foreign
        self.changes = ledger.compare([File(DAEMON.config, text(netdevs))] if self.wanted else [])
        self.warnings += ledger.warnings
        if self.wanted and self.unit["LoadState"] == "masked":
            raise HostError(f"{DAEMON.unit} is masked: unmask it, or leave {VARIABLE} out")

    @property
    def _ours(self) -> bool:
        return bool(self.ledger.known or self.ledger.notes)

    def _complain(self, options: Mapping[str, Any], netdevs: Sequence[str]) -> None:
        if options["state"] == "present":
            odd = [name for name in options["netdevs"] or [] if not _NAME.fullmatch(name)]
            self.warnings += [f"lldpd is not told of {name!r}, which no pattern of it can name" for name in odd]
            if not netdevs:
                self.warnings.append(f"{VARIABLE} is set, but this node has no Ethernet port for lldpd to listen on")
            elif self._ours and self.others:
                self.warnings.append(f"{', '.join(self.others)} configures lldpd as well, perhaps to send")

    def _unit(self) -> Dict[str, str]:
        names = ("LoadState", "UnitFileState")
        said = self.service.properties(names)
        return {name: said.get(name, "") for name in names}

    def _foreign(self) -> str:
        """Why it is somebody else's, empty if it is nobody's."""
        if self.others:
            return f"lldpd is configured by {', '.join(self.others)}"
        if not self.files.live:
            return ""
        if self.unit["LoadState"] == "masked":
            return f"{DAEMON.unit} is masked"
        if self.state.running or self._enabled:
            return f"{DAEMON.unit} {'runs' if self.state.running else 'is enabled'} already, not by this collection"
        return ""

    @property
    def _enabled(self) -> bool:
        return self.unit["UnitFileState"] == "enabled"

    @property
    def _lacking(self) -> bool:
        return self.wanted and self.unit["LoadState"] == "not-found"

    def _steps(self) -> List[Change]:
        """What is to be done with the unit, on a live node."""
        if not self.files.live:
            return []
        running = self.state.running
        found: List[Change] = []
        if self.wanted:
            if not self._enabled:
                found.append(Change("unit", DAEMON.unit, "disabled", "enabled"))
            if not running or self.changes or self.ledger.notes.get("pending"):
                words = ("running", "restarted") if running else ("stopped", "started")
                found.append(Change("service", DAEMON.unit, *words))
        # Whoever has configured it since wants it.
        elif self._ours and not self.others:
            if self._enabled:
                found.append(Change("unit", DAEMON.unit, "enabled", "disabled"))
            if running:
                found.append(Change("service", DAEMON.unit, "running", "stopped"))
        elif self._ours and running:
            self.warnings.append(f"{DAEMON.unit} is left running, since {', '.join(self.others)} configures it")
        return found

    def outcome(self, check: bool) -> Dict[str, Any]:
        steps = self._steps()
        told = [change.change for change in self.changes]
        if self._lacking and check:
            told.append(Change("package", PACKAGE, "absent", "present"))
        # Without its package there is no unit yet; the next call has the rest.
        if check or not self._lacking:
            told += steps
        if not check:
            self._act([] if self._lacking else steps)
        found = {**as_result(told, [change.texts for change in self.changes]), "warnings": self.warnings}
        if self.wanted or told:
            own = {"service": self.state.active} if self.files.live else {}
            lacking = PACKAGE if self._lacking else ""
            found[DAEMON.concern] = {"unit": DAEMON.unit, "package": lacking, **own, "changes": found["changes"]}
        return found

    def _act(self, steps: Sequence[Change]) -> None:
        if self.wanted and self.files.live and (self.changes or self._lacking):
            self.ledger.notes = {"pending": _RESTART}
        after = [step.after for step in steps]
        if "stopped" in after:
            self.service.stop()
        if "disabled" in after:
            must(self.runner(["systemctl", "disable", DAEMON.unit]), f"systemctl disable {DAEMON.unit}")
        self.ledger.apply(self.changes)
        if "enabled" in after:
            must(self.runner(["systemctl", "enable", DAEMON.unit]), f"systemctl enable {DAEMON.unit}")
        if {"started", "restarted"} & set(after):
            self.state = self.service.restart(0)
        elif "stopped" in after:
            self.state = self.service.state()
        if not self._lacking:
            self.ledger.notes = {}
        self.ledger.save()


def converge(
    options: Mapping[str, Any], check: bool, runner: Runner = run, files: Optional[Files] = None
) -> Dict[str, Any]:
    """Bring the node to these options (read as ``SPEC`` says), or report the differences.

    Returns the result, in which ``lldpd`` has what is said of it alone; ``package`` is what has to be installed before
    another call starts it.

    :raises HostError: the unit is masked, or does not start.
    """
    files = files or Files(options["root"])
    ledger = absent.ledger_of(files, DAEMON.concern)
    found = absent.nothing_of(ledger, check) if options["state"] == "absent" else None
    if found is not None:
        return found
    if check:
        return ledger.steady(lambda: _LldpdRun(files, options, ledger, runner).outcome(check))
    with ledger.locked():
        return _LldpdRun(files, options, ledger, runner).outcome(check)
