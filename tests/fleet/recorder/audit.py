# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whether anything of the originals is in a recording: names of files, targets of links and contents."""

from __future__ import annotations

import re
from typing import Iterator, List, Pattern, Tuple

from nodetree.tree import Tree

from .conceal import QUADS, WORDS, Conceal, words_pattern

# What the kernel names like a host may be named.
_NUMA_NODE = re.compile("/node[0-9]+(?=/|$)")


def _pieces(out: Tree) -> Iterator[Tuple[str, bytes]]:
    for path, content in out.files.items():
        yield path, _NUMA_NODE.sub("/node", path).encode() + b"\n" + content
    for path, target in out.links.items():
        yield path, f"{path}\n{target}".encode()
    for path in out.dirs:
        yield path, _NUMA_NODE.sub("/node", path).encode()


def _spellings(conceal: Conceal) -> Pattern[bytes]:
    originals = conceal.originals()
    words = {text for kind, text in originals if kind == WORDS}
    # 10.1.2.3 is in 10.1.2.34.
    quads = [rf"(?<![\w.-]){re.escape(text)}(?![\w-])(?!\.\w)" for kind, text in originals if kind == QUADS]
    others = [re.escape(text) for kind, text in originals if kind not in (WORDS, QUADS)]
    return re.compile("|".join([words_pattern(words), *sorted(quads), *sorted(others)]).encode())


def found(out: Tree, conceal: Conceal) -> List[str]:
    """The files that have something of the originals in them or in their names."""
    texts = _spellings(conceal)
    raw = [value.to_bytes(8, order) for value in conceal.guids_replaced() for order in ("big", "little")]
    lines = []
    for path, content in _pieces(out):
        if texts.search(content.lower()) or any(value in content for value in raw):
            lines.append(conceal.path(path))
    return sorted(lines)
