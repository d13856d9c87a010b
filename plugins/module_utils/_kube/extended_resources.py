# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Extended resources that stand for RDMA or for GPUs, by the names that device plugins and operators give them.

Sources for RDMA: the defaults of k8s-rdma-shared-dev-plugin (``rdma/``), of the NVIDIA Network Operator
(``nvidia.com/hostdev``), of the SR-IOV network operator (``openshift.io/``), of Mellanox's older examples
(``mellanox.com/``), of k8s-rdma-device-plugin (``rdma.io/hca``), and of AMD's k8s-network-device-plugin
(``amd.com/nic``, ``amd.com/vnic`` for VFs).

For GPUs: the device plugins of NVIDIA, which some sites build so that it renames (``nvidia.com/v100``), of HAMi
(``nvidia.com/gpumem``), of AMD (``amd.com/cpx_nps4``), of Intel, whose ``i915_monitoring`` is every GPU of the node and
nobody's own, and of Habana. Accelerators of others are known by their domains, and by what such things are called.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Sequence

# A resource of nvidia.com is a GPU of some kind unless its name says otherwise.
_NIC = re.compile(
    r"(?:.*[^a-z])?(?:hostdev|sriov|mlnx[a-z]*|mlx[a-z]*|connectx|cx|bluefield|bf|rdma|roce|ib|hca|nics?|[vs]fs?)"
    r"(?:[^a-z].*)?"
)
_PREFIXES = ("rdma/", "rdma.io/", "openshift.io/", "mellanox.com/", "amd.com/nic", "amd.com/vnic")
_MIXED = ("nvidia.com/", "intel.com/")

NVIDIA, AMD, INTEL, HABANA, OTHER = "nvidia", "amd", "intel", "habana", "other"
WHOLE, SHARE, PARTITION = "whole", "share", "partition"
_GPU = (
    (NVIDIA, re.compile(r"nvidia\.com/.+")),
    (AMD, re.compile(r"amd\.com/(?:gpu.*|[a-z]+_nps[0-9]+)")),
    (INTEL, re.compile(r"gpu\.intel\.com/(?:i915|xe)")),
    (HABANA, re.compile(r"habana\.ai/gaudi.*")),
)
_OTHERS = re.compile(
    r"(?:huawei\.com/(?:ascend|npu)|aws\.amazon\.com/neuron|qualcomm\.com/qaic|(?:cambricon|hygon|metax-tech|mthreads"
    r"|enflame|birentech|kunlunxin|tenstorrent|iluvatar)\.com/|(?:iluvatar|furiosa|rebellions)\.ai/).+"
    r"|[^/]+/(?:.*[^a-z])?(?:npu|tpu|dcu|mlu|xpu|gcu|hpu)s?(?:[^a-z].*)?",
    re.IGNORECASE,
)
_LIKE_GPU = re.compile(r"[^/]+/(?:.*[^a-z])?v?gpus?(?:[^a-z].*)?", re.IGNORECASE)
# Of clouds, and of device plugins whose resources the site names (vke.volcengine.com/rdma, vpc.amazonaws.com/efa,
# koordinator.sh/rdma, spidernet.io/shared_cx5_gpu1).
_LIKE_RDMA = re.compile(r"(?:.*[^a-z])?(?:erdma|efa|infiniband|srd)(?:[^a-z].*)?")
# Whatever the domain: a site may build NVIDIA's plugin with its own.
_PARTITION = re.compile(r"mig-.*|.*[0-9]g\.[0-9]+gb.*|(?!spx_)[a-z]+_nps[0-9]+")
_SHARE = re.compile(r".*\.shared|(?:.*[^a-z])?(?:vgpu|grid)(?:[^a-z].*)?|[a-z]?gpu[.-]?(?:mem|core|percent).*")


class Names(NamedTuple):
    """Extended resources of the site, beside those with well-known names. One that ends with ``/`` is a prefix."""

    rdma: Sequence[str] = ()
    gpus: Sequence[str] = ()


WELL_KNOWN = Names()


class GpuResource(NamedTuple):
    """What one of an extended resource is: a ``WHOLE`` GPU, a ``SHARE`` of one that others use too, or a ``PARTITION``.

    ``vendor`` is empty if only the site knows the name. Sharing without another name, and NVIDIA's MIG strategy
    ``single``, cannot be seen.
    """

    vendor: str
    part: str


def _is_of(name: str, names: Sequence[str]) -> bool:
    return name in names or name.startswith(tuple(prefix for prefix in names if prefix.endswith("/")))


def is_rdma(name: str, site: Names = WELL_KNOWN) -> bool:
    """Whether this extended resource is RDMA."""
    if _is_of(name, site.rdma) or _is_of(name, site.gpus):
        return _is_of(name, site.rdma)
    return name.startswith(_PREFIXES) or (name.startswith(_MIXED) and _NIC.fullmatch(_last(name)) is not None)


def _last(name: str) -> str:
    return name.partition("/")[2].lower()


def gpu(name: str, site: Names = WELL_KNOWN) -> Optional[GpuResource]:
    """The GPU that one of this extended resource is, ``None`` if it is something else."""
    if is_rdma(name, site):
        return None
    vendor = next((vendor for vendor, pattern in _GPU if pattern.fullmatch(name)), "")
    known = bool(vendor) or _is_of(name, site.gpus)
    if not known and not _OTHERS.fullmatch(name):
        return None
    part = PARTITION if _PARTITION.fullmatch(_last(name)) else SHARE if _SHARE.fullmatch(_last(name)) else WHOLE
    return GpuResource(vendor if known else OTHER, part)


def is_gpu(name: str, site: Names = WELL_KNOWN) -> bool:
    """Whether this extended resource is a GPU, or a part of one."""
    return gpu(name, site) is not None


def may_be_gpu(name: str, site: Names = WELL_KNOWN) -> bool:
    """The same, or its name says so although nobody has told whose it is (``example.com/gpu``)."""
    return is_gpu(name, site) or (not is_rdma(name, site) and _LIKE_GPU.fullmatch(name) is not None)


def may_be_rdma(name: str, site: Names = WELL_KNOWN) -> bool:
    """Whether its name sounds like RDMA, although nobody has told whose it is."""
    known = is_rdma(name, site) or is_gpu(name, site) or "/" not in name
    found = _NIC.fullmatch(_last(name)) or _LIKE_RDMA.fullmatch(_last(name))
    return not known and found is not None
