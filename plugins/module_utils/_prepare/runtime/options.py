# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""What the modules of the concern ``runtime`` take, checked before anything is read."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import values
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.converge import Request

COMMON: Dict[str, Dict[str, Any]] = {
    "runtime": {"type": "str", "choices": ["auto", "containerd", "k3s", "rke2", "crio"], "default": "auto"},
    "restart": {"type": "bool", "default": True},
    "recover_sandboxes": {"type": "bool", "default": False},
    "await_plugins": {"type": "int", "default": 30},
    "root": {"type": "path", "default": "/"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


def nri(params: Dict[str, Any], check: bool) -> Request:
    """:raises HostError: a timeout is no duration."""
    options = {
        "request_timeout": values.duration("request_timeout", params["request_timeout"]),
        "registration_timeout": values.duration("registration_timeout", params["registration_timeout"]),
        "cdi": params["cdi"],
        "validator": params["validator"],
    }
    parts: Dict[str, Optional[Dict[str, Any]]] = {"nri": options}
    if params["memlock"] is not None:
        parts["memlock"] = _memlock(params["memlock"], params["memlock_handlers"]) if params["memlock"] else None
    return _request(parts, params, check)


def memlock(params: Dict[str, Any], check: bool) -> Request:
    """:raises HostError: the limit is no number of bytes."""
    return _request({"memlock": _memlock(params["memlock"], params["handlers"])}, params, check)


def _memlock(limit: str, handlers: List[str]) -> Dict[str, Any]:
    return {"limit": values.limit(limit), "handlers": sorted(set(handlers))}


def _request(parts: Mapping[str, Optional[Dict[str, Any]]], params: Dict[str, Any], check: bool) -> Request:
    if params["await_plugins"] < 0:
        raise HostError(f"await_plugins: {params['await_plugins']} must be a number of seconds, 0 or more")
    return Request(
        parts={part: options if params["state"] == "present" else None for part, options in parts.items()},
        runtime=params["runtime"],
        restart=params["restart"],
        recover=params["recover_sandboxes"],
        await_plugins=params["await_plugins"],
        check=check,
    )
