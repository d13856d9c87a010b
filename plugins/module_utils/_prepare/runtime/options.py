# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The options of the concern ``runtime``, the request that they make, and the outcome of a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, Texts, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError, checked
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import CHOICES, NONE
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import memlock
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.duration import of_nri


@dataclass(frozen=True)
class RuntimeRequest:
    """``parts`` are options by part, ``nri`` and ``memlock``; a missing part is reverted.

    ``nri``: ``request_timeout``, ``registration_timeout``, ``validator``. ``memlock``: ``limit`` in bytes and
    ``handlers``.
    """

    parts: Dict[str, Dict[str, Any]]
    runtime: str = "auto"
    restart: bool = True
    recover: bool = False
    check: bool = False


@dataclass
class RuntimeOutcome:
    """What was or, in check mode, would be done."""

    changes: List[Change] = field(default_factory=list)
    texts: List[Texts] = field(default_factory=list)
    facts: Dict[str, Any] = field(default_factory=dict)
    warnings: List[str] = field(default_factory=list)

    def result(self) -> Dict[str, Any]:
        """``changed``, ``changes``, ``diff`` and ``warnings``, with the facts beside them."""
        return {**as_result(self.changes, self.texts), **self.facts, "warnings": self.warnings}


ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "runtime": {"type": "str", "choices": [*CHOICES, NONE], "default": "auto"},
    "request_timeout": {"type": "str", "default": "30s"},
    "registration_timeout": {"type": "str", "default": "30s"},
    "validator": {"type": "str", "choices": ["auto", "true", "false"], "default": "auto"},
    "memlock": {"type": "str", "default": "unlimited"},
    "memlock_handlers": {"type": "list", "elements": "str", "default": []},
    "restart": {"type": "bool", "default": True},
    "recover_sandboxes": {"type": "bool", "default": False},
    "root": {"type": "path", "default": "/"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


def request(params: Dict[str, Any], check: bool) -> RuntimeRequest:
    """The request of a module's parameters; ``check`` for check mode.

    :raises HostError: a timeout is not a duration, or a limit not a number of bytes.
    """
    if params["runtime"] == NONE and params["state"] == "present":
        raise HostError("runtime: none is for state absent, which then restores files and restarts nothing")
    return RuntimeRequest(
        parts=_parts(params) if params["state"] == "present" else {},
        runtime=params["runtime"],
        restart=params["restart"],
        recover=params["recover_sandboxes"],
        check=check,
    )


def _duration(option: str, text: str) -> str:
    """The duration as given.

    :raises HostError: the runtime cannot give an NRI plugin as long.
    """
    checked(option, text, of_nri)
    return text


def _limit(value: str) -> int:
    """Bytes; ``unlimited`` is ``UNLIMITED``.

    :raises HostError: it is neither ``unlimited`` nor a number of bytes.
    """
    return checked("memlock", value, lambda value: memlock.limit(str(value).strip()))


def _parts(params: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    parts: Dict[str, Dict[str, Any]] = {
        "nri": {
            "request_timeout": _duration("request_timeout", params["request_timeout"]),
            "registration_timeout": _duration("registration_timeout", params["registration_timeout"]),
            "validator": params["validator"],
        }
    }
    if params["memlock"]:
        handlers = sorted(set(params["memlock_handlers"]))
        parts["memlock"] = {"limit": _limit(params["memlock"]), "handlers": handlers}
    return parts
