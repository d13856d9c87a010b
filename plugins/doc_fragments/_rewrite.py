# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """What the modules that rewrite workloads have in common."""

    DOCUMENTATION = r"""
options:
  state:
    description: V(present) rewrites, V(absent) reverts.
    type: str
    choices: [present, absent]
    default: present
  requests:
    description: The requests of the group, of the filter P(zerocopy.rdma.pod_requests#filter).
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the request.
        type: str
        required: true
      templates:
        description: Name of the ResourceClaimTemplate in each namespace.
        type: dict
        default: {}
      claims:
        description: Name of the ResourceClaim in each namespace.
        type: dict
        default: {}
      limits:
        description: Extended resources with their number.
        type: dict
        default: {}
      gpus:
        description: Number of GPUs in the claim.
        type: int
        default: 0
      annotations:
        description: Annotations of the pod.
        type: dict
        default: {}
      capabilities:
        description: Capabilities of the container.
        type: list
        elements: str
        default: []
      environment:
        description: Variables of the container, set where they are not set already.
        type: dict
        default: {}
      namespace:
        description: Namespace in which the request is possible, empty for any.
        type: str
        default: ''
      host_network:
        description: Whether pods have to be on the host network. Then C(hostNetwork) stays.
        type: bool
        default: false
      gpu_resource:
        description: Extended resource of GPUs, of which the container has to request one. Empty for none.
        type: str
        default: ''
  choices:
    description:
      - Names of requests for a workload, by its name or C(namespace/name).
      - By default a workload makes the only request with as many GPUs as it has, or else the only one without GPUs.
    type: dict
    default: {}
  resources:
    description: Further resources that stand for RDMA, as with M(zerocopy.rdma.workload_audit).
    type: list
    elements: str
    default: []
"""
