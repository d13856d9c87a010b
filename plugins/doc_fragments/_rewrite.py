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
    description: V(present) rewrites workloads, V(absent) reverts what was rewritten.
    type: str
    choices: [present, absent]
    default: present
  requests:
    description:
      - The requests that pods of the group can make, as the filter P(zerocopy.rdma.pod_requests#filter) returns them.
        Not used with O(state=absent).
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
        description: Extended resources, each with its number.
        type: dict
        default: {}
      gpus:
        description: Number of GPUs that the claim includes.
        type: int
        default: 0
      nics:
        description: Number of NICs that the claim includes, V(0) if it is not known.
        type: int
        default: 0
      annotations:
        description: Annotations of the pod.
        type: dict
        default: {}
      capabilities:
        description: Capabilities to add to the container.
        type: list
        elements: str
        default: []
      environment:
        description: Environment variables of the container. Variables that are already set are kept.
        type: dict
        default: {}
      namespace:
        description: Namespace in which the request is possible. If empty, it is possible in any namespace.
        type: str
        default: ''
      host_network:
        description: Whether pods must be on the host network. If so, C(hostNetwork) stays.
        type: bool
        default: false
      gpu_resource:
        description:
          - Extended resource of GPUs of which the container must request at least one. If empty, the request needs no
            GPU.
        type: str
        default: ''
  choices:
    description:
      - Names of the requests for each workload, by the workload's name or C(namespace/name).
      - By default, a workload gets the group's only request with as many whole GPUs as the workload has, or else the
        only request without GPUs. If several requests match, the workload stays as it is.
    type: dict
    default: {}
  resources:
    description:
      - Extended resources that give access to RDMA in this cluster, besides those with well-known names. An entry that
        ends with C(/) is a prefix.
    type: list
    elements: str
    default: []
  gpu_resources:
    description:
      - Extended resources that are GPUs in this cluster, besides those with well-known names. An entry that ends with
        C(/) is a prefix. A claim with GPUs replaces limits of whole GPUs.
    type: list
    elements: str
    default: []
"""
