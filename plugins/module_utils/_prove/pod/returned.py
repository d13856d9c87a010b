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
from typing import Any, Collection, Dict, FrozenSet, Iterable, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client

_AGAIN_SECONDS = 1.0

# By driver, pool and name of a device, the names of its attributes.
Published = Dict[Tuple[str, str, str], FrozenSet[str]]


def published(client: Client, path: str, nodes: Iterable[str]) -> Published:
    """What these nodes publish; ``path`` is that of the ResourceSlices. Raises ClusterError."""
    found: Published = {}
    for node in sorted(nodes):
        items = client.get(path, {"fieldSelector": f"spec.nodeName={node}"}).get("items") or []
        try:
            found.update({(one.driver, one.pool, one.name): frozenset(one.attributes) for one in model.devices(items)})
        except ValueError as error:
            raise ClusterError(f"a ResourceSlice of {node} cannot be read: {error}") from error
    return found


def until_returned(
    client: Client,
    path: str,
    nodes: Collection[str],
    before: Published,
    results: Iterable[Mapping[str, Any]],
    seconds: float,
) -> None:
    """Wait until the devices of ``results`` (of allocations) have the attributes again that they had ``before``.

    Returns after ``seconds`` in any case: whoever compares the nodes with their facts reports what has not come back.
    Raises ClusterError.
    """
    keys = [(str(one["driver"]), str(one["pool"]), str(one["device"])) for one in results]
    wanted = {key: before[key] for key in keys if key in before}
    deadline = time.monotonic() + seconds
    while wanted and time.monotonic() < deadline:
        now = published(client, path, nodes)
        wanted = {key: names for key, names in wanted.items() if not names <= now.get(key, frozenset())}
        if wanted:
            time.sleep(_AGAIN_SECONDS)
