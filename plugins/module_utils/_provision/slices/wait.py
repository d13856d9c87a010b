# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Waiting until the driver has published NICs, which it does some time after its pod is ready."""

from __future__ import annotations

import time
from typing import Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client

_AGAIN_SECONDS = 0.5
_OF_DRANET = {"fieldSelector": f"spec.driver={model.DRANET}"}


def until_published(client: Client, path: str, names: Set[str], seconds: float) -> Set[str]:
    """Wait until DRANET has published an RDMA NIC of each of these nodes; those without one are returned.

    ``path`` is that of the ResourceSlices, ``seconds`` is how long there may be no progress. Raises ApiError,
    ClusterError.
    """
    deadline = time.monotonic() + seconds
    late = names
    while True:
        began = time.monotonic()
        slices = client.get(path, _OF_DRANET)
        left = names - model.with_nics(slices.get("items") or [])
        if len(left) < len(late):
            deadline = began + seconds
        late = left
        if not late or time.monotonic() >= deadline:
            return late
        query = {**_OF_DRANET, "resourceVersion": metadata(slices)["resourceVersion"]}
        events = client.watch(path, query, deadline - time.monotonic())
        try:
            for event in events:
                if event["type"] == "ERROR" or late & model.with_nics([event["object"]]):
                    break
        except ApiError as error:
            # Gone is the resourceVersion, too old for a watch.
            if error.status != 410:
                raise
        finally:
            events.close()  # type: ignore[attr-defined]  # it is a generator
        # Many nodes publish at the same time, and a load balancer that ends every watch shall not make it a busy loop.
        if time.monotonic() - began < _AGAIN_SECONDS:
            time.sleep(_AGAIN_SECONDS)
