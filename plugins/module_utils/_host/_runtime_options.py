# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""What the modules of the concern ``runtime`` take, checked before anything is read."""

from __future__ import annotations

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._host import _runtime_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._host._errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._host._runtime_converge import Request

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
        "request_timeout": _runtime_values.duration("request_timeout", params["request_timeout"]),
        "registration_timeout": _runtime_values.duration("registration_timeout", params["registration_timeout"]),
        "cdi": params["cdi"],
        "validator": params["validator"],
    }
    return _request("nri", options, params, check)


def memlock(params: Dict[str, Any], check: bool) -> Request:
    """:raises HostError: the limit is no number of bytes."""
    options = {"limit": _runtime_values.limit(params["memlock"]), "handlers": sorted(set(params["handlers"]))}
    return _request("memlock", options, params, check)


def _request(part: str, options: Dict[str, Any], params: Dict[str, Any], check: bool) -> Request:
    if params["await_plugins"] < 0:
        raise HostError(f"await_plugins: {params['await_plugins']} must be a number of seconds, 0 or more")
    return Request(
        part=part,
        options=options if params["state"] == "present" else None,
        runtime=params["runtime"],
        restart=params["restart"],
        restart_pending=bool(params.get("restart_pending")),
        recover=params["recover_sandboxes"],
        await_plugins=params["await_plugins"],
        check=check,
    )
