# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The end of the pods that use the old way, by the Eviction API, which respects PodDisruptionBudgets.

kubernetes.core.k8s_drain selects pods by their labels only, and gives up at the first budget in the way.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.look import MovingNode, NodeLook
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import User
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


def _evict(client: Client, user: User) -> str:
    """Why a pod may not be evicted now, empty if it is on its way."""
    body: Object = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": user.name, "namespace": user.namespace},
        "deleteOptions": {"preconditions": {"uid": user.uid}},
    }
    try:
        client.create(f"/api/v1/namespaces/{user.namespace}/pods/{user.name}/eviction", body, {})
    except ApiError as error:
        # Gone, or another pod has its name by now.
        if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            return ""
        # Nothing can be created in such a namespace, not even an eviction, and its pods are about to be deleted.
        if any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes):
            return "its namespace is being deleted"
        if error.status != HTTPStatus.TOO_MANY_REQUESTS:
            raise
        causes = [str(cause.get("message") or "") for cause in error.causes]
        return "; ".join(filter(None, causes)) or str(error)
    return ""


def drain(node: MovingNode) -> List[str]:
    """Wait until no pod uses the old way; the ones that were evicted. Raises ClusterError."""
    asked: Dict[str, str] = {}
    evict = node.step.evict

    def missing(seen: NodeLook) -> str:
        ending = {metadata(pod)["uid"] for pod in seen.pods if metadata(pod).get("deletionTimestamp")}
        told = []
        for user in seen.use.users:
            refused = "" if user.uid in ending else "has not ended"
            if refused and evict != "none" and (user.owner or evict == "all"):
                refused = _evict(node.client, user)
                if not refused:
                    asked[user.uid] = f"{user.namespace}/{user.name}"
            told.append(f"{user}: {refused or 'is ending'}")
        return "; ".join(told)

    node.wait(missing)
    return sorted(asked.values())
