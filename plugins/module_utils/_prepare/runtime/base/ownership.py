# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Ownership of files: ours are those in the ledger, recognised in other files by their names."""

from __future__ import annotations

import posixpath
import re
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import (
    BASE_SPEC,
    default_of_handler,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import edit

DROPIN = "90-zerocopy-rdma-"
SPEC = "zerocopy-rdma-base-spec"
_NAMES = re.compile(rf"{DROPIN}(?:nri\.toml|nri\.conf|memlock\.toml|memlock\.conf)|{SPEC}(?:-[^/]+)?\.json")

# Paths that earlier runs wrote, with the text before the first write (``None``: no file).
OurFiles = Mapping[str, Optional[str]]


def recorded(ledger: Ledger) -> Dict[str, Optional[str]]:
    """The files in the ledger."""
    return {path: _original(ledger, path) for path in ledger.known}


def _original(ledger: Ledger, path: str) -> Optional[str]:
    try:
        return ledger.original_text(path)
    except HostError:
        # Without its original, our lines in the file can still be told by their marks.
        return ""


def named(path: str) -> bool:
    """Whether the file has a name that only we use."""
    return _NAMES.fullmatch(posixpath.basename(path)) is not None


def cleaned(text: str, path: str, own: OurFiles) -> str:
    """The text without our edits and references to our files; unchanged for a file that is not ours."""
    if path not in own:
        return text
    stripped = edit.strip(text, own[path], named, default_of_handler)
    return edit.without_references(stripped, own[path], [name for name in own if named(name)], BASE_SPEC)


def refuse_foreign(files: Files, wanted: Sequence[File], own: OurFiles) -> None:
    """Verify that none of our files would replace somebody else's.

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
    """All strings among the values of a configuration."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from texts_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from texts_in(value)
