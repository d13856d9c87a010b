# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The templates of which k3s and RKE2 make containerd's main file at every start: what the next one will render.

Today's main file was rendered by the last start, perhaps from another template.
"""

from __future__ import annotations

import posixpath
import re
from typing import Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout

BASE = '{{ template "base" . }}\n'
# By the configuration version that they render. With containerd 2, the first one that is there counts.
NAMES = {3: "config-v3.toml.tmpl", 2: "config.toml.tmpl"}
_COMMENT = re.compile(r"\{\{-?\s*/\*.*?\*/\s*-?\}\}", re.S)
_INCLUDED = re.compile(r"""\{\{-?\s*template\s+["`]base["`]\s+[.\$]\s*-?\}\}""")
_TABLE = re.compile(r"^[ \t]*\[\[?[^\[\],]+\]\]?[ \t]*(?:#.*)?$", re.M)
_PLACES = ("root", "state")
_SET = r"""^[ \t]*["']?{}["']?[ \t]*=[ \t]*(?!["']{{2}}[ \t]*(?:#|$))\S"""


def path_of(layout: RuntimeLayout, version: int) -> str:
    """Where the template for this configuration version is, or would be."""
    return posixpath.join(posixpath.dirname(layout.main), NAMES[min(version, 3)])


def next_version(files: Files, layout: RuntimeLayout, now: int, newer: bool) -> int:
    """The configuration version that the next start renders. ``newer``: containerd 2, which knows both templates."""
    found = [version for version in NAMES if files.exists(path_of(layout, version))] if newer else []
    return found[0] if found else now


def literal(text: str) -> bool:
    """Whether the template is what it renders."""
    return "{{" not in text


def judge(text: Optional[str], path: str, layout: RuntimeLayout, now: int, coming: int) -> None:
    """Verify that the next start will render something with which the node works.

    ``text`` is the template without our edits, ``now`` the version of today's main file, ``coming`` the next one's.

    :raises HostError: it will not.
    """
    if text is None:
        return
    plain = _COMMENT.sub("", text)
    if not layout.placed and not _INCLUDED.search(plain):
        table = _TABLE.search(plain)
        top = plain[: table.start()] if table else plain
        missing = [name for name in _PLACES if not re.search(_SET.format(name), top, re.M)]
        if missing:
            raise HostError(
                f"{path} neither includes the base template, {BASE.strip()}, nor sets {' and '.join(missing)}, so with"
                f" what {layout.unit} makes of it at its next start this node loses its containers (rke2 issue 10293):"
                f" begin it with {BASE.strip()}, or remove it if nobody needs it"
            )
    if min(now, 3) != coming:
        raise HostError(
            f"{layout.main} has configuration version {now}, but at its next start {layout.unit} will make it of"
            f" {path}, which renders version {coming}: restart {layout.unit} once, or remove the template"
        )
