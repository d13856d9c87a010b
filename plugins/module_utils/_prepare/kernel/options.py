# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The options of the concern ``kernel``: how Ansible is to read them, and what they ask for."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.intent import (
    DEFAULT_NAME,
    KernelIntent,
    intent,
)

SPEC: Dict[str, Any] = {
    "modules": {"type": "list", "elements": "str", "default": []},
    "options": {"type": "dict", "default": {}},
    "blacklist": {"type": "list", "elements": "str", "default": []},
    "netns_mode": {"type": "str", "choices": ["shared", "exclusive"]},
    "user_memlock": {"type": "str"},
    "update_initramfs": {"type": "bool", "default": False},
    "name": {"type": "str", "default": DEFAULT_NAME},
    "root": {"type": "path", "default": "/"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
_WANTED = ("modules", "options", "blacklist", "netns_mode", "user_memlock")


def request(options: Mapping[str, Any]) -> KernelIntent:
    """What the options, read as SPEC says, ask for.

    :raises HostError: one of them is wrong.
    """
    names = ["name", "update_initramfs"]
    if options["state"] == "present":
        names += _WANTED
    return intent(**{name: options[name] for name in names})
