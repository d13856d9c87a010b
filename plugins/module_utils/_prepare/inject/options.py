# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The options of ``inject_plugin``: their specification, and the files that they ask for."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gpu, selection
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError, checked
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.inject import unit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import (
    ConfigurationError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import directory, memlock

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
    "gpu_vendors": {"type": "list", "elements": "str", "default": list(gpu.DEFAULT_VENDORS)},
    "gpu_classes": {"type": "list", "elements": "str", "default": list(gpu.DEFAULT_CLASSES)},
    "allow_software": {"type": "bool", "default": False},
    "socket": {"type": "str", "default": "/var/run/nri/nri.sock"},
    "interpreter": {"type": "str"},
    "digest": {"type": "str"},
    "program": {"type": "str"},
    "await_seconds": {"type": "int", "default": 30},
    "root": {"type": "path", "default": "/"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
_CONFIGURED = (
    *("policy", "namespaces", "missing", "exclude", "umad", "environment", "metrics", "log_level", "socket"),
    *("link_layer", "drivers", "gpu_vendors", "gpu_classes", "allow_software"),
)
# Of a node whose own Python nobody has asked, or where it is among files that the unit does not see.
_PYTHON = "/usr/bin/python3"
_HIDDEN = ("/home/", "/root/", "/run/user/")


@dataclass(frozen=True)
class InjectRequest:
    """``program`` is ``None`` where only its ``digest`` (SHA-256) is known, which is enough to compare.

    ``config`` is the content of its configuration file, ``seconds`` are those to wait until it is registered.
    """

    digest: str
    program: Optional[bytes]
    config: Mapping[str, Any]
    interpreter: str
    seconds: int = 30

    @property
    def socket(self) -> str:
        return str(self.config["socket"])

    def files(self, present: Files) -> List[File]:
        """The files as they should be. Without the program's content, one that is right is left as it is."""
        text = "" if self.program is None else self.program.decode("utf-8", "surrogateescape")
        if self.program is None:
            stored = present.stored(unit.PROGRAM)
            if stored is not None and hashlib.sha256(stored.content).hexdigest() == self.digest:
                text = stored.content.decode("utf-8", "surrogateescape")
        return [
            File(unit.PROGRAM, text, 0o755),
            File(unit.CONFIG, json.dumps(self.config, indent=1, sort_keys=True) + "\n"),
            File(unit.PATH, unit.text(self.interpreter, str(self.config["metrics"]))),
        ]


def _memlock(text: str) -> Any:
    if text == "0":
        return 0
    found = checked("memlock", text, memlock.limit, ", or '0' for no change")
    return "unlimited" if found == memlock.UNLIMITED else found


def _program(options: Mapping[str, Any]) -> Optional[bytes]:
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


def request(options: Mapping[str, Any]) -> Optional[InjectRequest]:
    """What these options of the module ask for, ``None`` for nothing (``state: absent``).

    :raises HostError: one of them is wrong.
    """
    if options["state"] == "absent":
        return None
    if not options["digest"]:
        raise HostError("digest is missing: the action plugin of this module has to add it")
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
    own = sys.executable if options["root"] == "/" and not _hidden(sys.executable) else _PYTHON
    interpreter = checked("interpreter", options["interpreter"] or own, directory.below_root)
    if _hidden(interpreter):
        raise HostError(
            f"interpreter is {interpreter!r}, it must not be below {', '.join(_HIDDEN)}, which the unit hides"
        )
    return InjectRequest(options["digest"], _program(options), config, interpreter, options["await_seconds"])
