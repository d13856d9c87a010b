# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Waits until drivers have published devices, which takes some time after they are ready."""

from __future__ import annotations

import time
from typing import AbstractSet, Callable, Iterable, Set, Tuple, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client, Query
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model

_PAUSE_SECONDS = 0.5

_Awaited = TypeVar("_Awaited")


def until(
    client: Client,
    path: str,
    query: Query,
    wanted: AbstractSet[_Awaited],
    published: Callable[[Iterable[Object]], AbstractSet[_Awaited]],
    seconds: float,
) -> Set[_Awaited]:
    """Wait until everything ``wanted`` is among what ResourceSlices have ``published``; what is not is returned.

    ``path`` is that of the ResourceSlices, ``query`` says which of them matter, and ``seconds`` is how long there may
    be no progress. Raises ApiError, ClusterError.
    """
    deadline = time.monotonic() + seconds
    # Devices that a driver publishes again after a crash are no progress.
    fewest = len(wanted)
    while True:
        began = time.monotonic()
        slices = client.get(path, query)
        late = set(wanted - published(slices.get("items") or []))
        if len(late) < fewest:
            fewest, deadline = len(late), began + seconds
        if not late or time.monotonic() >= deadline:
            return late
        watched = {**query, "resourceVersion": metadata(slices)["resourceVersion"]}
        for event in client.watch(path, watched, deadline - time.monotonic()):
            if late & published([event["object"]]):
                break
        # Many nodes publish at the same time, and reading all slices once for each of them would be much.
        if time.monotonic() - began < _PAUSE_SECONDS:
            time.sleep(_PAUSE_SECONDS)


def until_published(
    client: Client, path: str, wanted: AbstractSet[Tuple[str, str]], seconds: float
) -> Set[Tuple[str, str]]:
    """Wait until each of these drivers has published a device of its node; see :func:`until`.

    There is one wait for all drivers, because on a broken node none of them publishes anything.
    """
    drivers = {driver for driver, _node in wanted}
    query = {"fieldSelector": f"spec.driver={min(drivers)}"} if len(drivers) == 1 else {}
    return until(client, path, query, wanted, lambda items: model.serving(model.devices(items)), seconds)
