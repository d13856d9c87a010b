# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Names of container images (``reference`` of github.com/distribution/reference)."""

from __future__ import annotations

import re

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

_HOST = r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::[0-9]{1,5})?"
_COMPONENT = "[a-z0-9]+(?:(?:[.]|_{1,2}|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(f"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*")
_VERSION = re.compile(r"v?[0-9]{1,4}(?:\.[0-9]{1,4}){2}(?:-[0-9A-Za-z.-]{1,64})?")
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


def repository(text: str) -> str:
    """An image's name without tag and digest. Raises RefusedError."""
    if not _REPOSITORY.fullmatch(text):
        right = "it must be an image without scheme, tag or digest, in lower case, like registry.k8s.io/dranet"
        raise RefusedError(right)
    return text


def version(text: str) -> str:
    """A version, which with a ``v`` is the tag of an image. Raises RefusedError."""
    if not _VERSION.fullmatch(text):
        raise RefusedError("it must be a version like 1.4.0")
    return text


def digest(text: str) -> str:
    """Raises RefusedError."""
    if not _DIGEST.fullmatch(text):
        raise RefusedError("it must be sha256: and 64 hexadecimal digits, or empty")
    return text
