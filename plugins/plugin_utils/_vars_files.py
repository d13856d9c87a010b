# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Files of variables that belong to no group or host of the inventory, so that nothing in them takes effect.

Ansible reads ``group_vars/<group>`` and ``host_vars/<host>`` beside each source of the inventory, and never says that a
file is of neither. Nor does it say that it reads no such directory where it was started, unless that is such a place.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Mapping

_OURS = re.compile(r"^\s*rdma_", re.MULTILINE)
# Those that Ansible reads (DEFAULT_YAML_FILENAME_EXTENSIONS), and none.
_EXTENSIONS = ("", ".yml", ".yaml", ".json")


def _files(place: Path) -> List[Path]:
    return [file for file in ([place] if place.is_file() else sorted(place.rglob("*"))) if file.is_file()]


def _has_ours(place: Path) -> bool:
    for file in _files(place):
        try:
            if _OURS.search(file.read_text("utf-8", "replace")):
                return True
        except OSError:
            # Ansible itself says what it cannot read.
            continue
    return False


def _of_directory(directory: Path, kind: str, known: Iterable[str]) -> Iterator[str]:
    names = list(known)
    for place in sorted(directory.iterdir()) if directory.is_dir() else ():
        name = place.stem if place.suffix in _EXTENSIONS and place.is_file() else place.name
        hidden = place.name.startswith(".") or place.name.endswith("~")
        odd = place.is_file() and place.suffix not in _EXTENSIONS and place.name not in names
        if hidden or odd or {name, place.name} & set(names) or not _has_ours(place):
            continue
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.3)
        nearest = f"; the nearest name is {close[0]}" if close else ""
        yield f"{place} takes no effect: the inventory has no {kind} {name}{nearest}"


def _of_nobody(read: Iterable[Path]) -> Iterator[str]:
    """Directories that Ansible does not read, in the one where people start it."""
    known = {os.path.realpath(place) for place in read}
    for name in ("group_vars", "host_vars"):
        place = Path.cwd() / name
        if place.is_dir() and os.path.realpath(place) not in known and _has_ours(place):
            right = "in the directory of the inventory, beside the inventory's file, or beside the playbook"
            yield f"{place} takes no effect: Ansible reads it {right}"


def warnings(context: Mapping[str, Any]) -> List[str]:
    """A sentence for each such file that sets variables of this collection. ``context`` is that of a task."""
    found: List[str] = []
    groups = context.get("groups") or {}
    hosts = [*groups.get("all", ()), "localhost"]
    read = [Path(str(context[name])) for name in ("playbook_dir", "inventory_dir") if context.get(name)]
    for source in context.get("ansible_inventory_sources") or ():
        path = Path(str(source))
        if not os.path.exists(path):
            continue
        beside = path if path.is_dir() else path.parent
        read.append(beside)
        found += _of_directory(beside / "group_vars", "group", groups)
        found += _of_directory(beside / "host_vars", "host", hosts)
    if read:
        found += _of_nobody(place / name for place in read for name in ("group_vars", "host_vars"))
    return list(dict.fromkeys(found))
