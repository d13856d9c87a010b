# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A record on the node of what was changed there, so that ``state: absent`` restores exactly that.

``/var/lib/zerocopy-rdma/<concern>/`` has ``ledger.json`` and, below ``originals/``, every replaced file as it was
before the first change. A file's original is saved before the file is touched, so a run that is killed at any moment
loses nothing, and the next run continues from there.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger import document, storage
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.document import (
    Entry,
    LedgerDocument,
    Original,
    Shape,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.storage import Originals
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, Texts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.state_version import NewerVersionError

STATE = "/var/lib/zerocopy-rdma"
Found = TypeVar("Found")


@dataclass(frozen=True)
class File:
    """A file as it should be. ``content`` is ``None`` where there should be none.

    ``mode`` is for a file that does not exist yet, or that an earlier run made, and which may have less since; a file
    of somebody else's keeps its own mode and owner. ``release`` is for a file from which only our part was taken out
    again: it is written and then forgotten, not put back to its original. ``lines``: each line stands for itself, so
    that those that somebody appended stay.
    """

    path: str
    content: Optional[str]
    mode: int = 0o644
    release: bool = False
    lines: bool = False


@dataclass(frozen=True)
class FileChange:
    """A file that differs from what it should be; ``after`` is ``None`` where it is to be removed.

    ``appended`` is the end of ``after`` that is not ours; ``lines`` is the file's.
    """

    path: str
    before: Optional[Stored]
    after: Optional[Stored]
    keep: bool = True
    lines: bool = False
    appended: bytes = b""

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


def _digest(stored: Optional[Stored], appended: bytes = b"") -> str:
    """Of a file without what somebody else appended to it."""
    if stored is None:
        return "absent"
    return hashlib.sha256(stored.content[: len(stored.content) - len(appended)]).hexdigest()


class Ledger:
    """The record of one concern (such as ``kernel_modules``, ``nm_links`` or ``runtime``) on one node.

    ``notes`` is the concern's own JSON data, for instance the modules it loaded; ``save`` keeps it. ``warnings`` names
    the files that ``compare`` leaves alone, and why.
    """

    def __init__(
        self,
        files: Files,
        concern: str,
        notes: Optional[Mapping[str, Shape]] = None,
        caches: Sequence[str] = (),
    ) -> None:
        """``notes``: shapes of the notes by name, checked when they are read. ``caches``: those that may be lost.

        :raises HostError: the ledger is damaged, or missing although there are originals.
        """
        self.files = files
        self.directory = f"{STATE}/{concern}"
        self.path = f"{self.directory}/ledger.json"
        self.warnings: List[str] = []
        self._shapes, self._caches = notes or {}, caches
        self._document = LedgerDocument()
        self._originals = Originals(files, f"{self.directory}/originals")
        self._adopted: Dict[str, Stored] = {}
        self._load()

    def _load(self) -> None:
        self._document, self._adopted = LedgerDocument(), {}
        text = self.files.text(self.path)
        try:
            if text is not None:
                self._document = document.parse(text, self._shapes, self._caches)
            elif self._originals.saved() and not self.files.exists(self.path):
                raise ValueError("is missing, although there are originals")
        except NewerVersionError as error:
            raise HostError(f"{self.path} {error}. Nothing was changed") from error
        except ValueError as error:
            raise HostError(
                f"{self.path} {error}. Nothing was changed; originals are below {self._originals.directory}, and "
                "docs/recovery.md of this collection explains how to restore them"
            ) from error

    @property
    def notes(self) -> Dict[str, Any]:
        return self._document.notes

    @notes.setter
    def notes(self, notes: Dict[str, Any]) -> None:
        self._document.notes = notes

    @property
    def known(self) -> List[str]:
        """Paths of all files that are not as they were before the first change."""
        return sorted(self._document.files)

    @property
    def created(self) -> List[str]:
        """Those of the ``known`` files that did not exist before the first change."""
        return [path for path in self.known if self._document.files[path].before is None]

    def as_written(self, path: str) -> bool:
        """Whether the file is as one of our runs, or somebody before them, left it."""
        entry = self._document.files[path]
        return _digest(self.files.stored(path)) in (*entry.written, entry.before.digest if entry.before else "absent")

    def is_ours(self, path: str) -> bool:
        """Whether the file is there as one of our runs left it."""
        entry = self._document.files.get(path)
        return entry is not None and _digest(self.files.stored(path)) in entry.written

    def original_text(self, path: str) -> Optional[str]:
        """The file as it was before the first change, or as it is now if it was never changed."""
        stored = self._original(path) if path in self._document.files else self.files.stored(path)
        return None if stored is None else stored.content.decode("utf-8", "surrogateescape")

    def adopt(self, path: str, original: Optional[str] = None) -> None:
        """Treat the file, as it is now, as written by us; ``original`` is what was there before (``None``: nothing).

        For files written without a ledger: by an earlier version, or by a daemon that restored one of ours. Recorded by
        the next ``save``.
        """
        current = self.files.stored(path)
        if current is None:
            return
        entry = self._document.files.setdefault(path, Entry(None))
        entry.written = sorted({*entry.written, _digest(current)})
        if original is not None:
            content = original.encode("utf-8", "surrogateescape")
            self._adopted[path] = Stored(content, current.mode, current.uid, current.gid)
            entry.before = _described(self._adopted[path])

    def save(self) -> None:
        """Write entries and notes; an empty ledger is removed."""
        for path in [path for path in self._adopted if path in self._document.files]:
            self._originals.keep(path, self._adopted.pop(path))
        if not self._document.empty or self.files.exists(self.path):
            self._write()
        self._tidy()

    def _write(self) -> None:
        text = self._document.text()
        if self.files.text(self.path) != text:
            self.files.write(self.path, _own(text.encode(), 0o600))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until no other run changes the node, and keep others from doing so.

        The ledger is then read again, since it may have changed while waiting, and what a killed run left is removed:
        read the node and plan inside.
        """
        with storage.exclusive(self.files, STATE):
            self._load()
            self._tidy()
            yield

    def steady(self, look: Callable[[], Found]) -> Found:
        """What ``look`` finds while no other run changes the node; it reads this ledger and changes nothing.

        :raises HostError: as ``look`` does.
        """
        with storage.shared(self.files, STATE) as held:
            self._load()
            try:
                return look()
            except HostError:
                if held or not self.files.exists(storage.lock_of(STATE)):
                    raise
        # The first run of all has begun meanwhile, so what was seen may be half of it.
        with storage.shared(self.files, STATE):
            self._load()
            return look()

    def clear(self) -> None:
        """Remove what a killed run left, if there is anything: a half-written ledger, and all of one that is empty."""
        left = self.files.is_half_written(self.path)
        if self._document.empty:
            left = left or self.files.exists(self.directory) or storage.is_unused(self.files, STATE)
        if left:
            with self.locked():
                pass

    def _tidy(self) -> None:
        """Remove half-written files, originals that nobody needs, and empty directories."""
        for path in [self.path, *self._document.files]:
            self.files.discard_temporary(path)
        if all(map(self._intact, self._document.files)):
            self._originals.drop(path for path in self._strays() if self._droppable(path))
            if self._document.spent:
                self._document.spent = []
                if not self._document.empty:
                    self._write()
        if self._document.empty and not self._originals.saved():
            # Last, because originals without a ledger are an error.
            self.files.remove(self.path)
        self.files.remove_empty_directory(self.directory)

    def _strays(self) -> List[str]:
        """Files that have an original and no entry."""
        return sorted(set(self._originals.paths()) - set(self._document.files))

    def _intact(self, path: str) -> bool:
        try:
            self._original(path)
        except HostError:
            return False
        return True

    def unclaimed(self) -> List[str]:
        """Warnings about originals that no entry has, and that are kept because their files differ from them."""
        return [
            f"{self._originals.place(path)} is an original that {self.path} does not name, and {path} differs from it,"
            " so it is kept: put it back, or remove it"
            for path in self._strays()
            if not self._droppable(path)
        ]

    def _droppable(self, path: str) -> bool:
        """Whether nothing is lost without this file's original: a killed run may have saved it and not its entry."""
        if path in self._document.spent:
            return True
        try:
            return _digest(self.files.stored(path)) == _digest(self._originals.stored(path))
        except HostError:
            return False

    def compare(self, wanted: Sequence[File]) -> List[FileChange]:
        """What has to change so that the files of this concern are those ``wanted``; changes nothing itself.

        A file that an earlier run changed and that is no longer wanted is restored. If it was edited since, it is left
        alone and ``warnings`` says so.

        :raises HostError: a file that has to be written is masked.
        """
        self.warnings = self.unclaimed()
        changes = []
        for file in wanted:
            before = self.files.stored(file.path)
            appended = self._appended(file.path, before) if file.lines else b""
            after = self._after(file, before, appended)
            if before != after or file.release:
                if after is not None:
                    self.files.refuse_masked(file.path)
                changes.append(FileChange(file.path, before, after, not file.release, file.lines, appended))
        named = {file.path for file in wanted}
        for path in self.known:
            if path not in named:
                changes += self._restoration(path)
        return sorted(changes, key=lambda change: change.path)

    def _after(self, file: File, before: Optional[Stored], appended: bytes) -> Optional[Stored]:
        if file.content is None:
            return None
        content = file.content.encode("utf-8", "surrogateescape") + appended
        if before is None:
            return _own(content, file.mode)
        if file.path not in self.created:
            return Stored(content, before.mode, before.uid, before.gid)
        # Somebody may have taken rights away since, also by another group.
        tightened = before.mode & ~file.mode == 0
        return Stored(content, before.mode if tightened else file.mode, os.geteuid(), before.gid)

    def _appended(self, path: str, current: Optional[Stored]) -> bytes:
        """Lines that somebody appended to what we wrote."""
        entry = self._document.files.get(path)
        if entry is None or current is None or _digest(current) in entry.written:
            return b""
        made, size, ours = hashlib.sha256(), 0, len(current.content)
        for line in current.content.splitlines(keepends=True):
            made.update(line)
            size += len(line)
            # The longest, because a killed run may have written more than the one before.
            if made.hexdigest() in entry.written and line.endswith(b"\n"):
                ours = size
        if ours < len(current.content):
            self.warnings.append(f"lines that somebody appended to {path} are kept")
        return current.content[ours:]

    def _restoration(self, path: str) -> List[FileChange]:
        current, original = self.files.stored(path), self._original(path)
        if current is not None and original is not None:
            # Whoever changed these since had a reason.
            original = Stored(original.content, current.mode, current.uid, current.gid)
        appended = self._appended(path, current) if self._document.files[path].lines else b""
        if appended and current is not None:
            theirs = b"" if original is None else original.content
            after = replace(current, content=theirs + appended)
            return [FileChange(path, current, after, keep=False, lines=True, appended=appended)]
        if _digest(current) not in (*self._document.files[path].written, _digest(original)):
            where = f"; its original is {self._originals.place(path)}" if original is not None else ""
            self.warnings.append(f"{path} was edited since this collection wrote it, so it is kept{where}")
            return []
        return [FileChange(path, current, original, keep=False)]

    def _original(self, path: str) -> Optional[Stored]:
        before = self._document.files[path].before
        if before is None:
            return None
        kept = self._adopted.get(path) or self._originals.stored(path)
        if kept is None:
            raise HostError(f"{path} cannot be restored: its original {self._originals.place(path)} is missing")
        if before.digest not in (None, _digest(kept)):
            raise HostError(
                f"{path} cannot be restored: its original {self._originals.place(path)} was modified or is damaged"
            )
        return Stored(kept.content, before.mode, before.uid, before.gid)

    def apply(self, changes: Sequence[FileChange]) -> None:
        """Write what ``compare`` returned, each file whole or not at all, after its original was saved.

        :raises HostError: one cannot be written; all are then put back, as far as that is possible.
        """
        if not changes:
            return
        known = copy.deepcopy(self._document.files)
        if not self.files.exists(self.path):
            # Before the first original: a run that is killed in between leaves no original without a ledger.
            self._write()
        try:
            for change in changes:
                self._remember(change)
            self.save()
            for change in changes:
                self._replace(change.path, change.before, change.after)
        except HostError:
            self._put_back(changes, known)
            raise
        for change in changes:
            self._settle(change)
        self._remove_made_directories()
        self.save()

    def _replace(self, path: str, now: Optional[Stored], wanted: Optional[Stored]) -> None:
        if wanted is None:
            self.files.remove(path)
        elif wanted != now:
            self.files.write(path, wanted)

    def _put_back(self, changes: Sequence[FileChange], known: Dict[str, Entry]) -> None:
        """Undo the changes and their entries. What cannot be put back stays in the ledger, with its original."""
        for change in reversed(changes):
            # Also the one that failed: it may be in place although it could not be synced.
            with contextlib.suppress(HostError):
                self._replace(change.path, self.files.stored(change.path), change.before)
        for change in changes:
            with contextlib.suppress(HostError):
                if _digest(self.files.stored(change.path)) == _digest(change.before):
                    self._document.files.pop(change.path, None)
                    if change.path in known:
                        self._document.files[change.path] = known[change.path]
        with contextlib.suppress(HostError):
            self._remove_made_directories()
            self.save()

    def _remember(self, change: FileChange) -> None:
        entry = self._document.files.get(change.path)
        if entry is None:
            if not change.keep:
                return
            before = None
            if change.before is not None:
                self._originals.keep(change.path, change.before)
                before = _described(change.before)
            entry = self._document.files[change.path] = Entry(before, lines=change.lines)
            self._document.spent = [path for path in self._document.spent if path != change.path]
        # Until the file is written, both its old and its new content are ours.
        entry.written = sorted({*entry.written, _digest(change.after, change.appended)})
        if change.after is not None:
            made = self._document.directories
            made += [path for path in self.files.missing_directories(change.path) if path not in made]

    def _settle(self, change: FileChange) -> None:
        if change.keep:
            entry = self._document.files[change.path]
            entry.written, entry.lines = [_digest(change.after, change.appended)], change.lines
        elif self._document.files.pop(change.path, None) is not None:
            self._document.spent.append(change.path)

    def _remove_made_directories(self) -> None:
        wanted = [os.path.dirname(path) + "/" for path in self.known]
        for directory in sorted(self._document.directories, reverse=True):
            if not any(path.startswith(directory + "/") for path in wanted):
                self.files.remove_empty_directory(directory)
                self._document.directories.remove(directory)


def _own(content: bytes, mode: int) -> Stored:
    return Stored(content, mode, os.geteuid(), os.getegid())


def _described(stored: Stored) -> Original:
    return Original(stored.mode, stored.uid, stored.gid, _digest(stored))
