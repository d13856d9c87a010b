# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """The options with which filters are told what a cluster has, and what it takes to plan claims with it."""

    DOCUMENTATION = r"""
requirements:
  - cel-expr-python (Python library, where Ansible runs)
  - netaddr (Python library, where Ansible runs)
options:
  slices:
    description: ResourceSlices of the cluster, of any version of the API. Nodes are matched with hosts by name.
    type: list
    elements: dict
  kubernetes:
    description: Version of Kubernetes, for example V(v1.36.3), to reject what it does not support.
    type: str
  device_classes:
    description:
      - Names of the DeviceClasses of the cluster, to reject claims for GPUs of a class that does not exist. By default
        this is not checked.
      - M(zerocopy.rdma.resource_slice_info) returns the values of this option and of the two above.
    type: list
    elements: str
"""

    KINDS = r"""
options:
  kinds:
    description: Kinds of operators' resources that the cluster serves, as M(zerocopy.rdma.cluster_info) returns them.
    type: list
    elements: str
"""
