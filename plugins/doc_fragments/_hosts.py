# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """The options of the filters that look at hosts of the inventory."""

    DOCUMENTATION = r"""
options:
  _input:
    description: Names of the hosts of the run. Their nodes in a cluster have the same names.
    type: list
    elements: str
    required: true
  hostvars:
    description: The magic variable C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
"""
