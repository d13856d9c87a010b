# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Applying what a plan found to be applied."""

from __future__ import annotations

import time
from typing import List, NamedTuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import listed
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import (
    JSON,
    METADATA,
    Client,
    Query,
    Response,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import (
    ApplysetRequest,
    ApplyStep,
    apply_query,
    explained,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

# Seconds for an API server to serve a kind after its definition is established.
_NEW_KIND_SECONDS = 30.0
_NEW_KIND_PAUSE = 0.1


class Failures(NamedTuple):
    """What is wrong, in lines. Unless all is ``known``, an object may be applied, and only the answer was lost."""

    lines: List[str]
    known: bool

    def error(self) -> ClusterError:
        told = "could not be applied although a dry run was accepted" if self.known else "may or may not be applied"
        many = counted(len(self.lines), "object")
        return ClusterError(f"{many} {told}; the next run continues from here:\n{listed(self.lines)}")


def write(client: Client, request: ApplysetRequest, steps: List[ApplyStep]) -> Failures:
    """Apply the objects, several at a time, note what became of them, and return what is wrong."""
    accept = JSON if request.wait or request.diff else METADATA
    lines, known = [], True
    answers = client.map(lambda step: _apply(client, step, apply_query(request, step), accept), steps)
    for step, answer in zip(steps, answers):
        if isinstance(answer, ClusterError):
            lines.append(explained(request, step.wanted, answer))
            known &= isinstance(answer, ApiError)
        else:
            step.after = answer.body
            step.action = step.action or ("created" if answer.status == 201 else "configured")
    return Failures(lines, known)


def _apply(client: Client, step: ApplyStep, query: Query, accept: str) -> Response:
    wanted = step.wanted
    path = wanted.resource.path(wanted.key.namespace, wanted.key.name)
    deadline = time.monotonic() + _NEW_KIND_SECONDS
    while True:
        try:
            return client.apply(path, wanted.body, query, accept)
        except ApiError as error:
            # Established, but not served by all handlers yet: that is the 404 of an unknown path.
            if not wanted.resource.new or error.status != 404 or error.reason or time.monotonic() > deadline:
                raise
            time.sleep(_NEW_KIND_PAUSE)
