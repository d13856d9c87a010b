# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Lists of what tenants have made, page by page: whatever they have put into it, a page fits into the memory."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Callable, Dict, List, Optional, Sequence, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import (
    Client,
    Query,
    TooLargeError,
)

# Objects of one answer, as kubectl asks for them: a list of thousands at once would block the API server.
PAGE = 500

_Kept = TypeVar("_Kept")


def read(client: Client, path: str, query: Optional[Query], keep: Callable[[Object], Sequence[_Kept]]) -> List[_Kept]:
    """What ``keep`` keeps of all objects of a list. Raises ClusterError."""
    kept: List[_Kept] = []
    base: Any = query or {}
    limit, is_again = PAGE, False
    where: Dict[str, str] = {}
    while True:
        try:
            page = client.get(path, {**base, "limit": limit, **where})
        except TooLargeError:
            if limit == 1:
                raise
            # With one at a time, the largest objects fit.
            limit = max(1, limit // 20)
            continue
        except ApiError as error:
            if error.status != 410 or not where:
                raise
            # The pages have expired meanwhile. Who has filled them has a say in how long they take, so all are never
            # read in one answer.
            if error.rest:
                where = {"continue": error.rest}
            elif is_again:
                raise
            else:
                kept, where, is_again = [], {}, True
            continue
        items = page.get("items")
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                kept += keep(item)
        more = (page.get("metadata") or {}).get("continue")
        if not more:
            return kept
        where = {"continue": more}


def read_if_allowed(
    client: Client, path: str, query: Optional[Query], keep: Callable[[Object], Sequence[_Kept]]
) -> Optional[List[_Kept]]:
    """The same, ``None`` where this user may not read it."""
    try:
        return read(client, path, query, keep)
    except ApiError as error:
        if error.status == HTTPStatus.FORBIDDEN:
            return None
        raise
