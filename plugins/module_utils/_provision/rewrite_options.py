# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The options that modules which rewrite workloads have in common."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.requests import PodAsk, Wish


def options() -> Dict[str, Any]:
    """Their argument specification, as the fragment ``_rewrite`` documents it."""
    names = {"type": "list", "elements": "str", "default": []}
    table = {"type": "dict", "default": {}}
    request = {
        "name": {"type": "str", "required": True},
        **dict.fromkeys(("templates", "claims", "limits", "annotations", "environment"), table),
        "gpus": {"type": "int", "default": 0},
        "nics": {"type": "int", "default": 0},
        "capabilities": names,
        "namespace": {"type": "str", "default": ""},
        "host_network": {"type": "bool", "default": False},
        "gpu_resource": {"type": "str", "default": ""},
    }
    return {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "requests": {"type": "list", "elements": "dict", "default": [], "options": request},
        "choices": table,
        "resources": names,
        "gpu_resources": names,
    }


def wish(params: Mapping[str, Any]) -> Wish:
    """What these parameters ask for."""
    asks = [PodAsk(**ask) for ask in params["requests"]]
    choices = {name: [choice] if isinstance(choice, str) else choice for name, choice in params["choices"].items()}
    more = Names(params["resources"], params["gpu_resources"])
    return Wish(asks, choices, more, params.get("namespace") or "")
