# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The systemd unit of the plugin that injects RDMA devices (systemd.exec(5), systemd.service(5))."""

from __future__ import annotations

import os

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import output

NAME = "zerocopy-rdma-inject.service"
PROGRAM = "/usr/local/libexec/zerocopy-rdma/inject.pyz"
CONFIG = "/etc/zerocopy-rdma/inject.json"
PATH = f"/etc/systemd/system/{NAME}"
# What `systemctl enable` makes of WantedBy.
ENABLED = f"/etc/systemd/system/multi-user.target.wants/{NAME}"
STATUS = "/run/zerocopy-rdma-inject/status.json"

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
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
DevicePolicy=closed
RestrictAddressFamilies=AF_UNIX AF_NETLINK
IPAddressDeny=any
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
{writable}
[Install]
WantedBy=multi-user.target
"""


def text(interpreter: str, metrics: str) -> str:
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
        interpreter=interpreter, program=PROGRAM, config=CONFIG, capabilities=capabilities, writable=writable
    )
