# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Objects of others as they are: each field may be absent, or of another type than its schema says.

Custom resources can have anything where their schema is open, so nothing here raises an error.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional


def table(value: Any) -> Mapping[str, Any]:
    """The value if it is a map, otherwise an empty map."""
    return value if isinstance(value, dict) else {}


def at(value: Any, *steps: str) -> Any:
    """The value below these keys, ``None`` if there is none."""
    for step in steps:
        value = table(value).get(step)
    return value


def entries(value: Any) -> List[Mapping[str, Any]]:
    """The maps of a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """A string; numbers as they are written, everything else as the empty one."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return str(value)


def texts(value: Any) -> List[str]:
    """The strings of a list."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def strings(value: Any) -> Dict[str, str]:
    """A map of strings to strings."""
    return {name: text(entry) for name, entry in table(value).items() if isinstance(name, str)}


def integer(value: Any) -> Optional[int]:
    """A whole number, also one that is written as a string."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    written = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19
    return int(value) if written else None
