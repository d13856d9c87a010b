#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_audit
short_description: Find what a migration from hostNetwork and device plugins to DRA has to change
version_added: 0.1.0
description:
  - Reads all workloads of a cluster that use RDMA, and returns for each what would have to change before it can ask for
    NICs by claims, who owns its manifest, and what the cluster itself needs.
  - Looks at pods, Kubernetes' own workloads, LeaderWorkerSet, DisaggregatedSet, RayCluster, RayJob, RayService, JobSet,
    Volcano Job, the training jobs of Kubeflow, and KServe's InferenceService, LLMInferenceService, their runtimes and
    configurations. Objects of other kinds are not guessed; their pods are looked at.
  - A workload uses RDMA if it asks for an RDMA resource of a device plugin, mounts C(/dev/infiniband), names HCAs or
    GIDs in its environment or command, or has C(hostNetwork) with GPUs or claims. Variables that come from ConfigMaps
    or Secrets are not seen.
  - Lists each kind once, in pages of 500 objects, whatever the number of workloads. Reads nothing else than lists,
    versions and the API server's metrics. Kinds that the user may not list are named in RV(unseen).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  device_class:
    description: Name of the DeviceClass that claims for NICs will name. Kueue needs a mapping for it.
    type: str
    default: zerocopy-rdma-nic
  namespaces:
    description:
      - Namespaces to look at. By default all of them, for which the user has to be allowed to list across namespaces.
    type: list
    elements: str
    default: []
  resources:
    description:
      - Extended resources that stand for RDMA in this cluster, besides those that are known by their names (C(rdma/*),
        C(nvidia.com/hostdev*), C(openshift.io/*) and others). An entry that ends with C(/) is a prefix.
    type: list
    elements: str
    default: []
seealso:
  - module: zerocopy.rdma.cluster_info
  - module: zerocopy.rdma.node_extended_resources
    description: Removes stale capacity.
"""

EXAMPLES = r"""
- name: Audit the cluster
  zerocopy.rdma.workload_audit:
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
      description: Its version.
      type: str
    dra:
      description: The newest version of C(resource.k8s.io) that it serves, empty if none.
      type: str
    gates:
      description:
        - Whether feature gates are on, as its metrics say. If these may not be read, as its version has them by
          default.
      type: dict
  sample: {version: v1.36.3, dra: resource.k8s.io/v1, gates: {DRAConsumableCapacity: true, DRAExtendedResource: true}}
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
      description: The worst C(level) of RV(workloads[].findings).
      type: str
    pods:
      description: Number of pods if the object is of a kind that is not looked at itself, otherwise 0.
      type: int
    owners:
      description:
        - Who owns the manifest, the one whose change lasts first, with C(tool) (V(operator), V(argocd), V(flux),
          V(helm), V(kubectl) or V(other)), C(name) (of the release, the application ...), C(manager) (in
          C(managedFields)) and C(text).
      type: list
      elements: dict
    findings:
      description:
        - What has to change, with C(code), C(level), C(text), C(fields), C(places) (paths of pod templates in the
          object) and C(containers).
        - The C(level) is V(stops) (the pods would not start, or not be found), V(change) (the manifest has to change)
          or V(look) (it depends).
      type: list
      elements: dict
cluster:
  description: What has to be dealt with in the cluster itself, with the same keys as findings of workloads.
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
  description: All of it for a terminal, with workloads that have the same findings together.
  returned: success
  type: str
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.audit import AuditRequest, audit


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    return audit(client, AuditRequest(params["device_class"], params["namespaces"], params["resources"]))


def main() -> None:
    names = {"type": "list", "elements": "str", "default": []}
    run(
        {
            "device_class": {"type": "str", "default": "zerocopy-rdma-nic"},
            "namespaces": names,
            "resources": names,
        },
        _call,
    )


if __name__ == "__main__":
    main()
