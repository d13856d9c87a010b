# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Waiting until a driver publishes the devices of pods that have ended as it did before.

DRANET looks at its node again some time after a NIC is back (``--inventory-min-poll-interval``). Until then a pod that
is given the NIC starts without it, and nobody says so.
"""

from __future__ import annotations

import time
from typing import Any, Collection, Dict, FrozenSet, Iterable, Mapping, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices.wait import until
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model

# Driver, pool and name of a device.
_Key = Tuple[str, str, str]
# The names of the attributes of each device.
Published = Dict[_Key, FrozenSet[str]]


def _of_node(node: str) -> Dict[str, str]:
    return {"fieldSelector": f"spec.nodeName={node}"}


def _read(node: str, slices: Iterable[Object]) -> Published:
    try:
        return {
            (device.driver, device.pool, device.name): frozenset(device.attributes) for device in model.devices(slices)
        }
    except ValueError as error:
        raise ClusterError(f"a ResourceSlice of {node} cannot be read: {error}") from error


def published(client: Client, path: str, nodes: Iterable[str]) -> Dict[str, Published]:
    """What each of these nodes publishes; ``path`` is that of the ResourceSlices. Raises ClusterError."""
    return {node: _read(node, client.get(path, _of_node(node)).get("items") or []) for node in sorted(nodes)}


def until_returned(
    client: Client,
    path: str,
    before: Mapping[str, Published],
    results: Collection[Mapping[str, Any]],
    seconds: float,
) -> None:
    """Wait until the devices of ``results`` (of allocations) have the attributes again that they had ``before``.

    Returns after ``seconds`` without progress in any case: whoever compares the nodes with their facts reports what has
    not come back. Raises ClusterError.
    """
    keys = {(str(result["driver"]), str(result["pool"]), str(result["device"])) for result in results}
    deadline = time.monotonic() + seconds
    for node, own in before.items():
        wanted = {key: own[key] for key in own.keys() & keys}

        def returned(slices: Iterable[Object], node: str = node, wanted: Published = wanted) -> Set[_Key]:
            now = _read(node, slices)
            return {key for key, attributes in wanted.items() if attributes <= now.get(key, frozenset())}

        if wanted:
            until(client, path, _of_node(node), wanted.keys(), returned, deadline - time.monotonic())
