# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """The option of everything that has to tell GPUs from other extended resources."""

    DOCUMENTATION = r"""
options:
  gpu_resources:
    description:
      - Extended resources that are GPUs in this cluster, besides those with well-known names (C(nvidia.com/*) unless
        the name is that of a NIC, C(amd.com/gpu) and others). An entry that ends with C(/) is a prefix.
    type: list
    elements: str
    default: []
"""
