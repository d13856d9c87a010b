# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: host_file
short_description: Name a file after a host
version_added: 1.0.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns the name of a host if that can be the name of a file. From another name, such as one with a slash, it makes
    a name with a digest.
  - No two hosts get the same name.
options:
  _input:
    description: A name of the inventory, such as C(inventory_hostname).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Write the facts of each host
  ansible.builtin.copy:
    content: "{{ ansible_facts['rdma'] | to_nice_json }}\n"
    dest: "facts/{{ inventory_hostname | zerocopy.rdma.host_file }}.json"
    mode: "0644"
  delegate_to: localhost
"""

RETURN = r"""
_value:
  description: The name of a file, without a directory and without an ending.
  type: str
  sample: h100-01
"""

from typing import Any, Callable, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.host_file import host_file


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"host_file": host_file}
