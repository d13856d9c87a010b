# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Extended resources of a node that no device plugin offers: which of them are ours, as an annotation of it says."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.node_annotation import WrongAnnotationError, content
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer

ANNOTATION = "zerocopy.rdma/counters"
_RIGHT = "JSON with the number of each resource that this collection has written to the node"


def recorded(node: str, annotations: Mapping[str, Any]) -> Dict[str, int]:
    """The resources that we wrote to a node with these annotations, each with its number. Raises AnnotationError."""
    written = annotations.get(ANNOTATION)
    if written is None:
        return {}
    found = content(node, ANNOTATION, written)
    if not isinstance(found, dict) or not all(is_integer(number) for number in found.values()):
        raise WrongAnnotationError(node, ANNOTATION, written, _RIGHT)
    return found
