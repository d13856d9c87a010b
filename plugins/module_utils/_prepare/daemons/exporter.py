# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The exporter of metrics: its options and unit (systemd.exec(5), systemd.service(5))."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import kernel_log
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import configuration, pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import (
    Configuration,
    ConfigurationError,
    Rail,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import converge as daemons
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.daemon import (
    DaemonRequest,
    NodeDaemon,
    beside,
    configured,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.program import (
    HARDENED,
    NO_KERNEL_LOG,
    RESTRICTED,
    interpreter,
    program,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.program import SPEC as _SHARED
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError, checked
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import directory
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

DAEMON = NodeDaemon(
    concern="exporter",
    unit="zerocopy-rdma-exporter.service",
    program="/usr/local/libexec/zerocopy-rdma/exporter.pyz",
    config="/etc/zerocopy-rdma/exporter.json",
    at_start=Configuration._fields,
)
SPEC: Dict[str, Dict[str, Any]] = {
    "host": {"type": "str", "default": ""},
    "group": {"type": "str", "default": ""},
    "directory": {"type": "str", "default": ""},
    "listen": {"type": "str", "default": ""},
    "interval": {"type": "int", "default": 15},
    "rails": {"type": "list", "elements": "dict", "default": []},
    "keep": {"type": "bool", "default": False},
    "rate_gbps": {"type": "float", "default": 0.0},
    # The one that runs the pods, and its socket, which ``concerns`` finds on the node.
    "runtime": {"type": "str", "choices": ["auto", "containerd", "k3s", "rke2", "crio", "none"], "default": "auto"},
    "runtime_socket": {"type": "str", "default": ""},
    **_SHARED,
}
# CAP_SYS_ADMIN, two namespaces and mount: it enters the network namespaces of pods, and mounts their sysfs for itself.
# CAP_SYSLOG and one device: it reads the kernel's log, which kernel.dmesg_restrict keeps from others (printk.c).
_TEXT = """\
[Unit]
Description=Metrics of RDMA ports, and of the pods that hold them (exporter of zerocopy.rdma)
After=network.target

[Service]
Type=notify
NotifyAccess=main
ExecStart={interpreter} -I {program} --config {config}
WatchdogSec=60
WatchdogSignal=SIGKILL
Restart=always
RestartSec=5
TimeoutStartSec=60
TimeoutStopSec=10
UMask=0022
Nice=10
MemoryMax=128M
TasksMax=64
CapabilityBoundingSet={capabilities}
{hardened}DeviceAllow={log} r
RestrictAddressFamilies={families}
{network}RestrictNamespaces=net mnt
{restricted}SystemCallArchitectures=native
SystemCallFilter=@system-service @mount
SystemCallErrorNumber=EPERM
{writable}
[Install]
WantedBy=multi-user.target
"""


def unit(python: str, written: str) -> str:
    """The unit for this Python, which writes to the directory ``written``, or listens where that is empty.

    Both are normal absolute paths without anything to quote.
    """
    path = os.path.join(written, configuration.FILE_NAME)
    # The directory is node_exporter's, who often owns it. What a killed exporter has left would be shown for ever.
    removed = f"ReadWritePaths=-{written}\nExecStopPost=-/bin/rm -f {path} {path}.tmp\n"
    return _TEXT.format(
        interpreter=python,
        program=DAEMON.program,
        config=DAEMON.config,
        capabilities="CAP_SYS_ADMIN CAP_SYSLOG" + (" CAP_DAC_OVERRIDE" if written else ""),
        families="AF_UNIX AF_NETLINK" if written else "AF_UNIX AF_NETLINK AF_INET AF_INET6",
        network="IPAddressDeny=any\n" if written else "",
        hardened=HARDENED.replace(NO_KERNEL_LOG, ""),
        log=kernel_log.PATH,
        restricted=RESTRICTED,
        writable=removed if written else "",
    )


def joined(planned: Sequence[Mapping[str, Any]], present: Sequence[Rail]) -> List[Dict[str, Any]]:
    """The planned rails with what was known of those whose NIC a pod has now, which is the pod's rail all the same.

    Nothing is kept of a port that is another rail by now.
    """
    known = {(rail.name, rail.hca, rail.port): rail.pci for rail in present}
    found = [
        {**rail, "pci": rail["pci"] or known.get((rail["name"], rail["hca"], rail["port"]), "")} for rail in planned
    ]
    names = {rail["name"] for rail in found}
    taken = {(rail[key], rail["port"]) for rail in found for key in ("hca", "pci") if rail[key]}
    found += [
        rail._asdict()
        for rail in present
        if rail.name not in names and not taken.intersection([(rail.hca, rail.port), (rail.pci, rail.port)])
    ]
    return sorted(found, key=lambda rail: natural_key(rail["name"]))


def _needs_telling(socket: str) -> bool:
    """Whether the exporter may ask another runtime if it does not know the socket."""
    return socket.startswith("/") and socket.replace("/var/run/", "/run/") != pods.SOCKETS[0]


def request(options: Mapping[str, Any]) -> Optional[DaemonRequest]:
    """What these options ask for, ``None`` for nothing (``state: absent``).

    :raises HostError: one of them is wrong.
    """
    if options["state"] == "absent":
        return None
    sent = program(options)
    config = {name: options[name] for name in Configuration._fields}
    if not _needs_telling(options["runtime_socket"]):
        del config["runtime_socket"]
    if options["keep"]:
        present = configured(DAEMON, Files(options["root"]), configuration.read, ConfigurationError, Configuration())
        config["rails"] = joined(config["rails"], present.rails)
    if config["directory"]:
        config["directory"] = checked("directory", config["directory"], directory.below_root)
    try:
        # By the rules of the program, so that it never finds a file that it rejects.
        configuration.read(json.dumps(config))
    except ConfigurationError as error:
        raise HostError(str(error)) from error
    text = unit(interpreter(options), str(config["directory"]))
    return DaemonRequest(DAEMON, options["digest"], sent, config, text)


def _refuse_lost_directory(files: Files, wanted: Optional[DaemonRequest]) -> None:
    """:raises HostError: nothing reads the directory, as it is not there."""
    path = str(wanted.config["directory"]) if wanted and files.live else ""
    if path and not os.path.isdir(files.full(path)):
        right = "which is no directory: set it to that of node_exporter's --collector.textfile.directory, or create it"
        raise HostError(f"directory is {path!r}, {right}")


def converge(options: Mapping[str, Any], check: bool, runner: Runner = run) -> Dict[str, Any]:
    """Bring the node to these options (read as ``SPEC`` says), or report the differences.

    Returns the result, in which ``exporter`` has what is said of it alone: another daemon may be wanted as well.

    :raises HostError: an option is wrong (nothing was changed then), or the exporter does not start.
    """
    files, wanted = Files(options["root"]), request(options)
    _refuse_lost_directory(files, wanted)
    return beside(DAEMON, daemons.carry_out(DAEMON, files, wanted, check, runner), wanted is not None)
