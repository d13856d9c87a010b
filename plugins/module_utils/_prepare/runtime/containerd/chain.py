# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The files that containerd reads, their order, and the configuration they add up to."""

from __future__ import annotations

import fnmatch
import posixpath
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base import ownership as runtime_own
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.ownership import OurFiles
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import TomlDocument, merge

VERSIONS = (2, 3, 4)
_REPLACED_BY_SECTION = ("plugins", "stream_processors", "proxy_plugins", "timeouts")


@dataclass(frozen=True)
class Source:
    """A file of the chain without our own edits."""

    path: str
    text: str
    document: TomlDocument


@dataclass(frozen=True)
class Chain:
    """containerd's files in the order in which they are merged, without our drop-ins.

    ``files`` and ``globs`` are the places that were read; the chain changes only if something there does.
    ``named`` maps files that an ``imports`` lists by name to the importing file.
    """

    sources: Tuple[Source, ...]
    files: Tuple[str, ...]
    globs: Tuple[str, ...]
    named: Dict[str, str] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """The main file's configuration version; 0 without a main file."""
        return int(self.sources[0].document.data["version"]) if self.sources else 0


def read(files: Files, main: str, own: OurFiles, installed: bool = False, main_text: Optional[str] = None) -> Chain:
    """Follow ``imports`` from the main file as containerd does, breadth first.

    ``installed``: with our own edits and drop-ins, as they are. ``main_text`` stands for the main file's text.

    :raises UnreadableError: a file is not a regular one, or may not be read.
    :raises HostError: a file cannot be read as TOML, is missing, or has a version that is too old.
    """
    sources: Dict[str, Source] = {}
    seen: List[str] = []
    globs: List[str] = []
    named: Dict[str, str] = {}
    pending = [main]
    while pending:
        path = pending.pop(0)
        if path in seen or (path in own and runtime_own.named(path) and not installed):
            continue
        seen.append(path)
        text = files.text(path) if path != main or main_text is None else main_text
        if text is None:
            if path == main:
                break
            raise HostError(f"{path} is imported by containerd's configuration but does not exist")
        text = text if installed else runtime_own.cleaned(text, path, own)
        document = TomlDocument(text, path)
        _check(document)
        sources[path] = Source(path, text, document)
        for pattern in imports(document, path):
            if "*" in pattern:
                globs.append(pattern)
                pending += expand(files, pattern)
            else:
                pending.append(pattern)
                named[pattern] = path
    chain = Chain(tuple(sources.values()), tuple(seen), tuple(globs), named)
    if chain.sources:
        if "cri" in chain.sources[0].document.data.get("disabled_plugins", []):
            raise HostError(
                f"{main}: disabled_plugins has 'cri', as in Docker's package, so this containerd cannot run pods:"
                " remove that entry and restart containerd, or select another runtime"
            )
        version = chain.sources[0].document.data.get("version", 1)
        if version not in VERSIONS:
            raise HostError(
                f"{main} has configuration version {version!r}, but 2 or later is required: convert it, for example"
                " with 'containerd config migrate'"
            )
    return chain


def _check(document: TomlDocument) -> None:
    """:raises HostError: a setting that is read here has a type that containerd does not accept."""
    disabled = document.data.get("disabled_plugins", [])
    if not isinstance(disabled, list) or not all(isinstance(entry, str) for entry in disabled):
        raise HostError(f"{document.name}: disabled_plugins must be a list of plugins, not {disabled!r}")
    version = document.data.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int):
        raise HostError(f"{document.name}: version must be a number such as 2, not {version!r}")


def imports(document: TomlDocument, path: str) -> List[str]:
    """Absolute patterns of what the file imports."""
    patterns = document.data.get("imports", [])
    if not isinstance(patterns, list) or not all(isinstance(entry, str) for entry in patterns):
        raise HostError(f"{path}: imports must be a list of files, not {patterns!r}")
    return [posixpath.normpath(posixpath.join(posixpath.dirname(path), entry)) for entry in patterns]


def covered(chain: Chain, path: str) -> bool:
    """Whether a glob of the chain already matches ``path``."""
    return any(matches(pattern, path) for pattern in chain.globs)


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern of ``imports`` matches this path; a star does not match a slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(wanted) == len(parts) and all(map(fnmatch.fnmatchcase, parts, wanted))


def expand(files: Files, pattern: str) -> List[str]:
    """Existing files that match a pattern of ``imports``, in the order in which containerd reads them."""
    found = ["/"]
    for part in pattern.split("/")[1:]:
        if "*" in part:
            found = [
                posixpath.join(parent, name)
                for parent in found
                for name in files.names(parent)
                if fnmatch.fnmatchcase(name, part)
            ]
        else:
            found = [posixpath.join(parent, part) for parent in found]
    return [path for path in found if files.exists(path)]


def later(chain: Chain, main: str, path: str) -> List[Source]:
    """The files merged after a drop-in at ``path``, which the main file imports last if no glob matches it."""
    sources = {source.path: source for source in chain.sources}
    order: List[str] = []
    pending = [main]
    while pending:
        current = pending.pop(0)
        if current in order:
            continue
        order.append(current)
        if current not in sources:
            continue
        for pattern in imports(sources[current].document, current):
            pending += sorted(name for name in [*sources, path] if matches(pattern, name))
        if current == main and not covered(chain, path):
            pending.append(path)
    return [sources[name] for name in order[order.index(path) :] if name in sources] if path in order else []


def merged(chain: Chain) -> Dict[str, Any]:
    """The merged configuration, without containerd's built-in defaults.

    containerd 1.7, which knows no newer version than 2, replaces a whole plugin section by that of a later file; 2.x
    merges key by key.
    """
    result: Dict[str, Any] = {}
    for source in chain.sources:
        for key, value in source.document.data.items():
            if chain.version == 2 and key in _REPLACED_BY_SECTION and isinstance(value, dict):
                result.setdefault(key, {}).update(value)
            else:
                merge(result, key, value)
    return result
