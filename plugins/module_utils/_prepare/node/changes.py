# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a module changes, as the one list from which ``changed``, ``diff`` and the actions all come."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Sequence


@dataclass(frozen=True)
class Change:
    """One difference between what is and what should be.

    ``kind`` is ``file``, ``module``, ``sysctl``, ``connection``, ``service`` ...; ``name`` is the path or the thing's
    own name. ``before`` and ``after`` are short values (text, number, ``None`` for absent); of files they are
    ``present`` or ``absent``, since the texts are in the diff.
    """

    kind: str
    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Texts:
    """What ``--diff`` shows of one file; ``None`` where it does not exist."""

    path: str
    before: Optional[str]
    after: Optional[str]


def as_result(changes: Sequence[Change], texts: Sequence[Texts]) -> Dict[str, Any]:
    """``changed``, ``changes`` and ``diff`` as a module returns them; live changes are lines in the diff."""
    diff: List[Dict[str, str]] = [
        {
            "before_header": text.path if text.before is not None else f"{text.path} (absent)",
            "after_header": text.path if text.after is not None else f"{text.path} (absent)",
            "before": text.before or "",
            "after": text.after or "",
        }
        for text in texts
    ]
    live = [change for change in changes if change.kind != "file"]
    if live:
        lines = {
            side: "".join(f"{change.kind} {change.name}: {getattr(change, side)}\n" for change in live)
            for side in ("before", "after")
        }
        diff.append({"before_header": "live state", "after_header": "live state", **lines})
    return {"changed": bool(changes), "changes": [asdict(change) for change in changes], "diff": diff}
