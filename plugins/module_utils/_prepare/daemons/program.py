# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What all daemons have in common: options, the program that the controller sends, Python, and a hardened unit."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import sys
from typing import Any, Dict, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gpu
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import absent
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError, checked
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import directory

# Options of each, beside its own.
SPEC: Dict[str, Dict[str, Any]] = {
    "gpu_vendors": {"type": "list", "elements": "str", "default": list(gpu.DEFAULT_VENDORS)},
    "gpu_classes": {"type": "list", "elements": "str", "default": list(gpu.DEFAULT_CLASSES)},
    "interpreter": {"type": "str"},
    "digest": {"type": "str"},
    "program": {"type": "str"},
    **absent.SPEC,
}
# No daemon but the exporter reads the kernel's log.
NO_KERNEL_LOG = "ProtectKernelLogs=yes\n"
# Of a unit (systemd.exec(5)): what none of the daemons needs.
HARDENED = f"""\
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
{NO_KERNEL_LOG}ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
DevicePolicy=closed
"""
RESTRICTED = """\
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
"""
_PYTHON = "/usr/bin/python3"
_HIDDEN = ("/home/", "/root/", "/run/user/")


def program(options: Mapping[str, Any]) -> Optional[bytes]:
    """The program, ``None`` where only its digest is known.

    :raises HostError: it is not what the digest says.
    """
    if not options["digest"]:
        raise HostError("digest is missing: the controller has to add it")
    if not options["program"]:
        return None
    try:
        content = base64.b64decode(options["program"], validate=True)
    except (ValueError, binascii.Error) as error:
        raise HostError(f"program is not base64: {error}") from error
    if hashlib.sha256(content).hexdigest() != options["digest"]:
        raise HostError("program does not have the SHA-256 digest of the option digest")
    return content


def _hidden(interpreter: str) -> bool:
    return not interpreter or any(path.startswith(_HIDDEN) for path in (interpreter, os.path.realpath(interpreter)))


def interpreter(options: Mapping[str, Any]) -> str:
    """The Python that runs the daemon.

    :raises HostError: the unit would hide it.
    """
    own = sys.executable if options["root"] == "/" and not _hidden(sys.executable) else _PYTHON
    found: str = checked("interpreter", options["interpreter"] or own, directory.below_root)
    if _hidden(found):
        raise HostError(f"interpreter is {found!r}, it must not be below {', '.join(_HIDDEN)}, which the unit hides")
    return found
