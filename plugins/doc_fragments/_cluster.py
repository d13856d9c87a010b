# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """What the modules that talk to a cluster have in common, besides ``kubernetes.core.k8s_auth_options``."""

    DOCUMENTATION = r"""
options: {}
requirements:
  - collection kubernetes.core
  - kubernetes >= 24.2.0 (Python library)
  - Kubernetes >= 1.30 (API server)
attributes:
  action_group:
    description: Use C(group/zerocopy.rdma.k8s) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - zerocopy.rdma.k8s
notes:
  - Without authentication options, the cluster is found as C(kubectl) does, by C(KUBECONFIG) and C(~/.kube/config)
    before the service account of a pod. Modules of C(kubernetes.core) take the service account first; with the options
    that M(zerocopy.rdma.cluster_access_info) returns, all use the same cluster.
  - The group C(zerocopy.rdma.k8s) in C(module_defaults) includes the modules of the group C(kubernetes.core.k8s), so
    authentication options need to be given only once.
"""
