# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the daemon of a host is to say of its NICs, VFs that the same run creates included."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import coming_vfs, host_links
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.vfs import VFS
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import devices
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes.configuration import Devices
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError


def nics(values: Mapping[str, Any], facts: Facts, rails: Sequence[Mapping[str, Any]], leaf: str = "") -> Devices:
    """By PCI address, with a host's variables in their types, the rails of its plan of links and its leaf group."""
    pfs = {str(rail["hca"]) for rail in rails}
    return devices.of_node(coming_vfs.added(facts, pfs, values.get(VFS) or 0), rails, leaf)


def of_host(host: str, values: Mapping[str, Any], facts: Facts, leaf: str = "") -> Devices:
    """The same for a host whose links are not planned yet, without rails if they cannot be."""
    try:
        rails = host_links.rail_ports(host, values, facts)
    except PlanError:
        # For the role rdma_links to tell.
        rails = []
    return nics(values, facts, rails, leaf)
