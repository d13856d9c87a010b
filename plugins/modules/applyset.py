#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: applyset
short_description: Apply and prune a named set of Kubernetes objects
version_added: 1.0.0
description:
  - Applies objects of any kind by server-side apply with strict field validation, and deletes those that an earlier
    call applied and that are no longer in O(objects).
  - Before anything is written, the API server validates all objects in a dry run. If it rejects any of them or does not
    know a field, the call fails, reports all such objects at once, and applies nothing. Objects of a kind that the set
    itself defines cannot be validated beforehand. New ResourceClaims and templates are validated by creating them,
    because their names are not in use yet; if one is rejected, all of them are removed again.
  - For a set without changes, the module makes one list call for each of its kinds and namespaces, whatever the number
    of objects.
  - CustomResourceDefinitions and Namespaces come first, then what workloads need, then workloads, then everything else,
    webhooks last. Deletion is in the reverse order.
  - The set follows the ApplySet specification (KEP-3659) with a Secret as parent, so C(kubectl get -l
    applyset.kubernetes.io/part-of=...) shows its members. If a run is killed, the next one completes it.
  - Do not run the module for the same set twice at the same time. A run that finds another one in progress before its
    own first change waits for up to 15 seconds until that has ended, and plans again. If another run changes the set
    after that, the overtaken run fails. No object is lost, because the parent lists the objects of both runs, and the
    next run brings the set to the requested state. A killed run can delay the next one by these 15 seconds.
  - According to the specification, each tool rejects sets of other tools. To hand over a set of C(kubectl apply --prune
    --applyset=NAME) to this module, change the annotation C(applyset.kubernetes.io/tooling) of its parent to
    C(zerocopy.rdma/v1.0.0); to hand it back, to C(kubectl/v1.36.0). The members are not changed. If O(objects) differ
    from what C(kubectl) applied, O(force_conflicts=always) is needed once.
  - ResourceClaims and ResourceClaimTemplates are immutable. Therefore their names in O(objects) are aliases, and the
    real name is the alias with a hash of the spec. The label C(zerocopy.rdma/alias) contains the alias. Other objects
    of the set can use the alias in V(resourceClaimName) and V(resourceClaimTemplateName). For objects outside the set,
    RV(names) returns the real names.
  - An object that has left the set is kept as long as it is needed, and pruned by a later call. A ResourceClaim is
    needed while it is reserved. A ResourceClaim or template is needed while a pod, a workload or a custom resource in
    its namespace, or a custom resource without a namespace, refers to it, or may refer to it because this user has no
    right to list its kind; a warning then names the kind. The revision history of a
    Deployment, StatefulSet or DaemonSet does not count. A DeviceClass is needed while a claim or template requests it,
    a Namespace while it has pods, a CustomResourceDefinition while it has objects.
  - An object that exists and is in no set is somebody else's, even if its content is the same. The call fails before
    it changes anything, except for Namespaces and with O(force_conflicts=always). A member of which another field
    manager has fields that are in O(objects) too, and a Namespace that has another field manager at all, is not pruned.
  - Objects of C(resource.k8s.io/v1) are converted to v1beta2 or v1beta1 if the API server serves only these. If it
    serves none of them, the error message says what to enable.
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
      - Namespace of the parent, which must exist, and of objects without a namespace of their own. Objects can be in
        other namespaces, too.
    type: str
    required: true
  objects:
    description: All objects of the set. An object can be in one set only.
    type: list
    elements: dict
    default: []
  force_conflicts:
    description:
      - Which fields to take over if another field manager has set them to another value. V(never) takes over none, and
        the call fails before it changes anything.
      - V(members) takes over fields of objects that are already part of the set, for example what somebody has changed
        with C(kubectl edit), but no fields of other objects. V(always) takes over fields of any object, and
        objects that others have created.
    type: str
    choices: [never, members, always]
    default: never
  prune:
    description:
      - Whether to delete objects that have left the set. Otherwise they remain members until a later call prunes them.
    type: bool
    default: true
  rejectable:
    description:
      - Kinds of objects that the cluster's admission (a webhook, or a ValidatingAdmissionPolicy) may reject. Such an
        object does not make the call fail. It is left as it is in the cluster, and the other objects are applied.
        RV(objects) has the reason.
      - If the object has a C(spec.nodeSelector), RV(unready) names the nodes that it selects.
    type: list
    elements: str
    default: []
  wait:
    description:
      - Whether to wait until the applied objects are ready and deleted objects are gone. Nothing is pruned before the
        applied objects are ready.
    type: bool
    default: false
  unready_nodes:
    description:
      - What to do if the wait ends while pods of a DaemonSet are not ready on some of its nodes, although each node has
        a pod with its current configuration. With V(report), the module does not fail, and RV(unready) names these
        nodes.
      - The same holds for a NicNodePolicy of NVIDIA's Network Operator, whose pods are those of the DaemonSets that the
        operator creates for the policy. With V(report), the module does not wait for a policy that selects no node of
        the cluster.
    type: str
    choices: [fail, report]
    default: fail
  wait_timeout:
    description:
      - Seconds without progress of an object after which the wait fails. The total time is not limited. Pods that crash
        and restart do not count as progress.
    type: int
    default: 120
  state:
    description:
      - With V(absent), all members are deleted, and then the parent. Members that are still needed are kept, and so is
        the parent then. O(objects) is ignored.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Apply a DeviceClass and a template
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

- name: Show the template's name for pods
  ansible.builtin.debug:
    msg: "{{ claims.names.ResourceClaimTemplate.training['h100-1nic'] }}"

- name: Show what would change, from a file of manifests
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
    - Every object of the set in the order of O(objects), then the objects that have left the set, then the parent.
    - Check mode returns what would happen to the objects. It does not predict that a pod ends because its owner leaves
      the set in the same call.
  returned: success
  type: list
  elements: dict
  contains:
    api_version:
      description: Group and version with which the object was applied.
      type: str
    kind:
      description: Kind of the object.
      type: str
    namespace:
      description: Namespace of the object, empty if it is cluster-scoped.
      type: str
    name:
      description: Name of the object in the cluster.
      type: str
    alias:
      description: Name in O(objects) of a ResourceClaim or ResourceClaimTemplate.
      type: str
      returned: for these kinds
    action:
      description: V(created), V(configured), V(unchanged), V(rejected), V(pruned) or V(kept).
      type: str
    reason:
      description: Why the object was kept or rejected.
      type: str
      returned: when RV(objects[].action) is V(kept) or V(rejected)
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
unready:
  description:
    - Nodes on which pods of DaemonSets were not ready when the wait ended, or that had no pod of a NicNodePolicy, each
      with the reasons. Empty unless O(unready_nodes=report).
    - Also nodes that a rejected object of O(rejectable) selects.
  returned: success
  type: dict
  sample:
    h100-07: ["DaemonSet kube-system/dranet-h100: its pod is Running, and not ready"]
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import ApplysetRequest


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    request = ApplysetRequest(
        name=params["name"],
        namespace=params["namespace"],
        objects=params["objects"],
        force_conflicts=params["force_conflicts"],
        prune=params["prune"],
        rejectable=params["rejectable"],
        wait=params["wait"],
        report_nodes=params["unready_nodes"] == "report",
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
            "force_conflicts": {"type": "str", "choices": ["never", "members", "always"], "default": "never"},
            "prune": {"type": "bool", "default": True},
            "rejectable": {"type": "list", "elements": "str", "default": []},
            "wait": {"type": "bool", "default": False},
            "unready_nodes": {"type": "str", "choices": ["fail", "report"], "default": "fail"},
            "wait_timeout": {"type": "int", "default": 120},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        _call,
    )


if __name__ == "__main__":
    main()
