# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Names that Kubernetes, the kernel and NetworkManager take; those of kernel modules are in ``kernel_module``."""

from __future__ import annotations

import hashlib
import re

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

_LABEL = re.compile("[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_DEVICE = re.compile("[A-Za-z0-9_.-]+")
_QUALIFIED = re.compile("[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_FILE = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]*")

LONGEST_LABEL = 63
_LONGEST_SUBDOMAIN = 253
# IFNAMSIZ of include/uapi/linux/if.h, without the zero at the end.
LONGEST_INTERFACE = 15
# IB_DEVICE_NAME_MAX of include/uapi/rdma/ib_user_verbs.h, without the zero at the end.
_LONGEST_DEVICE = 63
# Of the digest that tells names with one beginning apart.
_DIGITS = 10


def is_label(text: str, longest: int = LONGEST_LABEL) -> bool:
    """A DNS label (RFC 1123), as namespaces and many objects are named."""
    return len(text) <= longest and _LABEL.fullmatch(text) is not None


def shortened(text: str, longest: int) -> str:
    """A DNS label that is too long, cut off, with a digest of all of it."""
    if len(text) <= longest:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    return f"{text[: longest - _DIGITS - 1].rstrip('-')}-{digest}"


def is_subdomain(text: str) -> bool:
    """A DNS subdomain (RFC 1123), as most objects of Kubernetes are named."""
    return len(text) <= _LONGEST_SUBDOMAIN and all(is_label(part, _LONGEST_SUBDOMAIN) for part in text.split("."))


def is_extended_resource(text: str) -> bool:
    """An extended resource, like ``nvidia.com/hostdev``: IsExtendedResourceName of pkg/apis/core/v1/helper."""
    domain, slash, name = text.partition("/")
    # A quota of it is named requests.<domain>/<name>, which has to be valid as well.
    if not slash or domain.startswith("requests.") or not is_subdomain(f"requests.{domain}"):
        return False
    # The test of IsNativeResource. It has no dot before it, so any domain that ends with this is native.
    return "kubernetes.io/" not in text and len(name) <= LONGEST_LABEL and _QUALIFIED.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """A value of a label, other than the empty one."""
    return len(text) <= LONGEST_LABEL and _QUALIFIED.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """The key of a label with a domain, like ``network.topology.nvidia.com/leaf``."""
    domain, slash, name = text.partition("/")
    return bool(slash) and is_subdomain(domain) and is_label_value(name)


def is_rdma_device(text: str) -> bool:
    """An RDMA device, like ``mlx5_0``."""
    return len(text) <= _LONGEST_DEVICE and _DEVICE.fullmatch(text) is not None


def is_file(text: str, longest: int = 255) -> bool:
    """The base name of a file that is not hidden."""
    return len(text) <= longest and _FILE.fullmatch(text) is not None


def interface(text: str) -> None:
    """A network interface, as the kernel's ``dev_valid_name`` has it, in ASCII. Raises RefusedError."""
    if not _DEVICE.fullmatch(text) or len(text) > LONGEST_INTERFACE or text in (".", ".."):
        right = f"it must be a name for a network interface: at most {LONGEST_INTERFACE} letters, digits, - _ or ."
        raise RefusedError(right)
