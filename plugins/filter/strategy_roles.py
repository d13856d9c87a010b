# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: strategy_roles
short_description: Return the roles that apply and remove strategies
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns the roles of all strategies (C(rdma_strategy)), also of those that no group has, in the order in which they
    are applied. They are removed in the opposite order.
positional: ""
options:
  _input:
    description:
      - V(drivers) for the roles that deploy drivers and device plugins, V(claims) for the roles that apply what pods
        claim, V(sets) for all of these roles that have a set of objects (M(zerocopy.rdma.applyset)).
    type: str
    choices: [drivers, claims, sets]
    required: true
"""

EXAMPLES = r"""
- name: Show the roles
  ansible.builtin.debug:
    msg: "{{ 'drivers' | zerocopy.rdma.strategy_roles }}"
"""

RETURN = r"""
_value:
  description: Full names of the roles.
  type: list
  elements: str
  sample: [zerocopy.rdma.rdma_driver, zerocopy.rdma.rdma_shared_device]
"""

from typing import Any, Callable, Dict, List

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry

_PARTS: Dict[str, Callable[[], List[str]]] = {
    "drivers": registry.driver_roles,
    "claims": registry.claim_roles,
    "sets": registry.set_roles,
}


def strategy_roles(part: str) -> List[str]:
    if part not in _PARTS:
        raise AnsibleFilterError(f"strategy_roles: the input is {part!r}, it must be one of {', '.join(_PARTS)}")
    return [f"zerocopy.rdma.{role}" for role in _PARTS[part]()]


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"strategy_roles": strategy_roles}
