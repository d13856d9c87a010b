# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Extended resources of a node that no device plugin offers: which of them are ours, as an annotation of it says."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer

ANNOTATION = "zerocopy.rdma/counters"


class CountersError(ValueError):
    """The annotation was not written by this collection."""


def recorded(annotations: Mapping[str, Any]) -> Dict[str, int]:
    """The resources that we wrote to a node with these annotations, each with its number. Raises CountersError."""
    written = annotations.get(ANNOTATION)
    if written is None:
        return {}
    try:
        found = json.loads(written)
    except (TypeError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(is_integer(number) for number in found.values()):
        raise CountersError(f"annotation {ANNOTATION} is {written!r}, which is not ours: remove it")
    return found
