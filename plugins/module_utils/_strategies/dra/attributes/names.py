# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Names of the attributes, and where the daemon that serves them is.

An attribute's name is a DNS subdomain and a C identifier of at most 32 bytes (``resource.k8s.io/v1``, QualifiedName).
"""

from __future__ import annotations

DOMAIN = "zerocopy.rdma"
EVERY = tuple(f"{DOMAIN}/{name}" for name in ("rail", "leaf", "rateGbps", "linkLayer"))
RAIL, LEAF, RATE, LINK_LAYER = EVERY

DAEMON, UNIT = "attributes", "zerocopy-rdma-attributes.service"
# The pod of DRANET mounts the directory: a mounted socket would be the one of a daemon that has ended.
DIRECTORY = "/run/zerocopy-rdma-attributes"
SOCKET = f"{DIRECTORY}/webhook.sock"
