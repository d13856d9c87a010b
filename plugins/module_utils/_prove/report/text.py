# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How values look to a reader, the same in every form of the report."""

from __future__ import annotations

import json
from typing import Any, Iterable, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import VerifyDocument, document
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible

WORDS = {"pass": "pass", "impossible": "not judged", "warn": "warning", "fail": "fail"}


def read(value: Mapping[str, Any]) -> VerifyDocument:
    """The document of what went through Ansible, whose texts are of kinds that some libraries refuse.

    Raises DocumentError.
    """
    return document(plain(value))


def clean(text: Any) -> str:
    """The text as people may see it, with its line breaks; all that is left can be written in XML 1.0 (section 2.2)."""
    return visible(str(text))


def figure(value: Optional[float]) -> str:
    """A measured value in three digits or so; what was not measured is a dash."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percent(fraction: Optional[float], signed: bool = False) -> str:
    """``12 %``; ``+12 %`` for a change."""
    return "-" if fraction is None else f"{fraction * 100:{'+' if signed else ''}.0f} %"


def duration(seconds: float) -> str:
    """A measured time in a unit that suits it."""
    unit, factor = next((pair for pair in (("s", 1.0), ("ms", 1e3)) if seconds * pair[1] >= 1), ("\u00b5s", 1e6))
    return f"{figure(seconds * factor)} {unit}"


def span(values: Iterable[Optional[float]]) -> str:
    """The one value that all are, or the least and the greatest."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return "-"
    ends = dict.fromkeys([figure(known[0]), figure(known[-1])])
    return " to ".join(ends)


def evidence(values: Mapping[str, Any]) -> str:
    """Plain values as ``mtu=1500, wanted=9000``; anything nested as JSON."""
    return ", ".join(f"{key}={_plain(value)}" for key, value in values.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def names(many: Sequence[str], limit: int) -> str:
    """Names folded; a text longer than ``limit`` characters becomes their number and the first of them."""
    text = clean(fold(many))
    others = len(set(many)) - 1
    return text if len(text) <= limit or others < 1 else f"{clean(many[0])} and {others} more"
