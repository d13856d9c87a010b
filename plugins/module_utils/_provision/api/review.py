# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Asks the API server whether this user has a right (SelfSubjectAccessReview)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True)
class Right:
    """As in a SelfSubjectAccessReview: without a name it is for all objects, without a namespace for all of them."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def place(self) -> str:
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        kind = f"{resource}.{self.group}" if self.group else resource
        return kind + f" {self.name}" * bool(self.name) + f" in namespace {self.namespace}" * bool(self.namespace)


def is_administrator(client: Client) -> bool:
    """Whether this user may do everything. Raises ApiError where nobody may ask."""
    return is_allowed(client, Right("*", "*", "*"))


def is_allowed(client: Client, right: Right) -> bool:
    """Raises ApiError where nobody may ask."""
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    given = {name: value for name, value in asdict(right).items() if value}
    answer: Mapping[str, Any] = client.create(_REVIEWS, {**kind, "spec": {"resourceAttributes": given}}, {}).body
    return bool((answer.get("status") or {}).get("allowed"))
