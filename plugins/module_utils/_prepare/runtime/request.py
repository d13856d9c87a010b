# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The request and the outcome of one call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, Texts, as_result


@dataclass(frozen=True)
class RuntimeRequest:
    """``parts`` are options by part, ``nri`` and ``memlock``; a missing part is reverted.

    ``nri``: ``request_timeout``, ``registration_timeout``, ``cdi``, ``validator``. ``memlock``: ``limit`` in bytes and
    ``handlers``. ``await_plugins`` is in seconds.
    """

    parts: Dict[str, Dict[str, Any]]
    runtime: str = "auto"
    restart: bool = True
    recover: bool = False
    await_plugins: float = 30
    check: bool = False


@dataclass
class RuntimeOutcome:
    """What was or, in check mode, would be done."""

    changes: List[Change] = field(default_factory=list)
    texts: List[Texts] = field(default_factory=list)
    facts: Dict[str, Any] = field(default_factory=dict)
    warnings: List[str] = field(default_factory=list)

    def result(self) -> Dict[str, Any]:
        """``changed``, ``changes``, ``diff`` and ``warnings``, with the facts beside them."""
        return {**as_result(self.changes, self.texts), **self.facts, "warnings": self.warnings}
