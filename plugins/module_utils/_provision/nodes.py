# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Labels of many nodes at once: one list, and one write for each node that differs."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import (
    FIELD_MANAGER,
    METADATA_LIST,
    Client,
)

_NODES = "/api/v1/nodes"

Labels = Mapping[str, Optional[str]]


def converge(client: Client, wanted: Mapping[str, Labels], check: bool) -> Dict[str, Any]:
    """Give each node its labels, ``None`` meaning none; ``changed``, ``nodes`` and ``missing`` (names) and ``diff``.

    ``missing`` are nodes that should get labels and are not in the cluster, or leave it at this moment: the others get
    theirs all the same.
    """
    present = {node["metadata"]["name"]: node["metadata"] for node in client.get(_NODES, accept=METADATA_LIST)["items"]}
    missing = [name for name, labels in wanted.items() if name not in present and any(labels.values())]
    before: Dict[str, Labels] = {}
    for name, labels in wanted.items():
        known = present.get(name, {}).get("labels") or {}
        now = {label: known.get(label) for label in labels}
        if name in present and now != dict(labels):
            before[name] = now

    def write(name: str) -> bool:
        # With the uid, the request fails if another node has taken this name.
        meta = {"uid": present[name]["uid"], "labels": wanted[name]}
        try:
            client.merge(f"{_NODES}/{name}", {"metadata": meta}, {"fieldManager": FIELD_MANAGER})
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False
            raise
        return True

    if not check:
        for name, found in zip(list(before), client.all(write, list(before))):
            if not found:
                del before[name]
                missing += [name] if any(wanted[name].values()) else []
    return {"changed": bool(before), "nodes": list(before), "missing": missing, "diff": _diff(before, wanted)}


def _diff(before: Mapping[str, Labels], wanted: Mapping[str, Labels]) -> List[Dict[str, str]]:
    def text(side: Mapping[str, Labels]) -> str:
        return "".join(f"{name} {k}: {v}\n" for name in before for k, v in side[name].items() if v is not None)

    return diff("labels of nodes", text(before), text(wanted))


def diff(what: str, before: str, after: str) -> List[Dict[str, str]]:
    """Something of nodes before and after, as modules return it."""
    return [{"before_header": what, "after_header": what, "before": before, "after": after}] if before != after else []
