# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Manifests in files of the controller: read, rewritten together, and written where they are wanted."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import move, text_edit, yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.move import Moved
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.requests import Wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.counted import counted

_ENDINGS = (".yml", ".yaml", ".json")


class FileError(Exception):
    """Why not all could be written; ``changed`` are the files that were."""

    def __init__(self, text: str, changed: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.changed = list(changed)


@dataclass
class FilesRequest:
    """``paths`` are files and directories, ``directory`` where to write, empty for where they are."""

    paths: Sequence[str]
    wish: Wish
    directory: str = ""
    back: bool = False


@dataclass
class _File:
    """A file: its path, the one below the directory it was found in, and its text and documents."""

    path: str
    below: str
    text: str
    documents: List[Any] = field(default_factory=list)


def _paths(given: Sequence[str]) -> List[Tuple[str, str]]:
    found: Dict[str, str] = {}
    for path in given:
        if os.path.isfile(path):
            found[path] = os.path.basename(path)
        elif os.path.isdir(path):
            for directory, names, files in os.walk(path):
                # What a repository keeps for itself.
                names[:] = sorted(name for name in names if not name.startswith("."))
                for name in sorted(files):
                    if name.endswith(_ENDINGS):
                        full = os.path.join(directory, name)
                        found[full] = os.path.relpath(full, path)
        else:
            raise FileError(f"{path} is neither a file nor a directory")
    below = list(found.values())
    twice = next((name for name in below if below.count(name) > 1), None)
    if twice:
        raise FileError(f"{twice} is in two of the directories: rewrite them one after the other")
    return list(found.items())


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error


def _write(path: str, text: str) -> None:
    """Whole or not at all, with the mode of what was there."""
    directory = os.path.dirname(path)
    try:
        os.makedirs(directory, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".rdma-migrate-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.chmod(temporary, os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error}") from error


def rewrite(request: FilesRequest, check: bool) -> Dict[str, Any]:
    """The result of the module, with diffs. Raises FileError, before anything is written unless writing fails."""
    files: List[_File] = []
    notes: List[Dict[str, str]] = []
    for path, below in _paths(request.paths):
        file = _File(path, below, _read(path))
        try:
            file.documents = yaml_values.read(file.text)
            files.append(file)
            # In a directory there are other files as well, such as values of Helm charts.
            if path in request.paths and not any(move.is_object(document) for document in file.documents):
                notes.append({"file": below, "object": "", "level": move.CANNOT, "text": "has no Kubernetes object"})
        except yaml_values.TextError as error:
            notes.append({"file": below, "object": "", "level": move.CANNOT, "text": str(error)})
    every = [document for file in files for document in file.documents]
    moved = move.back(every) if request.back else move.forward(every, request.wish)
    changed: List[Tuple[_File, str]] = []
    start = 0
    for file in files:
        end = start + len(file.documents)
        wanted = moved.documents[start:end]
        notes += _notes(file, moved, range(start, end))
        start = end
        try:
            changed.append((file, text_edit.changed(file.text, file.documents, wanted)))
        except yaml_values.TextError as error:
            notes.append({"file": file.below, "object": "", "level": move.CANNOT, "text": str(error)})
    result = _written(changed, request, check)
    return {**result, "notes": notes, "text": summary("file", result["files"], notes)}


def summary(thing: str, changed: Sequence[str], notes: Sequence[Mapping[str, str]]) -> str:
    """Files or objects that changed, and the notes, for a terminal."""
    lines = [f"{counted(len(changed), thing)} changed" + (":" if changed else "")]
    lines += [f"  {name}" for name in changed]
    for level, title in ((move.CANNOT, "Stays as it is:"), (move.LEFT, "Changed, but look at this:")):
        told = [note for note in notes if note["level"] == level]
        lines += [title] if told else []
        for file, name in dict.fromkeys((note["file"], note["object"]) for note in told):
            lines.append("  " + (f"{name} ({file})" if name and file else name or file))
            lines += [f"    {note['text']}" for note in told if (note["file"], note["object"]) == (file, name)]
    return "\n".join(lines)


def _notes(file: _File, moved: Moved, numbers: range) -> List[Dict[str, str]]:
    return [
        {"file": file.below, "object": str(note.ref), "level": note.level, "text": note.text}
        for note in moved.notes
        if note.document in numbers
    ]


def _written(changed: Sequence[Tuple[_File, str]], request: FilesRequest, check: bool) -> Dict[str, Any]:
    """Write what differs. Into a directory only what differs from the source, and what it holds already."""
    todo: List[Tuple[_File, str, str, str]] = []
    for file, text in changed:
        path = os.path.join(request.directory, file.below) if request.directory else file.path
        there = os.path.exists(path)
        if not there and text == file.text:
            continue
        now = _read(path) if there else file.text
        if not there or now != text:
            todo.append((file, path, now, text))
    written: List[str] = []
    for file, path, _now, text in todo:
        try:
            if not check:
                _write(path, text)
        except FileError as error:
            raise FileError(str(error), written) from error
        written.append(file.below)
    diffs = [
        {"before_header": file.below, "after_header": path, "before": now, "after": text}
        for file, path, now, text in todo
    ]
    return {"changed": bool(written), "files": written, "diff": diffs}
