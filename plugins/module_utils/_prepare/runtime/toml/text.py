# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Values and headers as TOML, for the lines that are put into users' files."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import BARE, Path


def quoted(value: Any) -> str:
    """A boolean, number, text or list of these as TOML; JSON's form of them is TOML's too."""
    if isinstance(value, str):
        # DEL is the one character that JSON allows as it is and TOML does not.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(quoted(entry) for entry in value) + "]"
    return json.dumps(value)


def header(path: Path) -> str:
    """``[a."b.c"]`` for a path."""
    parts = [part if BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in path]
    return f"[{'.'.join(parts)}]"
