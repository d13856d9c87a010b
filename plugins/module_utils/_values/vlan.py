# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""VLAN ids (IEEE 802.1Q)."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import between

check = between(1, 4094)
