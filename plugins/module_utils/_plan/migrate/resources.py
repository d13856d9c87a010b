# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Extended resources that stand for RDMA, by the names that device plugins and operators give them.

Sources: the defaults of k8s-rdma-shared-dev-plugin (``rdma/``), of the NVIDIA Network Operator
(``nvidia.com/hostdev``), of the SR-IOV network operator (``openshift.io/``), of Mellanox's older examples
(``mellanox.com/``), and of k8s-rdma-device-plugin (``rdma.io/hca``).
"""

from __future__ import annotations

import re
from typing import Sequence

# A resource of nvidia.com is a GPU of some kind unless its name says otherwise.
_NIC = re.compile(r"(?:.*[^a-z])?(?:hostdev|sriov|mlnx[a-z]*|mlx[a-z]*|rdma|roce|ib|hca|nics?|vfs?)(?:[^a-z].*)?")
_PREFIXES = ("rdma/", "rdma.io/", "openshift.io/", "mellanox.com/")
_MIXED = ("nvidia.com/", "intel.com/")
_GPU = re.compile(r"(?:nvidia\.com/(?:gpu|mig-)|amd\.com/gpu|habana\.ai/gaudi|gpu\.intel\.com/).*")


def is_rdma(name: str, more: Sequence[str] = ()) -> bool:
    """Whether this extended resource is RDMA; ``more`` are names of the site, or prefixes that end with ``/``."""
    if name in more or name.startswith((*_PREFIXES, *(prefix for prefix in more if prefix.endswith("/")))):
        return True
    return name.startswith(_MIXED) and _NIC.fullmatch(name.partition("/")[2].lower()) is not None


def is_gpu(name: str) -> bool:
    """Whether this extended resource is a GPU."""
    return _GPU.fullmatch(name) is not None
