# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: manifests
short_description: Convert Kubernetes objects to a file of manifests
version_added: 1.0.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Converts objects to the text of a YAML file with one document per object. Their order, and the names of
    ResourceClaims and ResourceClaimTemplates, are the same as with M(zerocopy.rdma.applyset).
options:
  _input:
    description: The objects.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Write the claims to a repository
  ansible.builtin.copy:
    content: "{{ (ansible_play_hosts_all | zerocopy.rdma.claims(hostvars)).objects | zerocopy.rdma.manifests }}"
    dest: manifests/claims.yml
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
_value:
  description: Text of the file.
  type: str
"""

from typing import Any, Callable, Dict, List

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _manifest_files


def manifests(objects: List[Dict[str, Any]]) -> str:
    try:
        return _manifest_files.content(objects)
    except ClusterError as error:
        raise AnsibleFilterError(f"manifests: {error}") from error


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"manifests": manifests}
