# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Manifests in files of the controller: read, rewritten together, and written where they are wanted."""

from __future__ import annotations

import difflib
import functools
import os
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import yaml_text, yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import (
    KINDS,
    ObjectRef,
    is_object,
    name_of,
    ref_of,
    slots,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import (
    builds,
    disk,
    kustomize,
    rewrite,
    unread,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import RewriteOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.disk import FileError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

_ENCRYPTED = "is encrypted by SOPS, which signs the whole file: change it with sops"


@dataclass
class FilesRequest:
    """``paths`` are files and directories, ``directory`` where to write, empty for where they are."""

    paths: Sequence[str]
    options: RewriteOptions
    directory: str = ""
    back: bool = False


@dataclass
class _File:
    """A file with its text and documents. ``first`` is the number of its first document among those of all files."""

    place: disk.Place
    text: str
    documents: List[Any] = field(default_factory=list)
    first: int = 0

    @property
    def path(self) -> str:
        return self.place.full

    @property
    def below(self) -> str:
        return self.place.below


def rewrite_files(request: FilesRequest, check: bool) -> Dict[str, Any]:
    """The result of the module, with diffs. Raises FileError, before anything is written unless writing fails."""
    files, notes = _files(request)
    every = [document for file in files for document in file.documents]
    site = request.options.site
    patches = kustomize.Patched() if request.back else kustomize.patched(*_parts(files, site))
    fixed = _kept(files, patches, site)
    while True:
        moved = rewrite.reverted(every, fixed) if request.back else rewrite.rewritten(every, request.options, fixed)
        changed, stuck = _texts(files, moved.documents)
        stuck = stuck or _of_patches(files, moved.documents, patches, request.options)
        if not stuck:
            break
        # Others may depend on them, such as a pool on the ports of its pods.
        fixed.update(stuck)
    of_documents: Dict[int, List[rewrite.Note]] = {}
    for note in moved.notes:
        of_documents.setdefault(note.document, []).append(note)
    for file in files:
        numbers = range(file.first, file.first + len(file.documents))
        notes += [_note(file, number, fixed[number]) for number in numbers if fixed.get(number)]
        notes += [
            {"file": file.below, "object": str(note.ref).strip(), "level": note.level, "text": note.text}
            for number in numbers
            for note in of_documents.get(number, ())
        ]
    result = _written(changed, request, check)
    unknown = [] if request.back else _no_workload(request.options.choices, every, request.options.namespace)
    return {**result, "notes": notes, "text": _summary(result["files"], notes), "warnings": unknown}


def _files(request: FilesRequest) -> Tuple[List[_File], List[Dict[str, str]]]:
    """Those that have documents, and why others do not. Raises FileError."""
    files: List[_File] = []
    notes: List[Dict[str, str]] = []
    given = set(map(os.path.realpath, request.paths))
    for place in disk.found(request.paths):
        try:
            file = _File(place, disk.read(place.full))
            if place.path.lower().endswith(disk.TEMPLATES) and place.full not in given:
                signs = unread.signs(file.text, request.options.site)
                why = f"has {unread.told(signs)}, but is a template: render it first, or change it by hand"
                notes += [{"file": place.below, "object": "", "level": rewrite.CANNOT, "text": why}] if signs else []
                continue
            file.documents = yaml_values.read(file.text)
            if not request.directory:
                disk.inside(place)
        except (FileError, yaml_values.TextError) as error:
            # In a directory there are other files as well, such as values of Helm charts.
            if isinstance(error, FileError) and place.full in given:
                raise
            notes.append({"file": place.below, "object": "", "level": rewrite.CANNOT, "text": str(error)})
            continue
        file.first = files[-1].first + len(files[-1].documents) if files else 0
        files.append(file)
        if place.full in given and not any(is_object(document) for document in file.documents):
            notes.append(
                {"file": place.below, "object": "", "level": rewrite.CANNOT, "text": "has no Kubernetes object"}
            )
    return files, notes


def _parts(files: Sequence[_File], site: Names) -> Tuple[List[str], Names, List[builds.Build]]:
    """What is to be known of patches."""
    found = [
        build
        for file in files
        for number, document in enumerate(file.documents, file.first)
        for build in builds.found(file.path, number, document)
    ]
    return [file.path for file in files], site, found


def _kept(files: Sequence[_File], patches: kustomize.Patched, site: Names) -> Dict[int, str]:
    """Documents by number that nothing may change, with the reason where they concern RDMA."""
    found: Dict[int, str] = {}
    for file in files:
        encrypted = any(_is_encrypted(document) for document in file.documents)
        for number, document in enumerate(file.documents, file.first):
            why = _ENCRYPTED if encrypted else patches.patch(file.path, number)
            if why:
                concerned = not encrypted or ref_of(document, "").kind in KINDS or unread.signs(document, site)
                found[number] = why if concerned else ""
    return found


def _is_encrypted(document: Any) -> bool:
    """Whether SOPS has encrypted values of it."""
    return bool(at(document, "sops", "mac") or at(document, "sops", "lastmodified"))


def _of_patches(
    files: Sequence[_File], wanted: Sequence[Any], patches: kustomize.Patched, options: RewriteOptions
) -> Dict[int, str]:
    """Documents by number that would change, but are patched or built for another namespace, with the reason."""

    def as_here(ref: ObjectRef, namespace: str) -> bool:
        every = [request.claimed for request in options.requests if request.claimed]
        return all(names.get(namespace) == names.get(ref.namespace or next(iter(names))) for names in every)

    return {
        number: why
        for file in files
        for number, document in enumerate(file.documents, file.first)
        if document is not None and not yaml_values.same(document, wanted[number])
        for ref in _changed_objects(document, wanted[number], options.namespace)
        for why in [patches.target(file.path, ref) or patches.namespace(file.path, functools.partial(as_here, ref))]
        if why
    }


def _changed_objects(old: Any, new: Any, namespace: str) -> Iterator[ObjectRef]:
    """The objects of a document that are to change: itself, or those of a list."""
    for before, after in zip(slots([old]), slots([new])):
        if not yaml_values.same(before.holder[before.place], after.holder[after.place]):
            yield before.ref(namespace)


def _texts(files: Sequence[_File], wanted: Sequence[Any]) -> Tuple[List[Tuple[_File, str]], Dict[int, str]]:
    """Each file with its new text, and the documents by number that cannot be changed in theirs, with the reason."""
    changed: List[Tuple[_File, str]] = []
    stuck: Dict[int, str] = {}
    for file in files:
        new = wanted[file.first : file.first + len(file.documents)]
        try:
            changed.append((file, yaml_text.changed(file.text, file.documents, new)))
        except yaml_values.TextError as error:
            places = error.documents or [
                place for place, both in enumerate(zip(file.documents, new)) if not yaml_values.same(*both)
            ]
            stuck.update({file.first + place: str(error) for place in places})
    return changed, stuck


def _note(file: _File, number: int, why: str) -> Dict[str, str]:
    name = name_of(file.documents[number - file.first])
    return {"file": file.below, "object": name, "level": rewrite.CANNOT, "text": why}


def _no_workload(choices: Iterable[str], documents: List[Any], namespace: str) -> List[str]:
    """A warning for each choice that is for no workload of the manifests."""
    refs = [ref for ref in (slot.ref(namespace) for slot in slots(documents)) if ref.kind in KINDS]
    known = list(dict.fromkeys(name for ref in refs for name in (ref.name, f"{ref.namespace}/{ref.name}")))
    found = []
    for name in choices:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            nearest = f"; the nearest name is {close[0]}" if close else ""
            found.append(f"rdma_migrate_requests: {name} is no workload of these manifests{nearest}")
    return found


def _summary(changed: Sequence[str], notes: Sequence[Mapping[str, str]]) -> str:
    """Files that changed, and the notes, for a terminal."""
    lines = [f"{counted(len(changed), 'file')} changed" + (":" if changed else "")]
    lines += [f"  {name}" for name in changed]
    for level, title in ((rewrite.CANNOT, "Stays as it is:"), (rewrite.LEFT, "Needs a review:")):
        told = [note for note in notes if note["level"] == level]
        lines += [title] if told else []
        of_objects: Dict[Tuple[str, str], List[str]] = {}
        for note in told:
            of_objects.setdefault((note["file"], note["object"]), []).append(f"    {note['text']}")
        for (file, name), texts in of_objects.items():
            lines += [f"  {name} ({file})" if name else f"  {file}", *texts]
    return "\n".join(lines)


def _written(changed: Sequence[Tuple[_File, str]], request: FilesRequest, check: bool) -> Dict[str, Any]:
    """Write what differs. Into a directory only what differs from the source, and what it holds already."""
    todo: List[Tuple[disk.Place, str, str]] = []
    for file, text in changed:
        place = disk.Place(request.directory, file.below, file.below) if request.directory else file.place
        there = os.path.lexists(place.full)
        if not there and text == file.text:
            continue
        disk.inside(place)
        now = disk.read(place.full) if there else file.text
        if not there or now != text:
            todo.append((place, now, text))
    written: List[str] = []
    for place, _now, text in todo:
        try:
            if not check:
                disk.write(place, text)
        except FileError as error:
            raise FileError(str(error), written) from error
        written.append(place.below)
    diffs = [
        {"before_header": place.below, "after_header": place.full, "before": now, "after": text}
        for place, now, text in todo
    ]
    return {"changed": bool(written), "files": written, "diff": diffs}
