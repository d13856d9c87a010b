#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_audit_info
short_description: Find the changes that a migration from hostNetwork and device plugins to DRA needs
version_added: 1.0.0
description:
  - Finds all workloads of a cluster that use RDMA. Returns what would have to change in each of them before it can
    request NICs by claims, who owns its manifest, and what would have to change in the cluster itself.
  - Looks at pods, Kubernetes' own workloads, LeaderWorkerSet, DisaggregatedSet, RayCluster, RayJob, RayService, JobSet,
    Volcano Job, the training jobs of Kubeflow, and KServe's InferenceService, LLMInferenceService, their runtimes and
    configurations. Of workloads of other kinds, the running pods are examined. What uses RDMA although its owner does
    not show it is listed under the owner.
  - A workload uses RDMA if it requests an RDMA resource of a device plugin, mounts C(/dev/infiniband), names HCAs or
    GIDs in its environment or command, or has C(hostNetwork) with GPUs or claims. Variables that come from ConfigMaps
    or Secrets are not seen.
  - Lists each kind once, in pages of 500 objects, whatever the number of workloads. Reads nothing but these lists, the
    API server's versions and its metrics. Kinds that the user may not list are in RV(unseen).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - zerocopy.rdma._gpu_resources
  - kubernetes.core.k8s_auth_options
options:
  device_class:
    description: Name of the DeviceClass that claims for NICs will use. Kueue needs a mapping for it.
    type: str
    default: zerocopy-rdma-nic
  namespaces:
    description:
      - Namespaces to look at. By default all of them; the user then needs permission to list across namespaces.
    type: list
    elements: str
    default: []
  resources:
    description:
      - Extended resources that give access to RDMA in this cluster, besides those with well-known names (C(rdma/*),
        C(nvidia.com/hostdev*), C(openshift.io/*) and others). An entry that ends with C(/) is a prefix.
    type: list
    elements: str
    default: []
seealso:
  - module: zerocopy.rdma.cluster_info
  - module: zerocopy.rdma.node_extended_resources
    description: Removes capacity that a device plugin left behind.
"""

EXAMPLES = r"""
- name: Audit the cluster
  zerocopy.rdma.workload_audit_info:
    resources: [example.com/hca]
  register: audit
  run_once: true
  delegate_to: localhost

- name: Show the audit
  ansible.builtin.debug:
    msg: "{{ audit.text }}"
  run_once: true

- name: Fail if a workload has hostNetwork
  ansible.builtin.assert:
    that: audit.workloads | map(attribute='findings') | flatten | selectattr('code', 'eq', 'host_network') | length == 0
  run_once: true
"""

RETURN = r"""
kubernetes:
  description: The API server.
  returned: success
  type: dict
  contains:
    version:
      description: Version of the API server.
      type: str
    resource_api:
      description: Newest version of C(resource.k8s.io) that the API server serves. Empty if it serves none.
      type: str
    gates:
      description:
        - Whether feature gates are on, according to the API server's metrics. If the user may not read the metrics,
          these are the defaults of the API server's version.
      type: dict
  sample:
    version: v1.36.3
    resource_api: resource.k8s.io/v1
    gates: {DRAConsumableCapacity: true, DRAExtendedResource: true}
workloads:
  description: Workloads that use RDMA and have something to change, the worst first.
  returned: success
  type: list
  elements: dict
  contains:
    group:
      description: API group of the object, empty for the core group.
      type: str
    kind:
      description: Kind of the object.
      type: str
    namespace:
      description: Namespace of the object.
      type: str
    name:
      description: Name of the object.
      type: str
    level:
      description: Worst C(level) of RV(workloads[].findings).
      type: str
    pods:
      description:
        - The number of pods of an object that does not show their RDMA, or whose kind the audit does not know.
          Otherwise 0.
      type: int
    owners:
      description:
        - Owners of the manifest, with C(tool) (V(operator), V(argocd), V(flux), V(helm), V(kubectl) or V(other)),
          C(name) (of the release or application, for example), C(manager) (in C(managedFields)) and C(text). The first
          one is the owner that would revert an edit in the cluster, so change the manifest there.
      type: list
      elements: dict
    findings:
      description:
        - What has to change, with C(code), C(level), C(text), the C(fields) that make up the text, C(places) (paths of
          pod templates in the object) and C(containers).
        - The C(level) is V(stops) (with a claim, the pods would not start, or clients would not find them), V(change)
          (the manifest has to change) or V(look) (the audit cannot tell whether a change is needed).
      type: list
      elements: dict
cluster:
  description: What has to change in the cluster itself, with the same keys as RV(workloads[].findings).
  returned: success
  type: list
  elements: dict
others:
  description: Objects with C(hostNetwork) that show no sign of RDMA, with C(group), C(kind), C(namespace) and C(name).
  returned: success
  type: list
  elements: dict
unseen:
  description: What could not be read, with C(what) and C(why).
  returned: success
  type: list
  elements: dict
  sample: [{what: configmaps, why: "configmaps is forbidden: User \"auditor\" cannot list resource"}]
advice:
  description: For each code in the result, why it matters and what to do.
  returned: success
  type: dict
text:
  description: The audit as text for a terminal. Workloads with the same findings are shown once, together.
  returned: success
  type: str
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit.read import AuditRequest, audit
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


def _call(module: Any, client: Client) -> Dict[str, Any]:
    names = ("device_class", "namespaces", "resources", "gpu_resources")
    return audit(client, AuditRequest(**{name: module.params[name] for name in names}))


def main() -> None:
    names = {"type": "list", "elements": "str", "default": []}
    run(
        {
            "device_class": {"type": "str", "default": "zerocopy-rdma-nic"},
            "namespaces": names,
            "resources": names,
            "gpu_resources": names,
        },
        _call,
    )


if __name__ == "__main__":
    main()
