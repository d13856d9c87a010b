# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a module changed on a node, kept on the node, so that ``state: absent`` puts back exactly that.

``/var/lib/zerocopy-rdma/<concern>/`` has ``ledger.json`` and, below ``originals/``, every replaced file as it was
before the first change. A file's original is saved before the file is touched, so a run that is killed anywhere loses
nothing, and the next run goes on from there.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files, Stored
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.report import Change, Texts

STATE = "/var/lib/zerocopy-rdma"
_FORMAT = 1


@dataclass(frozen=True)
class File:
    """A file as it should be. ``content`` is ``None`` where there should be none.

    ``mode`` is for a file that does not exist yet, or that an earlier run made; a file of somebody else's keeps its
    own mode and owner. ``release`` is for a file from which only our part was taken out again: it is written and then
    forgotten, not put back to its original.
    """

    path: str
    content: Optional[str]
    mode: int = 0o644
    release: bool = False


@dataclass(frozen=True)
class FileChange:
    """A file that differs from what it should be; ``after`` is ``None`` where it is to be removed."""

    path: str
    before: Optional[Stored]
    after: Optional[Stored]
    keep: bool = True

    @property
    def change(self) -> Change:
        words = ["absent" if side is None else "present" for side in (self.before, self.after)]
        return Change("file", self.path, *words)

    @property
    def texts(self) -> Texts:
        before, after = (
            None if side is None else side.content.decode("utf-8", "replace") for side in (self.before, self.after)
        )
        return Texts(self.path, before, after)


def _digest(stored: Optional[Stored]) -> str:
    return "absent" if stored is None else hashlib.sha256(stored.content).hexdigest()


class Ledger:
    """The memory of one concern (``kernel_modules``, ``nm_links``, ``runtime``) on one node.

    ``notes`` is the concern's own JSON data, for instance the modules it loaded; ``save`` keeps it. ``warnings`` says
    which files ``compare`` would rather not put back.
    """

    def __init__(self, files: Files, concern: str) -> None:
        self.files = files
        self.directory = f"{STATE}/{concern}"
        self.path = f"{self.directory}/ledger.json"
        self.warnings: List[str] = []
        self._entries: Dict[str, Dict[str, Any]] = {}
        self._made: List[str] = []
        self._adopted: Dict[str, Stored] = {}
        self.notes: Dict[str, Any] = {}
        self._load()

    def _load(self) -> None:
        self._entries, self._made, self.notes, self._adopted = {}, [], {}, {}
        text = self.files.text(self.path)
        if text is None:
            return
        try:
            data = json.loads(text)
            if data["format"] != _FORMAT:
                raise HostError(f"{self.path}: format {data['format']} is of a newer version of this collection")
            self._entries, self._made, self.notes = data["files"], data["directories"], data["notes"]
        except (ValueError, KeyError, TypeError) as error:
            raise HostError(f"{self.path} is damaged ({error}); originals are below {self.directory}") from error

    @property
    def known(self) -> List[str]:
        """Paths of all files that are not as they were before the first change."""
        return sorted(self._entries)

    def original_text(self, path: str) -> Optional[str]:
        """The file as it was before the first change; as it is where there was none."""
        stored = self._original(path) if path in self._entries else self.files.stored(path)
        return None if stored is None else stored.content.decode("utf-8", "surrogateescape")

    def adopt(self, path: str, original: Optional[str] = None) -> None:
        """Take the file as it is now for one that we wrote; ``original`` is what was there before (``None``: nothing).

        For files that an earlier version of this collection wrote without a ledger. Kept with the next ``save``.
        """
        current = self.files.stored(path)
        if current is None:
            return
        owner = None
        if original is not None:
            content = original.encode("utf-8", "surrogateescape")
            self._adopted[path] = Stored(content, current.mode, current.uid, current.gid)
            owner = {"mode": current.mode, "uid": current.uid, "gid": current.gid}
        self._entries[path] = {"before": owner, "written": [_digest(current)]}

    def save(self) -> None:
        """Keep entries and notes; an empty ledger leaves no trace."""
        for path in [path for path in self._adopted if path in self._entries]:
            self.files.write(self._kept(path), _own(self._adopted.pop(path).content, 0o600))
        if not (self._entries or self._made or self.notes):
            self.files.remove(self.path)
            self._tidy()
            return
        data = {"format": _FORMAT, "files": self._entries, "directories": self._made, "notes": self.notes}
        text = json.dumps(data, indent=1, sort_keys=True) + "\n"
        if self.files.text(self.path) != text:
            self.files.write(self.path, _own(text.encode(), 0o600))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let one run at a time change the node; the kernel drops the lock with the process.

        What a killed run left half-done is cleared away, and the ledger read again: it may have changed while waiting.
        """
        full = self.files.full(STATE)
        made = not os.path.isdir(full)
        os.makedirs(full, mode=0o755, exist_ok=True)
        descriptor = os.open(full, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not made:
                self._load()
                self._tidy()
            os.makedirs(full, mode=0o755, exist_ok=True)
            try:
                yield
            finally:
                self.files.remove_empty_directory(STATE)
        finally:
            os.close(descriptor)

    def _tidy(self) -> None:
        """Remove half-written files, originals of files that were then not touched, and empty directories."""
        for path in [self.path, *self._entries]:
            self.files.discard_temporary(path)
        originals = self.files.full(f"{self.directory}/originals")
        kept = {self.files.full(self._kept(path)) for path in self._entries}
        for directory, _subdirectories, names in os.walk(originals, topdown=False):
            for name in names:
                if os.path.join(directory, name) not in kept:
                    os.unlink(os.path.join(directory, name))
            with contextlib.suppress(OSError):
                os.rmdir(directory)
        self.files.remove_empty_directory(self.directory)
        self.files.remove_empty_directory(STATE)

    def compare(self, wanted: Sequence[File]) -> List[FileChange]:
        """What has to change so that the files of this concern are those ``wanted``; changes nothing itself.

        A file that an earlier run changed and that is no longer wanted is put back as it was. If somebody else changed
        it since, it is left alone and ``warnings`` says so.
        """
        self.warnings = []
        changes = []
        for file in wanted:
            before = self.files.stored(file.path)
            after = self._after(file, before)
            if before != after or file.release:
                changes.append(FileChange(file.path, before, after, keep=not file.release))
        named = {file.path for file in wanted}
        for path in self.known:
            if path not in named:
                changes += self._restoration(path)
        return sorted(changes, key=lambda change: change.path)

    def _after(self, file: File, before: Optional[Stored]) -> Optional[Stored]:
        if file.content is None:
            return None
        content = file.content.encode("utf-8", "surrogateescape")
        entry = self._entries.get(file.path)
        ours = before is None or (entry is not None and entry["before"] is None)
        if ours or before is None:
            return _own(content, file.mode)
        return Stored(content, before.mode, before.uid, before.gid)

    def _restoration(self, path: str) -> List[FileChange]:
        entry, current, original = self._entries[path], self.files.stored(path), self._original(path)
        untouched = _digest(current) in entry["written"] or _digest(current) == _digest(original)
        if not untouched:
            where = f"; the original is {self._kept(path)}" if original is not None else ""
            self.warnings.append(f"{path} was changed by somebody else since, so it is left as it is{where}")
            return []
        return [FileChange(path, current, original, keep=False)]

    def _kept(self, path: str) -> str:
        return f"{self.directory}/originals{path}"

    def _original(self, path: str) -> Optional[Stored]:
        before = self._entries[path]["before"]
        if before is None:
            return None
        kept = self._adopted.get(path) or self.files.stored(self._kept(path))
        if kept is None:
            raise HostError(f"{path} cannot be put back: its original {self._kept(path)} is gone")
        return Stored(kept.content, before["mode"], before["uid"], before["gid"])

    def apply(self, changes: Sequence[FileChange]) -> None:
        """Write what ``compare`` returned, each file whole or not at all, and remember how it was."""
        for change in changes:
            self._remember(change)
        if changes:
            self.save()
        for change in changes:
            if change.after is None:
                self.files.remove(change.path)
            elif change.after != change.before:
                self.files.write(change.path, change.after)
        for change in changes:
            self._settle(change)
        if changes:
            self._remove_made_directories()
            self.save()
            self._tidy()

    def _remember(self, change: FileChange) -> None:
        entry = self._entries.get(change.path)
        if entry is None:
            if not change.keep:
                return
            before = change.before
            if before is not None:
                self.files.write(self._kept(change.path), _own(before.content, 0o600))
            owner = None if before is None else {"mode": before.mode, "uid": before.uid, "gid": before.gid}
            entry = self._entries[change.path] = {"before": owner, "written": []}
        # Until the file is written, both its old and its new content are ours.
        digest = _digest(change.after)
        entry["written"] = sorted({*entry["written"], digest})
        if change.after is not None:
            self._made += [path for path in self.files.missing_directories(change.path) if path not in self._made]

    def _settle(self, change: FileChange) -> None:
        if change.keep:
            self._entries[change.path]["written"] = [_digest(change.after)]
            return
        self._entries.pop(change.path, None)

    def _remove_made_directories(self) -> None:
        wanted = [os.path.dirname(path) + "/" for path in self.known]
        for directory in sorted(self._made, reverse=True):
            if not any(path.startswith(directory + "/") for path in wanted):
                self.files.remove_empty_directory(directory)
                self._made.remove(directory)


def _own(content: bytes, mode: int) -> Stored:
    return Stored(content, mode, os.geteuid(), os.getegid())
