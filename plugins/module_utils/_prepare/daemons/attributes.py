# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemon of DRANET's attributes: its options and unit (systemd.exec(5), systemd.service(5))."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import converge as daemons
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.daemon import (
    DaemonRequest,
    NodeDaemon,
    beside,
    configured,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.program import (
    HARDENED,
    RESTRICTED,
    interpreter,
    program,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.program import SPEC as _SHARED
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import (
    configuration,
    devices,
    names,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes.configuration import (
    ConfigurationError,
)

DAEMON = NodeDaemon(
    concern=names.DAEMON,
    unit=names.UNIT,
    program="/usr/local/libexec/zerocopy-rdma/attributes.pyz",
    config="/etc/zerocopy-rdma/attributes.json",
    at_start=(),
    rereads=True,
)
SPEC: Dict[str, Dict[str, Any]] = {
    "devices": {"type": "dict", "default": {}},
    "untold": {"type": "dict", "default": {}},
    "keep": {"type": "bool", "default": False},
    **{name: _SHARED[name] for name in ("interpreter", "digest", "program", "root", "state")},
}
# The directory of the socket stays when the daemon ends: pods of DRANET have mounted it, and would go on with one that
# nobody sees. It needs root only because the directory is root's, and none of its capabilities.
_TEXT = """\
# Written by zerocopy.rdma. Changes are lost; use a drop-in.
[Unit]
Description=Rail, leaf, rate and link layer of NICs, which DRANET publishes (webhook of zerocopy.rdma)
# When a node boots, DRANET starts when its questions are answered.
Before=kubelet.service k3s.service k3s-agent.service rke2-server.service rke2-agent.service
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={interpreter} -I {program} --config {config} --socket {socket}
WatchdogSec=60
WatchdogSignal=SIGKILL
Restart=always
RestartSec=1
TimeoutStartSec=60
TimeoutStopSec=10
RuntimeDirectory={directory}
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
UMask=0077
MemoryMax=128M
TasksMax=64
CapabilityBoundingSet=
{hardened}RestrictAddressFamilies=AF_UNIX
IPAddressDeny=any
PrivateNetwork=yes
RestrictNamespaces=yes
{restricted}MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""


def unit(python: str) -> str:
    """The unit for this Python, a normal absolute path without anything to quote."""
    return _TEXT.format(
        interpreter=python,
        program=DAEMON.program,
        config=DAEMON.config,
        socket=names.SOCKET,
        directory=names.DIRECTORY[len("/run/") :],
        hardened=HARDENED,
        restricted=RESTRICTED,
    )


def request(options: Mapping[str, Any]) -> Optional[DaemonRequest]:
    """What these options ask for, ``None`` for nothing (``state: absent``).

    :raises HostError: one of them is wrong.
    """
    if options["state"] == "absent":
        return None
    sent = program(options)
    try:
        planned = configuration.checked(options["devices"])
    except ConfigurationError as error:
        raise HostError(str(error)) from error
    present: configuration.Devices = configured(
        DAEMON, Files(options["root"]), configuration.read, ConfigurationError, {}
    )
    planned = devices.kept(planned, present, options["untold"])
    if options["keep"]:
        planned = devices.joined(planned, present)
    return DaemonRequest(DAEMON, options["digest"], sent, {"devices": planned}, unit(interpreter(options)))


def converge(options: Mapping[str, Any], check: bool, runner: Runner = run) -> Dict[str, Any]:
    """Bring the node to these options (read as ``SPEC`` says), or report the differences.

    Returns the result, in which ``attributes`` has what is said of it alone: another daemon may be wanted as well.

    :raises HostError: an option is wrong (nothing was changed then), or the daemon does not start.
    """
    wanted = request(options)
    found = daemons.carry_out(DAEMON, Files(options["root"]), wanted, check, runner)
    return beside(DAEMON, found, wanted is not None)
