# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Accounts that may do less than an administrator: that of a node's kubelet, and that of a tenant."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from vmlab.progress import await_condition

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object

TENANT = "tenant"


class Account:
    """What this user of these groups may do with kubectl."""

    def __init__(self, cluster_set: ClusterSet, user: str, *groups: str) -> None:
        self._kubectl = cluster_set.kubectl
        self._flags = [f"--as={user}", *(f"--as-group={group}" for group in groups)]

    def __call__(self, *arguments: str, stdin: Object | None = None) -> str:
        return self._kubectl(*self._flags, *arguments, stdin=stdin)

    def refused(self, *arguments: str, stdin: Object | None = None) -> str:
        """Why the API server refuses it."""
        said = self._kubectl(*self._flags, *arguments, stdin=stdin, check=False)
        assert "(Forbidden)" in said or "forbidden: " in said, said
        return said


def node(cluster_set: ClusterSet, name: str) -> Account:
    """The account of a kubelet, which the node authorizer and NodeRestriction know by its name and group."""
    return Account(cluster_set, f"system:node:{name}", "system:nodes")


@contextlib.contextmanager
def tenant(cluster_set: ClusterSet, namespace: str) -> Iterator[Account]:
    """Somebody who may edit one namespace, and nothing else."""
    name = f"{TENANT}-{namespace}"
    kubectl = ("create", "rolebinding", name, f"--namespace={namespace}", "--clusterrole=edit", f"--user={name}")
    cluster_set.kubectl(*kubectl)
    found = Account(cluster_set, name)
    can = [f"--as={name}", "auth", "can-i", "create", "pods", f"--namespace={namespace}"]
    # The authorizer hears of it a moment later.
    await_condition("the rights of the tenant", lambda: "yes" in cluster_set.kubectl(*can, check=False), seconds=60)
    yield found
    cluster_set.kubectl("delete", "rolebinding", name, f"--namespace={namespace}")
