# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Decides where each key goes: into our drop-in if that is effective, else into the file that takes precedence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import (
    ConfigKey,
    Effective,
    handler_of,
    section,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.ownership import DROPIN
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd.chain import (
    Chain,
    Source,
    covered,
    later,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import edit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import Path, header, quoted

_HEAD = "# Written by the Ansible collection zerocopy.rdma; changes here are undone by its next run.\n"


@dataclass
class Placed:
    """New texts of files by path, and keys that cannot be placed."""

    texts: Dict[str, str] = field(default_factory=dict)
    dropins: List[str] = field(default_factory=list)
    homeless: List[ConfigKey] = field(default_factory=list)


def place(
    chain: Chain, main: str, dropins: str, keys: Sequence[ConfigKey], effective: Effective, merges: bool, fixed: bool
) -> Placed:
    """Distribute the keys.

    ``merges``: the runtime merges imported files key by key (containerd 2.x); 1.7 takes over only the last file that
    has a plugin's section. ``fixed``: the main file is made by a program and cannot be changed here.

    :raises HostError: a file has a key in a form that cannot be changed by line.
    """
    result = Placed()
    version = chain.version or min(effective.version, 3)
    ours: Dict[str, List[Tuple[Path, Any]]] = {}
    edits: Dict[str, List[ConfigKey]] = {}
    after: Dict[str, List[Source]] = {}
    for key in keys:
        dropin = f"{dropins}/{DROPIN}{key.part}.toml"
        if merges and dropin not in after:
            after[dropin] = later(chain, main, dropin)
        source = _overriding(after[dropin], key) if merges else _holder(chain, key)
        if source is None and (merges or key.section == "nri"):
            ours.setdefault(dropin, []).append((key.full(version), key.value))
            continue
        path = source.path if source else main
        if fixed and path == main:
            result.homeless.append(key)
        else:
            edits.setdefault(path, []).append(key)
    texts = {source.path: source.text for source in chain.sources}
    for path, group in edits.items():
        text = texts.get(path) or f"version = {version}\n"
        at = next((source for source in chain.sources if source.path == path), None)
        result.texts[path] = _edited(path, text, at, group, effective)
    for path, pairs in ours.items():
        result.texts[path] = rendered(version, pairs)
        result.dropins.append(path)
    needed = [path for path in sorted(ours) if not covered(chain, path)]
    if needed:
        text = result.texts.get(main) or texts.get(main) or f"version = {version}\n"
        result.texts[main] = edit.add_imports(text, main, needed)
    return result


def rendered(version: int, pairs: Sequence[Tuple[Path, Any]]) -> str:
    """A drop-in with these keys."""
    tables: Dict[Path, List[str]] = {}
    for path, value in sorted(pairs, key=lambda pair: (pair[0][:-1], pair[0][-1])):
        tables.setdefault(path[:-1], []).append(f"  {path[-1]} = {quoted(value)}\n")
    blocks = ["\n" + header(path) + "\n" + "".join(lines) for path, lines in tables.items()]
    return _HEAD + f"version = {version}\n" + "".join(blocks)


def _version(source: Source) -> int:
    return int(source.document.data.get("version", 2))


def _holder(chain: Chain, key: ConfigKey) -> Optional[Source]:
    """The file whose section containerd 1.7 takes."""
    found = [source for source in chain.sources if source.document.get(section(key.section, _version(source)))]
    return found[-1] if found else None


def _overriding(after: Sequence[Source], key: ConfigKey) -> Optional[Source]:
    """A file after our drop-in with a different value."""
    found = None
    for source in after:
        value = source.document.get(key.full(_version(source)))
        if value is not None and value != key.value:
            found = source
    return found


def _edited(path: str, text: str, source: Optional[Source], keys: Sequence[ConfigKey], effective: Effective) -> str:
    version = _version(source) if source else effective.version
    pairs: List[Tuple[Path, Any]] = []
    tables: List[Tuple[Path, List[Tuple[str, Any]]]] = []
    for key in keys:
        full = key.full(version)
        handler = handler_of(key)
        known = source is not None and source.document.get(full[:-1]) is not None
        if handler is None or known:
            pairs.append((full, key.value))
        else:
            # containerd 1.7 drops the defaults of a handler that a file mentions, so all of them are written.
            table = {**effective.handlers[handler], full[-1]: key.value}
            tables += _tables(full[:-1], table)
    text = edit.set_keys(text, path, pairs)
    return edit.append(text, tables) if tables else text


def _tables(path: Path, table: Dict[str, Any]) -> List[Tuple[Path, List[Tuple[str, Any]]]]:
    own = [(key, value) for key, value in table.items() if value and not isinstance(value, dict)]
    inner = [entry for key, value in table.items() if isinstance(value, dict) for entry in _tables((*path, key), value)]
    return ([(path, own)] if own else []) + inner
