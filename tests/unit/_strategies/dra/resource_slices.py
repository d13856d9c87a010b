# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Devices as the ResourceSlices (v1) that drivers would publish, for nodes that exist only as objects."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import (
    GPU_MAKERS,
    SliceDevice,
    Taint,
    Value,
    Version,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

_API_VERSION = "resource.k8s.io/v1"
# In this order since a bool is an int.
_KINDS = (("bool", bool), ("int", int), ("string", str), ("version", Version))


def _as_attribute(value: Value) -> Dict[str, Any]:
    plural = "s" if isinstance(value, tuple) else ""
    values = value if isinstance(value, tuple) else (value,)
    key = next(key for key, kind in _KINDS if isinstance(values[0], kind))
    plain = [item.text if isinstance(item, Version) else item for item in values]
    return {f"{key}{plural}": plain if plural else plain[0]}


def _as_taint(taint: Taint) -> Dict[str, Any]:
    texts = {"key": taint.key, "value": taint.value, "effect": taint.effect, "timeAdded": taint.time_added}
    return {name: text for name, text in texts.items() if text}


def _as_slice(driver: str, pool: str, node: Optional[str], members: List[SliceDevice]) -> Dict[str, Any]:
    def name(qualified: str) -> str:
        domain, _slash, own = qualified.partition("/")
        # Drivers of GPUs leave their own domain out, DRANET does not.
        return own if domain == driver and driver in GPU_MAKERS else qualified

    listed = []
    for device in sorted(members, key=lambda member: natural_key(member.name)):
        attributes = {name(key): _as_attribute(value) for key, value in sorted(device.attributes.items())}
        entry: Dict[str, Any] = {"name": device.name, "attributes": attributes}
        if device.capacity:
            entry["capacity"] = {name(key): {"value": value} for key, value in sorted(device.capacity.items())}
        if device.taints:
            entry["taints"] = [_as_taint(taint) for taint in device.taints]
        listed.append(entry)
    spec = {"driver": driver, "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}, "devices": listed}
    where: Dict[str, Any] = {"allNodes": True} if node is None else {"nodeName": node}
    return {
        "apiVersion": _API_VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{pool}-{driver}"},
        "spec": {**spec, **where},
    }


def resource_slices(found: Iterable[SliceDevice]) -> List[Dict[str, Any]]:
    """One ResourceSlice for each pool."""
    pools: Dict[Tuple[str, str, Optional[str]], List[SliceDevice]] = {}
    for device in found:
        pools.setdefault((device.driver, device.pool, device.node), []).append(device)
    return [_as_slice(driver, pool, node, members) for (driver, pool, node), members in pools.items()]
