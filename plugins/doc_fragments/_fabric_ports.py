# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """From which ports the modules that read InfiniBand fabrics do so."""

    DOCUMENTATION = r"""
options:
  fabric_ports:
    description:
      - Active InfiniBand ports from which the links of their fabric are read. A fabric that has been read from an
        earlier port in the list is not read again.
    type: list
    elements: dict
    default: []
    suboptions:
      hca:
        description: The HCA.
        type: str
        required: true
      port:
        description: Number of the port.
        type: int
        required: true
      guid:
        description: GUID of the port, for example V(0x0c42a10300aabbcc).
        type: str
        required: true
"""
