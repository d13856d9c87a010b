# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The GPUs that pods get by claims which they have already: these have a share in the NICs of a node, too.

A claim is read where it is among the manifests. Of another one nobody knows what it has.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, integer, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import ObjectRef

_GROUP = "resource.k8s.io"
_CLAIM, _TEMPLATE = "ResourceClaim", "ResourceClaimTemplate"
# DeviceClasses by what their names say: of GPUs, and of what is none. mig.nvidia.com has parts of GPUs.
_GPU = re.compile(r"(?:.*[^a-z])?(?:gpu|gaudi)(?:[^a-z].*)?")
_OTHER = re.compile(
    r"(?:.*[^a-z])?(?:mig|nics?|rdma|roce|ib|hca|dranet|dra\.net|net|sriov|cpu|memory|compute-domain|imex)(?:[^a-z].*)?"
)
Key = Tuple[str, str, str]


class Claims:
    """The ResourceClaims and their templates among these objects."""

    def __init__(self, objects: Iterable[Tuple[ObjectRef, Any]], ours: Iterable[str] = ()) -> None:
        self._found: Dict[Key, Any] = {}
        # Names of the claims and templates of the group, whose GPUs are counted with its requests.
        self._ours = set(ours)
        for ref, item in objects:
            if ref.kind.group == _GROUP and ref.kind.kind in (_CLAIM, _TEMPLATE):
                self._found[ref.kind.kind, ref.namespace, ref.name] = item

    def of_pod(self, spec: Mapping[str, Any], namespace: str) -> Dict[str, Optional[int]]:
        """The GPUs of each claim by the pod's name for it, ``None`` where that is not known."""
        return {text(entry.get("name")): self._gpus(entry, namespace) for entry in entries(spec.get("resourceClaims"))}

    def _gpus(self, entry: Mapping[str, Any], namespace: str) -> Optional[int]:
        template = text(entry.get("resourceClaimTemplateName"))
        name = template or text(entry.get("resourceClaimName"))
        if name in self._ours:
            return 0
        item = self._found.get((_TEMPLATE if template else _CLAIM, namespace, name))
        if item is None:
            return None
        devices = at(item, "spec", "spec", "devices") if template else at(item, "spec", "devices")
        numbers = [_of_request(request) for request in entries(at(devices, "requests"))]
        return None if None in numbers else sum(number or 0 for number in numbers)


def _of_request(request: Mapping[str, Any]) -> Optional[int]:
    """Of one of several alternatives, the one with most."""
    # The first version of the API has no alternatives, and the fields in the request itself.
    several: List[Mapping[str, Any]] = entries(request.get("firstAvailable"))
    exactly = request.get("exactly")
    numbers = [_number(each) for each in several or [exactly if isinstance(exactly, dict) else request]]
    return None if None in numbers else max((number or 0 for number in numbers), default=0)


def _number(request: Mapping[str, Any]) -> Optional[int]:
    name = text(request.get("deviceClassName")).lower()
    if _GPU.fullmatch(name):
        return integer(request.get("count", 1)) if request.get("allocationMode", "ExactCount") == "ExactCount" else None
    return 0 if _OTHER.fullmatch(name) else None
