# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Names of objects that cannot be changed: a new content is a new object.

The spec of a ResourceClaim and that of a ResourceClaimTemplate are immutable (kubernetes/api, resource/v1/types.go).
The user's name of such an object is its alias. The object itself is called after the alias and its spec, so that the
one with the old spec can stay for as long as something uses it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Dict, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind

ALIAS = "zerocopy.rdma/alias"

CLAIM = GroupKind("resource.k8s.io", "ResourceClaim")
TEMPLATE = GroupKind("resource.k8s.io", "ResourceClaimTemplate")
# With the field by which a pod, or an object that creates pods, names one.
REFERENCES: Dict[GroupKind, str] = {CLAIM: "resourceClaimName", TEMPLATE: "resourceClaimTemplateName"}

_LONGEST_LABEL = 63
_DIGITS = 10


def hashed(alias: str, spec: Any) -> str:
    """The object's name. Raises ClusterError if the alias cannot be the value of a label."""
    if len(alias) > _LONGEST_LABEL:
        raise ClusterError(
            f"is {len(alias)} characters long, but {_LONGEST_LABEL} is the maximum, because it is also a label"
        )
    canonical = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    return f"{alias}-{hashlib.sha256(canonical.encode()).hexdigest()[:_DIGITS]}"


def renamed(tree: Any, names: Mapping[Tuple[str, str], str]) -> Any:
    """A copy of ``tree`` in which references by alias are references by name.

    ``names`` has the name for the field (see :data:`REFERENCES`) and the alias. What is no alias stays.
    """
    if isinstance(tree, dict):
        return {
            field: names.get((field, value), value) if isinstance(value, str) else renamed(value, names)
            for field, value in tree.items()
        }
    if isinstance(tree, list):
        return [renamed(value, names) for value in tree]
    return tree
