#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: applyset
short_description: A named set of Kubernetes objects, applied as one and pruned
version_added: 0.1.0
description:
  - Applies any objects by server-side apply with strict field validation, and deletes those that an earlier call
    applied and that are no longer in O(objects).
  - Before anything is written, the API server tries all objects in a dry run. An object that it refuses, or a field
    that it does not know, fails the call for all objects at once, and nothing is applied. It cannot try objects of a
    kind that the set itself defines. New ResourceClaims and templates, whose names nobody knows yet, are tried by
    making them; they are removed again if one is refused.
  - A set that is as it should be costs a list call for each of its kinds and namespaces, whatever the number of
    objects.
  - CustomResourceDefinitions and Namespaces come first, then what workloads need, then workloads, then everything else,
    webhooks last. Deletion is in the reverse order.
  - The set follows the ApplySet specification (KEP-3659) with a Secret as parent, so C(kubectl get -l
    applyset.kubernetes.io/part-of=...) shows its members. A run that was killed is completed by the next.
  - Runs of one set are meant to follow one another. A run that finds another one under way before its own first change
    waits for up to 15 seconds until that has ended, and plans again. If another run changes the set after that, the
    overtaken run fails. No object is lost then, since the parent names the objects of both runs, and the next run
    brings the set to the state that it asks for. A run that was killed can delay the next one by these 15 seconds.
  - The specification has each tool refuse sets of other tools. To hand a set of C(kubectl apply --prune
    --applyset=NAME) over to this module, change the annotation C(applyset.kubernetes.io/tooling) of its parent to
    C(zerocopy.rdma/v0.1.0), to hand it back to C(kubectl/v1.36.0). The members stay as they are; where the values
    differ from those that C(kubectl) applied, O(force_conflicts) is needed once.
  - A ResourceClaim or ResourceClaimTemplate cannot be changed. So the name in O(objects) is an alias, which is also the
    label C(zerocopy.rdma/alias), and the object's name is the alias with a hash of its spec. Other objects of the set
    may use the alias in V(resourceClaimName) and V(resourceClaimTemplateName), those outside find the name in
    RV(names).
  - An object that has left the set is kept for as long as it is needed, and a later call prunes it. That is, a
    ResourceClaim that is reserved; a ResourceClaim or template that a pod, a workload or a custom resource of its
    namespace names, or may name because a kind may not be listed; a DeviceClass that a claim or template asks for; a
    Namespace with pods; a CustomResourceDefinition with objects.
  - Objects of C(resource.k8s.io/v1) are converted to v1beta2 or v1beta1 if that is what the API server serves. If it
    serves none, the message says what has to be switched on.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  name:
    description: Name of the set, and of the Secret that is its parent.
    type: str
    required: true
  namespace:
    description:
      - Namespace of the parent, which has to exist, and of objects that name none. Objects may be in other namespaces.
    type: str
    required: true
  objects:
    description: All objects of the set. An object can be in one set only.
    type: list
    elements: dict
    default: []
  field_manager:
    description: Name under which the API server remembers which fields are ours.
    type: str
    default: zerocopy.rdma
  force_conflicts:
    description: Whether to take over fields that another field manager has given another value, instead of failing.
    type: bool
    default: false
  prune:
    description: Whether to delete what has left the set. Otherwise it stays a member, until a later call prunes it.
    type: bool
    default: true
  wait:
    description:
      - Whether to wait until the objects do their work, and what is deleted is gone. Nothing is pruned before the rest
        works.
    type: bool
    default: false
  wait_timeout:
    description: Seconds for which an object may make no progress. As long as there is some, there is no limit.
    type: int
    default: 120
  state:
    description:
      - With V(absent), all members are deleted, and then the parent. What is still needed is kept, with the parent.
        O(objects) is not looked at.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: A DeviceClass and a template
  zerocopy.rdma.applyset:
    name: rdma-claims-h100
    namespace: kube-system
    objects:
      - apiVersion: resource.k8s.io/v1
        kind: DeviceClass
        metadata: {name: rdma-nic}
        spec:
          selectors:
            - cel: {expression: 'device.driver == "dra.net" && device.attributes["dra.net"].rdma'}
      - apiVersion: resource.k8s.io/v1
        kind: ResourceClaimTemplate
        metadata: {name: h100-1nic, namespace: training}
        spec:
          spec:
            devices:
              requests: [{name: nic, exactly: {deviceClassName: rdma-nic}}]
  register: claims

- name: Show what a pod has to name
  ansible.builtin.debug:
    msg: "{{ claims.names.ResourceClaimTemplate.training['h100-1nic'] }}"

- name: What would change, from a file of manifests
  zerocopy.rdma.applyset:
    name: rdma-driver
    namespace: kube-system
    objects: "{{ lookup('file', 'dranet.yml') | from_yaml_all }}"
    wait: true
  check_mode: true
  diff: true

- name: Remove the set
  zerocopy.rdma.applyset:
    name: rdma-claims-h100
    namespace: kube-system
    state: absent
"""

RETURN = r"""
objects:
  description:
    - Every object of the set in the order of O(objects), then those that have left it, then the parent. In check mode
      what would happen. It does not foresee that a pod ends because what made it leaves the set in the same call.
  returned: success
  type: list
  elements: dict
  contains:
    api_version:
      description: Group and version in which it was applied.
      type: str
    kind:
      description: Kind.
      type: str
    namespace:
      description: Namespace, empty for a cluster-scoped object.
      type: str
    name:
      description: Name.
      type: str
    alias:
      description: Name in O(objects) of a ResourceClaim or ResourceClaimTemplate.
      type: str
      returned: for these kinds
    action:
      description: V(created), V(configured), V(unchanged), V(pruned) or V(kept).
      type: str
    reason:
      description: Why it was kept.
      type: str
      returned: when RV(objects[].action) is V(kept)
  sample:
    - action: kept
      alias: h100-1nic
      api_version: resource.k8s.io/v1
      kind: ResourceClaimTemplate
      name: h100-1nic-0a1b2c3d4e
      namespace: training
      reason: named by Deployment trainer
names:
  description: Names of ResourceClaims and ResourceClaimTemplates by kind, namespace and alias.
  returned: success
  type: dict
  sample: {ResourceClaimTemplate: {training: {h100-1nic: h100-1nic-0a1b2c3d4e}}}
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import FIELD_MANAGER, Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import ApplysetRequest


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    request = ApplysetRequest(
        name=params["name"],
        namespace=params["namespace"],
        objects=params["objects"],
        field_manager=params["field_manager"],
        force_conflicts=params["force_conflicts"],
        prune=params["prune"],
        wait=params["wait"],
        wait_timeout=params["wait_timeout"],
        present=params["state"] == "present",
        check=module.check_mode,
        diff=module._diff,
    )
    return converge(client, request)


def main() -> None:
    run(
        {
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "objects": {"type": "list", "elements": "dict", "default": []},
            "field_manager": {"type": "str", "default": FIELD_MANAGER},
            "force_conflicts": {"type": "bool", "default": False},
            "prune": {"type": "bool", "default": True},
            "wait": {"type": "bool", "default": False},
            "wait_timeout": {"type": "int", "default": 120},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        _call,
    )


if __name__ == "__main__":
    main()
