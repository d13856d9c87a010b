# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which files are ours: those in the ledger, and by their names those that only we make."""

from __future__ import annotations

import posixpath
import re
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import edit

DROPIN = "90-zerocopy-rdma-"
SPEC = "zerocopy-rdma-base-spec"
_NAMES = re.compile(rf"{DROPIN}(?:nri\.toml|nri\.conf|memlock\.toml|memlock\.conf)|{SPEC}(?:-[^/]+)?\.json")

# A path that earlier runs wrote, and the text that was there before; ``None`` where there was nothing.
Own = Mapping[str, Optional[str]]


def recorded(ledger: Ledger) -> Dict[str, Optional[str]]:
    """What the ledger has."""
    return {path: ledger.original_text(path) for path in ledger.known}


def named(path: str) -> bool:
    """Whether the name is one that only we use."""
    return _NAMES.fullmatch(posixpath.basename(path)) is not None


def cleaned(text: str, path: str, own: Own) -> str:
    """The file's text without our edits and without our files' paths; that of somebody else's file as it is."""
    if path not in own:
        return text
    stripped = edit.strip(text, own[path])
    return edit.without_references(stripped, own[path], [name for name in own if named(name)])


def refuse_foreign(files: Files, wanted: Sequence[File], own: Own) -> None:
    """Make sure that no file of ours takes the place of somebody else's.

    :raises HostError: a file of one of our names is there, and no earlier run wrote it.
    """
    for file in wanted:
        if not named(file.path) or file.path in own:
            continue
        text = files.text(file.path)
        if text is not None and text != file.content:
            raise HostError(
                f"{file.path} already exists and was not written by this module, which uses that name: rename"
                " or remove it"
            )


def texts_in(data: Any) -> Iterator[str]:
    """Every text among the values of a configuration."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from texts_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from texts_in(value)
