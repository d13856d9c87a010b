# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The options of the concern ``runtime``: their specification, and the request they make."""

from __future__ import annotations

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import values
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import CHOICES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.request import RuntimeRequest

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "runtime": {"type": "str", "choices": CHOICES, "default": "auto"},
    "request_timeout": {"type": "str", "default": "30s"},
    "registration_timeout": {"type": "str", "default": "30s"},
    "cdi": {"type": "bool", "default": True},
    "validator": {"type": "str", "choices": ["auto", "true", "false"], "default": "auto"},
    "memlock": {"type": "str", "default": "unlimited"},
    "memlock_handlers": {"type": "list", "elements": "str", "default": []},
    "restart": {"type": "bool", "default": True},
    "recover_sandboxes": {"type": "bool", "default": False},
    "await_plugins": {"type": "int", "default": 30},
    "root": {"type": "path", "default": "/"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


def request(params: Dict[str, Any], check: bool) -> RuntimeRequest:
    """The request of a module's parameters; ``check`` for check mode.

    :raises HostError: a timeout is not a duration, or a limit not a number of bytes.
    """
    if params["await_plugins"] < 0:
        raise HostError(f"await_plugins: {params['await_plugins']} must be a number of seconds, 0 or more")
    return RuntimeRequest(
        parts=_parts(params) if params["state"] == "present" else {},
        runtime=params["runtime"],
        restart=params["restart"],
        recover=params["recover_sandboxes"],
        await_plugins=params["await_plugins"],
        check=check,
    )


def _parts(params: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    parts: Dict[str, Dict[str, Any]] = {
        "nri": {
            "request_timeout": values.duration("request_timeout", params["request_timeout"]),
            "registration_timeout": values.duration("registration_timeout", params["registration_timeout"]),
            "cdi": params["cdi"],
            "validator": params["validator"],
        }
    }
    if params["memlock"]:
        handlers = sorted(set(params["memlock_handlers"]))
        parts["memlock"] = {"limit": values.limit(params["memlock"]), "handlers": handlers}
    return parts
