# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemon of the strategy ``inject``: its options and unit (systemd.exec(5), systemd.service(5)).

It is an NRI plugin that gives containers RDMA devices.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import selection
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import converge as daemons
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.daemon import DaemonRequest, NodeDaemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.program import (
    HARDENED,
    RESTRICTED,
    interpreter,
    program,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.program import SPEC as _SHARED
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError, checked
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import configuration, output
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import (
    ConfigurationError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import directory, memlock, writing

DAEMON = NodeDaemon(
    concern="inject",
    unit="zerocopy-rdma-inject.service",
    program="/usr/local/libexec/zerocopy-rdma/inject.pyz",
    config="/etc/zerocopy-rdma/inject.json",
    status="/run/zerocopy-rdma-inject/status.json",
    at_start=("socket", "metrics"),
    reported=("runtime", "config_error", "injected", "refused", "last_refusal"),
)
SPEC: Dict[str, Dict[str, Any]] = {
    "policy": {"type": "str", "choices": ["annotated", "gpu_containers"], "default": "annotated"},
    "namespaces": {"type": "list", "elements": "str", "default": []},
    "missing": {"type": "str", "choices": ["refuse", "start"], "default": "refuse"},
    "exclude": {"type": "list", "elements": "str", "default": []},
    "link_layer": {"type": "str", "choices": list(configuration.LAYERS), "default": configuration.ANY_LAYER},
    "umad": {"type": "bool", "default": False},
    "memlock": {"type": "str", "default": "unlimited"},
    "environment": {"type": "bool", "default": True},
    "metrics": {"type": "str", "default": ""},
    "log_level": {"type": "str", "choices": ["debug", "info", "warning", "error"], "default": "info"},
    "drivers": {"type": "list", "elements": "str", "default": list(selection.DEFAULT_DRIVERS)},
    "allow_software": {"type": "bool", "default": False},
    "socket": {"type": "str", "default": "/var/run/nri/nri.sock"},
    "await_seconds": {"type": "int", "default": 30},
    **_SHARED,
}
_CONFIGURED = (
    *("policy", "namespaces", "missing", "exclude", "umad", "environment", "metrics", "log_level", "socket"),
    *("link_layer", "drivers", "gpu_vendors", "gpu_classes", "allow_software"),
)
# Of a node whose own Python nobody has asked, or where it is among files that the unit does not see.
# PrivateNetwork would show it a /sys without the NICs' netdevs. Of the network it gets netlink, which tells about RDMA
# devices, and no IP. It only looks at device nodes, and needs root only to connect to the runtime's socket, without any
# of its capabilities.
_TEXT = """\
# Written by zerocopy.rdma. Changes are lost; use a drop-in.
[Unit]
Description=RDMA devices for containers, beside their GPUs (NRI plugin of zerocopy.rdma)
After=containerd.service crio.service k3s.service k3s-agent.service rke2-server.service rke2-agent.service
# When a node boots, pods start when the plugin is registered.
Before=kubelet.service
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={interpreter} -I {program} --config {config}
ExecReload=/bin/kill -HUP $MAINPID
WatchdogSec=60
WatchdogSignal=SIGKILL
Restart=always
RestartSec=1
TimeoutStartSec=300
TimeoutStopSec=10
RuntimeDirectory=zerocopy-rdma-inject
UMask=0022
MemoryMax=128M
TasksMax=32
CapabilityBoundingSet={capabilities}
{hardened}RestrictAddressFamilies=AF_UNIX AF_NETLINK
IPAddressDeny=any
RestrictNamespaces=yes
{restricted}MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
{writable}
[Install]
WantedBy=multi-user.target
"""


def unit(interpreter: str, metrics: str) -> str:
    """The unit for this Python, with a writable directory for ``metrics`` unless that is empty.

    Both are normal absolute paths without anything to quote.
    """
    writable = capabilities = ""
    if metrics:
        # The directory is node_exporter's, who often owns it as well. With - it is no error if there is none yet, and
        # neither if a plugin that was killed has left nothing: its last values would be shown for ever.
        capabilities = "CAP_DAC_OVERRIDE"
        writable = f"ReadWritePaths=-{os.path.dirname(metrics)}\n"
        writable += f"ExecStopPost=-/bin/rm -f {metrics} {output.temporary(metrics)}\n"
    return _TEXT.format(
        interpreter=interpreter,
        program=DAEMON.program,
        config=DAEMON.config,
        capabilities=capabilities,
        writable=writable,
        hardened=HARDENED,
        restricted=RESTRICTED,
    )


def _memlock(text: str) -> Any:
    if text == "0":
        return 0
    found = checked("memlock", text, memlock.limit, ", or '0' for no change")
    return "unlimited" if found == memlock.UNLIMITED else found


def request(options: Mapping[str, Any]) -> Optional[DaemonRequest]:
    """What these options of the module ask for, ``None`` for nothing (``state: absent``).

    :raises HostError: one of them is wrong.
    """
    if options["state"] == "absent":
        return None
    sent = program(options)
    config = {name: options[name] for name in _CONFIGURED}
    config["memlock"] = _memlock(options["memlock"])
    config["socket"] = checked("socket", options["socket"], directory.below_root)
    if options["metrics"]:
        config["metrics"] = checked("metrics", options["metrics"], directory.below_root)
    try:
        # By the rules of the program, so that it never finds a file that it rejects.
        config["exclude"] = list(configuration.read(json.dumps(config), {}, {}).exclude)
    except ConfigurationError as error:
        raise HostError(str(error)) from error
    text = unit(interpreter(options), str(config["metrics"]))
    return DaemonRequest(DAEMON, options["digest"], sent, config, text, options["await_seconds"])


def _refuse_foreign_metrics(files: Files, wanted: Optional[DaemonRequest]) -> None:
    """:raises HostError: the metrics would replace a file of somebody else."""
    path = str(wanted.config["metrics"]) if wanted else ""
    if not path:
        return
    directory, name = os.path.split(path)
    try:
        ours = output.is_ours(writing.text(os.path.join(files.full(directory), name)))
    except OSError as error:
        raise HostError(f"metrics is {path!r}, which {error.strerror}: remove it, or set another path") from error
    if not ours:
        right = "but this file has something other than the plugin's metrics: remove it, or set another path"
        raise HostError(f"metrics is {path!r}, {right}")


def converge(options: Mapping[str, Any], check: bool, runner: Runner = run) -> Dict[str, Any]:
    """Bring the node to these options of ``inject_plugin`` (read as ``SPEC`` says), or report the differences.

    Returns the module's result.

    :raises HostError: an option is wrong (nothing was changed then), or the plugin does not work.
    """
    return carry_out(Files(options["root"]), request(options), check, runner)


def carry_out(files: Files, wanted: Optional[DaemonRequest], check: bool, runner: Runner = run) -> Dict[str, Any]:
    """The same for what is wanted of the node below ``files``, ``None`` for nothing."""
    _refuse_foreign_metrics(files, wanted)
    return daemons.carry_out(DAEMON, files, wanted, check, runner)
