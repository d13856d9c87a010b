# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The text of ``ledger.json``: read back as untrusted input, since a crash or a person may have damaged it.

Concerns say with the same checks which notes they keep in it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version

Shape = Callable[[Any], bool]


def text(value: Any) -> bool:
    return isinstance(value, str)


def number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def maybe(shape: Shape) -> Shape:
    return lambda value: value is None or shape(value)


def listed(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(shape, value))


def by_name(shape: Shape) -> Shape:
    return lambda value: isinstance(value, dict) and all(map(shape, value.values()))


def record(required: Mapping[str, Shape], optional: Mapping[str, Shape]) -> Shape:
    """A dictionary with these fields; others are ignored."""

    def check(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and shape(value[name]) for name, shape in required.items())
            and all(shape(value[name]) for name, shape in optional.items() if name in value)
        )

    return check


# 2: originals have a digest. 3: so has the document, and it says which originals are no longer needed.
_FORMAT = 3
_SIGNED = 3
_ORIGINAL = record({"mode": number, "uid": number, "gid": number}, {"digest": maybe(text)})
_ENTRY = record({"before": maybe(_ORIGINAL), "written": listed(text)}, {"lines": flag})


@dataclass(frozen=True)
class Original:
    """Owner and mode of a replaced file, and the SHA-256 of its content (``None`` from format 1)."""

    mode: int
    uid: int
    gid: int
    digest: Optional[str] = None


@dataclass
class Entry:
    """A changed file: what was there before the first change, and the digests of what we wrote.

    ``lines``: it is a file of lines, so that those of others can stay when ours go.
    """

    before: Optional[Original]
    written: List[str] = field(default_factory=list)
    lines: bool = False


@dataclass
class LedgerDocument:
    """``spent`` are files that need their originals no longer: restored, or given back to whoever edited them."""

    files: Dict[str, Entry] = field(default_factory=dict)
    directories: List[str] = field(default_factory=list)
    notes: Dict[str, Any] = field(default_factory=dict)
    spent: List[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.files or self.directories or self.notes)

    def text(self) -> str:
        data = {"format": _FORMAT, **asdict(self)}
        return json.dumps({**data, "digest": _digest(data)}, indent=1, sort_keys=True) + "\n"


def _digest(data: Mapping[str, Any]) -> str:
    """Of everything in the document but the digest itself."""
    rest = {name: value for name, value in data.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def parse(content: str, notes: Mapping[str, Shape], caches: Sequence[str] = ()) -> LedgerDocument:
    """The document in a file's text. ``notes`` are the shapes of the concern's own notes, by name.

    Those in ``caches`` only save work: of another shape, as another version may write them, they are left out.

    :raises ValueError: it is damaged; the message completes "ledger.json ...".
    :raises NewerVersionError: a newer version of the collection wrote it; as above.
    """
    try:
        data = json.loads(content)
        found = _digest(data) if isinstance(data, dict) else None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is damaged ({error})") from error
    try:
        version = state_version.known(data.get("format") if isinstance(data, dict) else None, _FORMAT)
    except state_version.VersionError as error:
        raise ValueError("is damaged (no format)") from error
    if (version >= _SIGNED or "digest" in data) and data.get("digest") != found:
        raise ValueError("is damaged (it does not have its own digest)")
    kept = data.get("notes")
    for name in caches if isinstance(kept, dict) else ():
        if name in kept and not notes[name](kept[name]):
            del kept[name]
    shapes = {
        "files": by_name(_ENTRY),
        "directories": listed(text),
        "notes": record({}, notes),
        "spent": listed(text),
    }
    data.setdefault("spent", [])
    for name, check in shapes.items():
        if not check(data.get(name)):
            raise ValueError(f"is damaged ({name} is missing or has the wrong type)")
    relative = [path for path in [*data["files"], *data["directories"], *data["spent"]] if not path.startswith("/")]
    if relative:
        raise ValueError(f"is damaged ({relative[0]!r} is not an absolute path)")
    files = {path: _entry(entry) for path, entry in data["files"].items()}
    return LedgerDocument(files, data["directories"], data["notes"], data["spent"])


def _entry(data: Dict[str, Any]) -> Entry:
    before = data["before"]
    if before is not None:
        before = Original(before["mode"], before["uid"], before["gid"], before.get("digest"))
    return Entry(before, data["written"], data.get("lines", False))
