# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Objects for a repository, as the module ``applyset`` would apply them: order, and names made from content."""

from __future__ import annotations

import copy
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, split_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import content_hash, order


def ordered(objects: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """Copies of the objects in the order in which they are applied."""
    found = []
    for item in objects:
        manifest: Dict[str, Any] = copy.deepcopy(dict(item))
        kind = GroupKind(split_version(manifest["apiVersion"])[0], manifest["kind"])
        if kind in content_hash.REFERENCES:
            meta = manifest["metadata"]
            meta["labels"] = {**(meta.get("labels") or {}), content_hash.ALIAS: meta["name"]}
            meta["name"] = content_hash.hashed(meta["name"], manifest.get("spec"))
        found.append((order.rank(kind), manifest))
    return [manifest for _rank, manifest in sorted(found, key=lambda entry: entry[0])]
