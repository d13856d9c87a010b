# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_part
short_description: Get one host's part of a plan for all hosts
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns one host's entry of a variable that has an entry for every host, without evaluating the other entries. A
    template would evaluate all entries on every host, which takes minutes with a large fleet.
options:
  _input:
    description: Variables of the host that has the plan as a fact, C(hostvars['localhost']).
    type: dict
    required: true
  name:
    description: Name of the variable, set by C(set_fact) from values without templates.
    type: str
    required: true
  host:
    description: Name of the host whose entry to return.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the tests of this host
  ansible.builtin.debug:
    msg: "{{ hostvars['localhost'] | zerocopy.rdma.verify_part('plan', inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: The host's entry.
  type: raw
"""

from typing import Any, Callable, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory


def verify_part(variables: Mapping[str, Any], name: str, host: str) -> Any:
    return _inventory.raw(variables, name)[host]


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"verify_part": verify_part}
