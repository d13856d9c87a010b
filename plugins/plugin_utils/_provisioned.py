# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What provision has done in this run, from the results that its tasks have left."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory

_RESULTS = ("rdma_provision_result", "rdma_provision_claims")


def _place(entry: Mapping[str, Any]) -> Tuple[Any, ...]:
    return tuple(entry.get(part) for part in ("kind", "namespace", "name"))


def objects(variables: Mapping[str, Any]) -> Dict[str, List[Mapping[str, Any]]]:
    """What was done to objects, by the set that they are in, or the title of the step without one.

    Where several steps have looked at an object, the one that has changed it counts.
    """
    found: Dict[str, Dict[Tuple[Any, ...], Mapping[str, Any]]] = {}
    for name in _RESULTS:
        for step in (_inventory.raw(variables, name) or {}).get("steps") or []:
            of_set = found.setdefault(step.get("set") or step["title"], {})
            for entry in step.get("objects") or []:
                before = of_set.get(_place(entry))
                of_set[_place(entry)] = before if before and entry["action"] == "unchanged" else entry
    return {name: list(of_set.values()) for name, of_set in found.items() if of_set}


def manifests(variables: Mapping[str, Any]) -> List[str]:
    """The files that were changed, or would be in check mode, because there is no cluster."""
    return list((_inventory.raw(variables, _RESULTS[0]) or {}).get("manifests") or [])
