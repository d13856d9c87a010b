# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What ``--diff`` shows of the objects of a cluster: how many of each kind, and which; with ``-v``, each one whole."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

Diff = Mapping[str, Any]

_SIGNS = {"+": "created", "~": "changed", "-": "removed"}


def _sign(entry: Diff) -> str:
    return "+" if not entry["before"] else "-" if not entry["after"] else "~"


def _name(entry: Diff) -> Tuple[str, str]:
    """Kind and name of an object; of a file its path."""
    header = str(entry["after_header"] if entry["after"] else entry["before_header"])
    kind, _space, name = header.partition(" ") if _is_object(entry) else ("file", "", header)
    return kind, name


def _is_object(entry: Diff) -> bool:
    return any(isinstance(entry[side], Mapping) for side in ("before", "after"))


def summary(entries: Sequence[Diff], check: bool) -> str:
    """Counts, and below them the names of all objects by kind and by what is done, or with ``check`` is to be done."""
    found: Dict[Tuple[str, str], List[str]] = {}
    for entry in entries:
        kind, name = _name(entry)
        found.setdefault((_sign(entry), kind), []).append(name)
    numbers = {sign: sum(len(names) for (other, _kind), names in found.items() if other == sign) for sign in _SIGNS}
    noun = "object" if _is_object(entries[0]) else "file"
    to_be = "to be " if check else ""
    done = ", ".join(f"{number} {to_be}{_SIGNS[sign]}" for sign, number in numbers.items() if number)
    lines = [f"{counted(len(entries), noun)}: {done} (-v shows them)"]
    for (sign, kind), names in found.items():
        title = counted(len(names), kind) if kind == noun else f"{len(names)} {kind}"
        lines.append(f"  {sign} {title}: {', '.join(names)}")
    return "\n".join(lines) + "\n"


def shown(diffs: Sequence[Diff], verbosity: int, check: bool, manifests: bool = False) -> List[Diff]:
    """Counts first, then what concerns no object (labels and resources of nodes), and with ``-v`` the objects.

    In a dry run (``check``), nothing of it was done.
    """
    objects = [entry for entry in diffs if manifests or _is_object(entry)]
    if not objects:
        return list(diffs)
    others = [entry for entry in diffs if entry not in objects]
    return [{"prepared": summary(objects, check)}, *others, *(objects if verbosity else [])]
