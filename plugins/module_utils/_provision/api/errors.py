# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The exceptions that leave the library: the problem, in terms that users know."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping


class ClusterError(Exception):
    """Something in the cluster, or in what was asked for, makes the change impossible. The message is for the user."""


class GivenUpError(ClusterError):
    """A request was repeated for as long as that makes sense: another one will most likely fare no better."""


class ApiError(ClusterError):
    """The API server answered with an error: its HTTP status and the ``Status`` object of the answer."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(str(body.get("message") or f"HTTP status {status}"))
        self.status = status
        self.reason = str(body.get("reason") or "")
        self.details: Dict[str, Any] = body.get("details") or {}
        # Of a list whose pages have expired (410): from where the others can be read as they are now.
        meta = body.get("metadata")
        self.rest = str(meta.get("continue") or "") if isinstance(meta, dict) else ""
        # The same request was sent before, and its answer was lost: it may have been carried out then.
        self.repeated = False

    @property
    def causes(self) -> List[Dict[str, Any]]:
        """The causes that the API server lists, each with ``reason``, ``message`` and ``field``."""
        return self.details.get("causes") or []

    @property
    def conflicts(self) -> List[str]:
        """Of a conflict of server-side apply: each field with the manager it belongs to."""
        found = []
        for cause in self.causes:
            if cause.get("reason") == "FieldManagerConflict":
                manager = re.search('"([^"]*)"', str(cause.get("message")))
                found.append(f"{cause.get('field')} belongs to {manager.group(1) if manager else 'another manager'}")
        return found
