# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """How the modules for the move of nodes know which pods and resources are of RDMA."""

    DOCUMENTATION = r"""
options:
  ours:
    description: Labels with which the DaemonSets of all strategies select nodes.
    type: list
    elements: str
    default: []
  drivers:
    description: DRA drivers whose devices are NICs.
    type: list
    elements: str
    default: []
  resources:
    description: Extended resources that stand for RDMA, besides those known by their names.
    type: list
    elements: str
    default: []
"""
