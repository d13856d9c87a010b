# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """How the modules that move nodes recognise the pods and resources that use RDMA."""

    DOCUMENTATION = r"""
options:
  ours:
    description:
      - Labels by which the DaemonSets of this collection select nodes, as M(zerocopy.rdma.plan) returns them in
        C(strategies.labels). Pods of these DaemonSets do not count as users of RDMA.
    type: list
    elements: str
    default: []
  drivers:
    description:
      - DRA drivers whose devices are NICs, as M(zerocopy.rdma.plan) returns them in C(strategies.drivers).
    type: list
    elements: str
    default: []
  resources:
    description: Extended resources that give access to RDMA in this cluster, besides those with well-known names.
    type: list
    elements: str
    default: []
"""
