# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The limit of locked memory of a runtime's unit, and what others set (systemd.unit(5), systemd-system.conf(5))."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import UnreadableError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import RuntimePlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.ownership import DROPIN
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.memlock import UNLIMITED

# A file hides those of its name in the directories after its own.
_DIRECTORIES = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd")
_NAME = f"{DROPIN}memlock.conf"
_SIZE = re.compile(r"([0-9]+)(?:\.[0-9]*)?[ \t]*([BKMGTPE]?)")

# A file, what it sets, and that in bytes.
_Setting = Tuple[str, str, int]


def add(files: Files, unit: str, wanted: int, plan: RuntimePlan) -> None:
    """Put into the plan the drop-in with which the unit has ``wanted`` bytes, or more if others give it more."""
    before = _settings(files, "system.conf", ["system.conf"], "DefaultLimitMEMLOCK")
    after: List[_Setting] = []
    places = [f"system/{name}" for name in _names(unit)]
    for setting in _settings(files, f"system/{unit}", places, "LimitMEMLOCK"):
        directory, name = setting[0].rsplit("/", 1)
        (after if directory.endswith(".d") and name > _NAME else before).append(setting)
    limit = max([wanted, *(setting[2] for setting in before[-1:])])
    path = f"{_DIRECTORIES[0]}/system/{unit}.d/{_NAME}"
    plan.wanted.append(
        File(
            path,
            "# Written by the Ansible collection zerocopy.rdma.\n"
            f"[Service]\nLimitMEMLOCK={'infinity' if limit == UNLIMITED else limit}\n",
        )
    )
    for directory in _DIRECTORIES:
        plan.globs += [f"{directory}/system.conf", f"{directory}/system/{unit}"]
        plan.globs += [f"{directory}/{place}.d/*.conf" for place in ("system.conf", *places)]
    for other, text, value in after[-1:]:
        if value < wanted:
            plan.warnings.append(
                f"{other} is read after {path} and sets LimitMEMLOCK={text}: containers without a limit of their own"
                " cannot lock more"
            )


def _names(unit: str) -> List[str]:
    """Whose drop-ins the unit gets: its own, those of ``a-b-.service`` and ``a-.service``, those of all services."""
    stem, _dot, kind = unit.rpartition(".")
    words = stem.split("-")
    prefixes = ["-".join(words[:count]) for count in range(len(words) - 1, 0, -1)]
    return [unit, *(f"{prefix}-.{kind}" for prefix in prefixes), kind]


def _settings(files: Files, name: str, places: Sequence[str], key: str) -> List[_Setting]:
    """What the file ``name`` and its drop-ins set, in systemd's order, without ours; the last one counts.

    A drop-in hides those of its name in the ``places`` after its own, the last of which comes after all directories of
    the others. Those that are left are read in the order of their names, wherever they are.
    """
    mains = [f"{directory}/{name}" for directory in _DIRECTORIES if files.exists(f"{directory}/{name}")]
    dropins: Dict[str, str] = {}
    own = [f"{directory}/{place}.d" for directory in _DIRECTORIES for place in places[:-1]]
    for searched in [*own, *(f"{directory}/{places[-1]}.d" for directory in _DIRECTORIES)]:
        for entry in files.names(searched):
            if entry.endswith(".conf") and entry != _NAME:
                dropins.setdefault(entry, f"{searched}/{entry}")
    found = []
    for path in [*mains[:1], *(dropins[entry] for entry in sorted(dropins))]:
        for line in _lines(files, path):
            left, equals, right = line.partition("=")
            value = _bytes(right.strip()) if equals and left.strip() == key else None
            if value is not None:
                found.append((path, right.strip(), value))
    return found


def _lines(files: Files, path: str) -> List[str]:
    """Lines without comments; one that ends with a backslash goes on in the next (systemd.syntax(7))."""
    try:
        text = files.text(path) or ""
    except UnreadableError:
        # A directory, for example, which systemd passes over.
        return []
    lines, begun = [], ""
    for raw in text.split("\n"):
        line = raw.strip()
        if line.startswith(("#", ";")):
            continue
        if line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        lines.append(begun + line)
        begun = ""
    return [*lines, begun]


def _bytes(text: str) -> Optional[int]:
    """The lower of ``SOFT[:HARD]``; ``None`` for what systemd ignores, such as nothing (config_parse_rlimit)."""
    sides = []
    for side in text.split(":"):
        size = _SIZE.fullmatch(side)
        if side != "infinity" and size is None:
            return None
        sides.append(UNLIMITED if size is None else int(size.group(1)) * 1024 ** "BKMGTPE".index(size.group(2) or "B"))
    return min(sides)
