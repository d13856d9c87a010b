#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: object_fields
short_description: Apply some fields of a Kubernetes object that others manage as well
version_added: 0.1.0
description:
  - Applies the fields in O(object) by server-side apply with strict field validation, and leaves all other fields as
    they are. Creates the object if it does not exist.
  - Fails before it changes anything if another field manager has set one of these fields to another value.
  - For objects that you manage as a whole, use M(zerocopy.rdma.applyset).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  object:
    description:
      - C(apiVersion), C(kind), C(metadata.name), C(metadata.namespace) if the kind is namespaced, and the fields to
        apply. Fields that an earlier call with the same O(field_manager) applied and that are missing now are removed,
        unless other field managers have set them as well.
    type: dict
    required: true
  field_manager:
    description:
      - Name under which the API server records who manages these fields. Callers that apply different fields of one
        object need different names.
    type: str
    required: true
  without:
    description:
      - Fields, such as V(spec.sriovDevicePlugin), that the object must not have afterwards. If another field manager
        has set one of them, the call fails before it changes anything.
    type: list
    elements: str
    default: []
  state:
    description:
      - With V(absent), all fields of O(field_manager) are removed, and the object is deleted if no other field manager
        has a field of it. Of O(object), only C(apiVersion), C(kind), C(metadata.name) and C(metadata.namespace) are
        used.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: zerocopy.rdma.applyset
"""

EXAMPLES = r"""
- name: Have the NVIDIA Network Operator run Multus
  zerocopy.rdma.object_fields:
    object:
      apiVersion: mellanox.com/v1alpha1
      kind: NicClusterPolicy
      metadata: {name: nic-cluster-policy}
      spec:
        secondaryNetwork:
          multus: {image: multus-cni, repository: ghcr.io/k8snetworkplumbingwg, version: v4.2.2}
    field_manager: site-multus

- name: Remove these fields again
  zerocopy.rdma.object_fields:
    object: {apiVersion: mellanox.com/v1alpha1, kind: NicClusterPolicy, metadata: {name: nic-cluster-policy}}
    field_manager: site-multus
    state: absent
"""

RETURN = r"""
objects:
  description: The object, as the only entry. In check mode, the entry says what would happen to the object.
  returned: success
  type: list
  elements: dict
  contains:
    api_version:
      description: Group and version of the object.
      type: str
    kind:
      description: Kind of the object.
      type: str
    namespace:
      description: Namespace of the object, empty if it is cluster-scoped.
      type: str
    name:
      description: Name of the object.
      type: str
    action:
      description: V(created), V(configured), V(unchanged) or V(pruned).
      type: str
  sample:
    - action: configured
      api_version: mellanox.com/v1alpha1
      kind: NicClusterPolicy
      name: nic-cluster-policy
      namespace: ""
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import object_fields
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    wanted = params["object"]
    meta = wanted.get("metadata")
    named = isinstance(meta, dict) and isinstance(meta.get("name"), str) and meta["name"]
    if not named or not all(isinstance(wanted.get(name), str) for name in ("apiVersion", "kind")):
        raise ClusterError("object must have apiVersion, kind and metadata.name")
    request = object_fields.FieldsRequest(
        wanted=wanted,
        manager=params["field_manager"],
        present=params["state"] == "present",
        without=params["without"],
        check=module.check_mode,
        diff=module._diff,
    )
    return object_fields.converge(client, request)


def main() -> None:
    run(
        {
            "object": {"type": "dict", "required": True},
            "field_manager": {"type": "str", "required": True},
            "without": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        _call,
    )


if __name__ == "__main__":
    main()
