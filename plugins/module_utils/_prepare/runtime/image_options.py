# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The options of ``container_image``: their specification, and the request they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import CHOICES, NONE

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "name": {"type": "str"},
    "archive": {"type": "path"},
    "ids": {"type": "dict"},
    "runtime": {"type": "str", "choices": [*CHOICES, NONE], "default": "auto"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
REQUIRED_IF = [("state", "present", ("name", "ids"))]


@dataclass(frozen=True)
class ImageRequest:
    """``identities`` are IDs by architecture; without ``archive``, a path on the node, nothing is imported.

    Without ``name``, images that earlier calls imported are to be removed.
    """

    name: str
    identities: Mapping[str, str]
    archive: str = ""
    runtime: str = "auto"
    check: bool = False


def request(params: Mapping[str, Any], check: bool) -> ImageRequest:
    """The request of a module's parameters; ``check`` for check mode."""
    if params["state"] == "absent":
        return ImageRequest("", {}, runtime=params["runtime"], check=check)
    archive = params.get("archive") or ""
    return ImageRequest(params["name"], params["ids"], archive, params["runtime"], check)
