# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Address pools that whereabouts keeps after their last address was given back, and with them the kind of pools."""

from __future__ import annotations

from http import HTTPStatus

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind, Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client

_POOL = GroupKind("whereabouts.cni.cncf.io", "IPPool")


def remove(client: Client, namespace: str) -> None:
    """Remove the pools of a namespace that have no addresses in use, and the lease of whereabouts there.

    Raises ClusterError.
    """
    kind = Api([client.get("/apis", accept=ACCEPT)]).find(_POOL, "v1alpha1")
    pools = client.get(kind.path(namespace)).get("items") or [] if kind else []
    for pool in pools:
        if kind and not (pool.get("spec") or {}).get("allocations"):
            # A pod that gets an address at this moment changes the version, and then the pool stays.
            conditions = {name: metadata(pool)[name] for name in ("uid", "resourceVersion")}
            _delete(client, kind.path(namespace, metadata(pool)["name"]), {"preconditions": conditions})
    _delete(client, f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/whereabouts", {})


def _delete(client: Client, path: str, more: Object) -> None:
    try:
        client.delete(path, {"apiVersion": "v1", "kind": "DeleteOptions", **more})
    except ApiError as error:
        if error.status != HTTPStatus.CONFLICT:
            raise
