# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether Kueue, where a cluster has it, admits workloads with these claims (``pkg/dra`` of kubernetes-sigs/kueue)."""

from __future__ import annotations

from typing import Any, Collection, Dict, Iterator, Mapping, Optional, Sequence


def _classes(spec: Mapping[str, Any]) -> Iterator[str]:
    for request in spec["devices"]["requests"]:
        for body in [request["exactly"]] if "exactly" in request else request["firstAvailable"]:
            yield body["deviceClassName"]


def unmapped(objects: Sequence[Mapping[str, Any]], mapped: Optional[Collection[str]]) -> Iterator[str]:
    """A warning of DeviceClasses in templates for which Kueue has no quota.

    ``mapped`` are those of its ``deviceClassMappings``, ``None`` if they are not known or there is no Kueue. Extended
    resources need no mapping, and single claims have no quota.
    """
    if mapped is None:
        return
    found: Dict[str, None] = {}
    for item in objects:
        if item["kind"] == "ResourceClaimTemplate":
            found.update(dict.fromkeys(name for name in _classes(item["spec"]["spec"]) if name not in mapped))
    if found:
        entries = ", ".join(f"{{name: {name.replace('.', '-')}, deviceClassNames: [{name}]}}" for name in found)
        what = "Kueue 0.18 and newer admit no workload with these templates until its configuration has"
        yield f"{what} resources.deviceClassMappings: [{entries}] and its ClusterQueues have quotas for these names"
