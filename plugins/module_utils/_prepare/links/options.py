# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""The options of the concern ``links``: how Ansible is to read them, and what they ask for."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import checked
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import request as links_request
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import Link, Selector
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import duration


def _dicts(options: Dict[str, Any], **others: Any) -> Dict[str, Any]:
    return {"type": "list", "elements": "dict", "default": [], "options": options, **others}


_STRINGS = {"type": "list", "elements": "str", "default": []}
_LINK = {
    "name": {"type": "str", "required": True},
    "hca": {"type": "str"},
    "port": {"type": "int"},
    "pci": {"type": "str"},
    "mac": {"type": "str"},
    "type": {"type": "str", "choices": ["auto", "ethernet", "infiniband"], "default": "auto"},
    "addresses": _STRINGS,
    "mtu": {"type": "int"},
    "transport_mode": {"type": "str", "choices": ["datagram", "connected"]},
    # Of P_Keys there is nothing secret, whatever the name.
    "pkeys": _dicts(
        {"pkey": {"type": "str", "required": True, "no_log": False}, "addresses": _STRINGS, "mtu": {"type": "int"}},
        no_log=False,
    ),
    "vlans": _dicts({"id": {"type": "int", "required": True}, "addresses": _STRINGS, "mtu": {"type": "int"}}),
    "routes": _dicts(
        {
            "to": {"type": "str", "required": True},
            "via": {"type": "str"},
            "metric": {"type": "int"},
            "table": {"type": "int"},
        }
    ),
    "rail_table": {"type": "int"},
    "vfs": {"type": "int"},
    "vf_guids": _STRINGS,
}


SPEC: Dict[str, Any] = {
    "links": _dicts(_LINK),
    "unmanaged": _dicts({"pci": {"type": "str"}, "mac": {"type": "str"}}),
    "rollback_seconds": {"type": "int", "default": 60},
    "confirm": {"type": "str"},
    "root": {"type": "path", "default": "/"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


class LinkRequest(NamedTuple):
    """What a module call wants. ``transaction`` is whether NetworkManager rolls back without a confirmation."""

    links: Sequence[Link] = ()
    unmanaged: Sequence[Selector] = ()
    rollback_seconds: int = 60
    transaction: bool = True


def request(options: Mapping[str, Any]) -> LinkRequest:
    """What the options, read as SPEC says, ask for.

    :raises HostError: one of them is wrong.
    """
    if options["state"] == "absent":
        return LinkRequest(transaction=False)
    return LinkRequest(
        links=links_request.parse(options["links"]),
        unmanaged=links_request.parse_unmanaged(options["unmanaged"]),
        rollback_seconds=checked("rollback_seconds", options["rollback_seconds"], duration.rollback_seconds),
    )
