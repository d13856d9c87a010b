#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_info
short_description: Query what a plan for RDMA needs to know about a cluster
version_added: 1.0.0
description:
  - Returns the version and the networks of a cluster, the labels of its nodes, and the pods that hold devices of DRA
    drivers.
  - Lists the nodes, the ResourceClaims, the ServiceCIDRs, the DaemonSets of O(sets), and O(objects) once each.
  - The user must be allowed to list nodes, ResourceClaims, O(objects) and, with O(sets), DaemonSets. Without the right
    to list ServiceCIDRs, the networks of services are not returned.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  resource_api:
    description:
      - Whether DRA drivers have to work in this cluster. If so, the module fails if the API server does not serve
        C(resource.k8s.io), and the message says what to enable. The module also fails if the API server or a kubelet is
        Kubernetes 1.34.0 or 1.34.1, in which drivers do not stay registered with the kubelet.
    type: bool
    default: false
  api_only:
    description:
      - Whether to ask only which APIs the server has, and nothing about what is in the cluster. Kubelets are not
        looked at then.
    type: bool
    default: false
  kinds:
    description: Kinds of custom resources, such as V(NicClusterPolicy.mellanox.com). RV(kinds) has those that exist.
    type: list
    elements: str
    default: []
  objects:
    description: Objects to list. Kinds that the API server does not serve are left out.
    type: list
    elements: dict
    default: []
    suboptions:
      kind:
        description: Kind of the objects, such as V(SriovNetworkNodePolicy.sriovnetwork.openshift.io).
        type: str
        required: true
      name:
        description: Name of the objects, in any namespace. If empty, all objects of the kind are listed.
        type: str
        default: ""
  published:
    description: >-
      If set, what DRA drivers publish is returned in RV(published), as M(zerocopy.rdma.resource_slice_info) does.
    type: dict
    suboptions:
      expected:
        description: >-
          What the drivers should publish on each node. M(zerocopy.rdma.plan) sets it.
        type: dict
        default: {}
      wait:
        description: Whether to wait until the drivers publish, not in check mode.
        type: bool
        default: false
      wait_timeout:
        description: Seconds without progress after which the wait ends. This is no error.
        type: int
        default: 120
  sets:
    description: >-
      Sets of objects (M(zerocopy.rdma.applyset)) whose DaemonSets are returned in RV(daemon_sets). RV(parents) has
      those that exist.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the set.
        type: str
        required: true
      namespace:
        description: Namespace of the set's parent.
        type: str
        required: true
seealso:
  - module: zerocopy.rdma.resource_slice_info
"""

EXAMPLES = r"""
- name: Query the cluster
  zerocopy.rdma.cluster_info:
    resource_api: true
  register: cluster
  run_once: true
  delegate_to: localhost

- name: Show the networks of the cluster
  ansible.builtin.debug:
    msg: "{{ cluster.networks }}"
  run_once: true
"""

RETURN = r"""
kubernetes:
  description: Version of the API server.
  returned: success
  type: str
  sample: v1.36.3
api_version:
  description: Newest group and version of DRA's objects that the API server serves.
  returned: with O(resource_api=true)
  type: str
  sample: resource.k8s.io/v1
administrator:
  description: Whether the user may do everything in the cluster (C(*) on C(*.*)).
  returned: with O(api_only=false)
  type: bool
networks:
  description:
    - Networks of C(pods) (C(spec.podCIDRs) of the nodes) and of C(services) (ServiceCIDRs, Kubernetes 1.33 and newer).
      Adjacent networks are merged. The API server does not know the ranges of a network plugin with its own IPAM.
  returned: with O(api_only=false)
  type: dict
  sample: {pods: [10.42.0.0/22], services: [10.43.0.0/16]}
held:
  description: Pods (namespace/name) that hold devices of ResourceClaims, by DRA driver and node.
  returned: with O(api_only=false)
  type: dict
  sample: {dra.net: {h100-01: [training/worker-0]}}
kinds:
  description: Those of O(kinds) that the API server serves.
  returned: with O(api_only=false)
  type: list
  elements: str
  sample: [NicClusterPolicy.mellanox.com]
objects:
  description:
    - The objects of O(objects), with C(kind) (without the group), C(metadata.namespace), C(metadata.name) and C(spec).
      C(metadata.set) is the ID of the set that the object is in (M(zerocopy.rdma.applyset)), or empty. This is what a
      label says that anybody may set. A DaemonSet that should have pods, but has none, has C(refused=true).
  returned: with O(api_only=false)
  type: list
  elements: dict
  sample:
    - kind: SriovNetworkNodePolicy
      metadata: {name: h100-rail0, namespace: sriov-network-operator, set: ""}
      spec: {numVfs: 8}
daemon_sets:
  description:
    - The DaemonSets of O(sets), in the form of RV(objects). A DaemonSet counts only in the namespaces that the parent
      of its set names, and only if this collection has applied it. Its labels do not prove that.
  returned: with O(api_only=false)
  type: list
  elements: dict
  sample:
    - kind: DaemonSet
      metadata: {name: dranet-h100, namespace: kube-system, set: applyset-0a1b2c-v1}
      spec: {template: {spec: {nodeSelector: {zerocopy.rdma.node-restriction.kubernetes.io/group: h100}}}}
nodes:
  description: Labels of each node, by the node's name.
  returned: with O(api_only=false)
  type: dict
  sample: {h100-01: {zerocopy.rdma.node-restriction.kubernetes.io/group: h100}}
parents:
  description: Those of O(sets) that exist, with C(name) and C(namespace).
  returned: with O(api_only=false)
  type: list
  elements: dict
  sample: [{name: zerocopy-rdma-driver, namespace: kube-system}]
others:
  description:
    - Other sets of this collection in the namespaces of O(sets), with C(name) and C(namespace). Without the right to
      list the Secrets of these namespaces, there are none.
  returned: with O(api_only=false)
  type: list
  elements: dict
  sample: [{name: zerocopy-rdma-h100-driver, namespace: kube-system}]
extended_resources:
  description: Names of the extended resources in the status of each node.
  returned: with O(api_only=false)
  type: dict
  sample: {v100-01: [nvidia.com/gpu, rdma/rdma_v100]}
allocatable:
  description: Names of the extended resources of which each node has any that can be allocated.
  returned: with O(api_only=false)
  type: dict
  sample: {v100-01: [nvidia.com/gpu]}
counted:
  description: Nodes to which M(zerocopy.rdma.node_extended_resources) has written resources that only count pods.
  returned: with O(api_only=false)
  type: list
  elements: str
  sample: [v100-01]
leaf_labelled:
  description: Nodes that have a label of their leaf from this collection (C(rdma_provision_leaf_label)).
  returned: with O(api_only=false)
  type: list
  elements: str
  sample: [h100-01]
published:
  description: What DRA drivers publish, as M(zerocopy.rdma.resource_slice_info) returns it.
  returned: with O(published), and O(api_only=false)
  type: dict
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._payload.sources import compile_once

compile_once()

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import Parent
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices import info as slices


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    if params["api_only"]:
        return cluster.reach(client, params["resource_api"])[1]
    sets = [Parent(each["name"], each["namespace"]) for each in params["sets"]]
    found = cluster.info(client, params["resource_api"], sets, params["kinds"], params["objects"])
    if params["published"] is not None:
        wanted = params["published"]
        wait = wanted["wait_timeout"] if wanted["wait"] and not module.check_mode else None
        # None as long as there is no DaemonSet of ours, whose pods others could have imitated.
        namespaces = {each["metadata"]["namespace"] for each in found["daemon_sets"]}
        asked = slices.SliceRequest(wanted["expected"], ["slices"], wait, namespaces)
        found["published"] = slices.info(client, asked)
    return found


def main() -> None:
    run(
        {
            "resource_api": {"type": "bool", "default": False},
            "api_only": {"type": "bool", "default": False},
            "kinds": {"type": "list", "elements": "str", "default": []},
            "objects": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "kind": {"type": "str", "required": True},
                    "name": {"type": "str", "default": ""},
                },
            },
            "published": {
                "type": "dict",
                "options": {
                    "expected": {"type": "dict", "default": {}},
                    "wait": {"type": "bool", "default": False},
                    "wait_timeout": {"type": "int", "default": 120},
                },
            },
            "sets": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "name": {"type": "str", "required": True},
                    "namespace": {"type": "str", "required": True},
                },
            },
        },
        _call,
    )


if __name__ == "__main__":
    main()
