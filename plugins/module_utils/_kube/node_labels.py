# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The names of our labels of Nodes, which decide where drivers, device plugins and pods go.

The account of a kubelet may label its own Node, except in the domains that end with ``node-restriction.kubernetes.io``
(admission plugin NodeRestriction). To check a label when it is read would be too late: the controller of DaemonSets
follows it at once.
"""

from __future__ import annotations

_OURS = "zerocopy.rdma"
DOMAIN = f"{_OURS}.node-restriction.kubernetes.io"


def of_nodes(name: str) -> str:
    """The label with this name on Nodes."""
    return f"{DOMAIN}/{name}"


def of_objects(label: str) -> str:
    """The label of the same name on the objects and pods of those nodes."""
    return f"{_OURS}/{label.partition('/')[2]}"


def before_1_0(label: str) -> str:
    """As Nodes had this label of Nodes before the first release, where the account of a kubelet could write it."""
    return of_objects(label)


def is_ours(label: str) -> bool:
    """Whether it is one of our labels of Nodes."""
    return label.startswith(f"{DOMAIN}/")
