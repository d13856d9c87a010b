# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""Which package brings a missing kernel module on this distribution."""

from __future__ import annotations

import re
from typing import Callable, Dict, List, Optional, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

# Modules of the mainline kernel (drivers/infiniband, drivers/net and what they serve). Of others, such as
# nvidia_peermem or a vendor's own, nobody knows the package from the name.
_MAINLINE = re.compile(
    r"^(?:bnxt_(?:en|re)|cxgb4|efa|ena|erdma|hfi1|hns_roce_hw_v2|i40e"
    r"|ib_(?:cm|core|ipoib|isert?|mthca|qib|srpt?|umad|uverbs)|ice|ionic(?:_rdma)?|irdma"
    r"|iw_(?:cm|cxgb4)|mana(?:_ib)?|mlx4_(?:core|en|ib)|mlx5_(?:core|ib)|nvmet?_rdma|ocrdma|opa_vnic|qed[er]"
    r"|rdma_(?:cm|rxe|ucm)|rdmavt|rds_rdma|rpcrdma|siw|smc|usnic_verbs|vmw_pvrdma)"
)
_DEBIAN = ("linux-modules", "linux-image")
_LINE = re.compile(r"""^([A-Z_]+)=["']?([^"'\n]*)["']?$""", re.M)


def _release_file(files: Files) -> Dict[str, str]:
    text = files.text("/etc/os-release") or files.text("/usr/lib/os-release") or ""
    return dict(_LINE.findall(text))


def _installed(files: Files, package: str) -> bool:
    return files.exists(f"/var/lib/dpkg/info/{package}.list")


def _debian(files: Files, release: str, lacking: bool) -> Optional[str]:
    if not re.search(r"-(?:amd64|arm64|686|ppc64el|s390x|riscv64)\Z", release):
        return None
    if lacking:
        # Since Debian 14 the modules have a package of their own.
        return next((f"{name}-{release}" for name in _DEBIAN if _installed(files, f"{name}-{release}")), None)
    if "-cloud-" not in release:
        return None
    return "linux-image-{}, another kernel: the one for clouds is built without it".format(release.rsplit("-", 1)[-1])


def _ubuntu(files: Files, release: str, lacking: bool) -> Optional[str]:
    if not re.fullmatch(r"[0-9.]+-[0-9]+-[a-z][a-z0-9-]*", release):
        return None
    package = f"linux-modules-{release}" if lacking else f"linux-modules-extra-{release}"
    return None if not lacking and _installed(files, package) else package


def _fedora(_files: Files, release: str, lacking: bool) -> Optional[str]:
    if (".el" not in release and ".fc" not in release) or "uek" in release:
        return None
    if lacking:
        return f"kernel-modules-core-{release}"
    return f"kernel-modules-{release} or kernel-modules-extra-{release}"


def _suse(_files: Files, release: str, lacking: bool) -> Optional[str]:
    flavour = release.rsplit("-", 1)[-1]
    if flavour not in ("default", "azure", "64kb", "rt"):
        return None
    return f"kernel-{flavour}" if lacking else f"kernel-{flavour} (kernel-{flavour}-base leaves it out)"


_FAMILIES: List[Tuple[Set[str], Callable[[Files, str, bool], Optional[str]]]] = [
    ({"ubuntu"}, _ubuntu),
    ({"debian"}, _debian),
    ({"fedora", "rhel", "centos"}, _fedora),
    ({"suse", "opensuse", "sles"}, _suse),
]


def package_of(files: Files, module: str, release: str, lacking: bool = False) -> Optional[str]:
    """The package with the module for this kernel release, in words that fit "it is in the package ...".

    ``lacking`` says that no module at all is there. ``None`` when it is not known: not a module of the mainline kernel,
    a kernel that is not the distribution's own or is built without it, another distribution (os-release(5): ID and
    ID_LIKE).
    """
    if not (lacking or _MAINLINE.fullmatch(module)):
        return None
    data = _release_file(files)
    families: Set[str] = {data.get("ID", ""), *data.get("ID_LIKE", "").split()}
    return next((find(files, release, lacking) for names, find in _FAMILIES if families & names), None)
