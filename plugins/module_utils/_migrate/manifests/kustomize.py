# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Patches of kustomizations: what a pod asks for is in several files, and right only where all of them fit together.

Nothing is built here. A patch that touches what a rewrite changes stays as it is, and so does what it patches.
"""

from __future__ import annotations

import functools
import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names, is_gpu, is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, table, text, texts
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import is_object
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import disk, unread

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_TOUCHED = re.compile(r"\b(?:hostNetwork|hostPort|dnsPolicy|resourceClaims)\b")
# What a patch can take away as a whole, with ``null`` or ``$patch``.
_RESOURCES = ("resources", "limits", "requests")
# JSON Patches of all resources of a container, or of its limits.
_LIMITS = re.compile(r"/resources(?:/(?:limits|requests))?\"")
# A patch that is not read.
_UNKNOWN = "?"
_BUILD = "rewrite the output of kustomize build, or change patch and base by hand"
# Reads a kustomization, by its real path.
_Read = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class Target:
    """What a patch is for, by kind and name; either is a regular expression, empty for all."""

    kind: str = ""
    name: str = ""

    def meets(self, document: Any) -> bool:
        kind, name = text(at(document, "kind")), text(at(document, "metadata", "name"))
        return is_object(document) and _fits(self.kind, kind) and _fits(self.name, name)


def _fits(pattern: str, value: str) -> bool:
    try:
        return not pattern or re.fullmatch(pattern, value) is not None
    except re.error:
        return pattern == value


@dataclass
class Patched:
    """What patches of kustomizations keep as it is, by path of the file.

    ``patches`` are the kustomizations whose patch a file is, ``inline`` those that have patches in themselves,
    ``targets`` what of a file is patched, with the kustomization, and ``namespaces`` where kustomizations put a file.
    """

    patches: Dict[str, str] = field(default_factory=dict)
    inline: Set[str] = field(default_factory=set)
    targets: Dict[str, List[Tuple[Target, str]]] = field(default_factory=dict)
    namespaces: Dict[str, List[Tuple[str, str]]] = field(default_factory=dict)

    def patch(self, path: str) -> str:
        """Why a file stays as it is because of what it does to others, empty if it does nothing."""
        path = os.path.realpath(path)
        if path in self.patches:
            return f"is a patch of {self.patches[path]}, and what the built pod requests is not known: {_BUILD}"
        return f"patches what a rewrite changes: {_BUILD}" if path in self.inline else ""

    def target(self, path: str, document: Any) -> str:
        """Why a document of a file stays as it is because of a patch, empty if there is none."""
        having = self.targets.get(os.path.realpath(path), ())
        return next(
            (f"{whose} patches what would change here: {_BUILD}" for aim, whose in having if aim.meets(document)), ""
        )

    def namespace(self, path: str, right: Callable[[str], bool]) -> str:
        """Why a document of a file stays as it is because it is built for a namespace that is not right."""
        having = self.namespaces.get(os.path.realpath(path), ())
        return next(
            (
                f"{whose} puts it into the namespace {name}, which does not have the same templates: {_BUILD}"
                for name, whose in having
                if not right(name)
            ),
            "",
        )


def patched(paths: Sequence[str], site: Names) -> Patched:
    """What the kustomizations among these files and beside them patch, as far as a rewrite changes it."""
    found = Patched()
    # Many overlays have the same base.
    read = functools.lru_cache(maxsize=None)(_kustomization)
    for directory in dict.fromkeys(os.path.dirname(os.path.abspath(path)) for path in paths):
        for path in _in(directory):
            _of_kustomization(path, found, site, read)
    return found


def _content(path: str) -> List[Any]:
    """The documents of a file, none where it is not there. One that cannot be read may be about anything."""
    try:
        return yaml_values.read(disk.read(path)) if os.path.lexists(path) else []
    except (disk.FileError, yaml_values.TextError):
        return [_UNKNOWN]


def _kustomization(path: str) -> Mapping[str, Any]:
    documents = _content(path)
    return documents[0] if documents and isinstance(documents[0], dict) else {}


def _of_kustomization(path: str, found: Patched, site: Names, read: _Read) -> None:
    # As people know it.
    shown = os.path.join(os.path.basename(os.path.dirname(path)), os.path.basename(path))
    targets: List[Target] = []
    for patch, content, target in _patches(path, set(), read):
        if not _touches(content, site):
            continue
        if patch:
            found.patches.setdefault(os.path.realpath(patch), shown)
        else:
            found.inline.add(os.path.realpath(path))
        targets += [target] if target else [_named(each) for each in content if is_object(each)] or [Target()]
    namespace = text(read(os.path.realpath(path)).get("namespace"))
    for source in map(os.path.realpath, _sources(path, set(), read) if targets or namespace else ()):
        found.targets.setdefault(source, []).extend((target, shown) for target in targets)
        if namespace:
            found.namespaces.setdefault(source, []).append((namespace, shown))


def _named(patch: Any) -> Target:
    kind, name = text(at(patch, "kind")), text(at(patch, "metadata", "name"))
    return Target(re.escape(kind), re.escape(name))


def _patches(path: str, seen: Set[str], read: _Read) -> Iterator[Tuple[str, List[Any], Any]]:
    """The file of each patch (empty where it is written in the kustomization), its documents, and its target if it has
    one. Those of components are patches of whoever has these.
    """
    real = os.path.realpath(path)
    if real in seen:
        return
    seen.add(real)
    here, body = os.path.dirname(path), read(real)
    for entry in [*entries(body.get("patches")), *entries(body.get("patchesJson6902"))]:
        aim = entry.get("target")
        target = Target(text(at(aim, "kind")), text(at(aim, "name"))) if isinstance(aim, dict) else None
        yield from _patch(here, text(entry.get("path")), text(entry.get("patch")), target)
    for written in texts(body.get("patchesStrategicMerge")):
        inline = "\n" in written
        yield from _patch(here, "" if inline else written, written if inline else "", None)
    for entry in entries(body.get("replacements")):
        yield from _replacement(here, entry)
    for component in texts(body.get("components")):
        for other in _in(os.path.join(here, component)):
            yield from _patches(other, seen, read)


def _replacement(here: str, entry: Mapping[str, Any]) -> Iterator[Tuple[str, List[Any], Any]]:
    """What a replacement sets, as JSON Patches; its own text is in the kustomization or in a file."""
    name = text(entry.get("path"))
    path = os.path.join(here, name) if name else ""
    written = _content(path) if path else [entry]
    if _UNKNOWN in written:
        yield path, written, None
    every = [each for document in written for each in (document if isinstance(document, list) else [document])]
    for target in (target for each in every for target in entries(table(each).get("targets"))):
        aim = target.get("select")
        # Dots separate, but those of names are escaped.
        fields = [re.split(r"(?<!\\)\.", name) for name in texts(target.get("fieldPaths"))]
        pointers = ["/".join(part.replace("\\.", ".").replace("/", "~1") for part in parts) for parts in fields]
        patch = [{"op": "replace", "path": f"/{pointer}"} for pointer in pointers]
        yield path, [patch], Target(text(at(aim, "kind")), text(at(aim, "name")))


def _patch(here: str, path: str, inline: str, target: Any) -> Iterator[Tuple[str, List[Any], Any]]:
    if path:
        full = os.path.join(here, path)
        yield full, _content(full), target
    elif inline:
        try:
            yield "", yaml_values.read(inline), target
        except yaml_values.TextError:
            yield "", [inline], target


def _touches(content: Sequence[Any], site: Names) -> bool:
    """Whether a patch is about what a rewrite changes."""
    written = json.dumps(content)
    if _UNKNOWN in content:
        return True
    if _TOUCHED.search(written) or _LIMITS.search(written):
        return True
    return any(unread.patches_gpus(each, site) or unread.signs(each, site) or _changes(each, site) for each in content)


def _changes(content: Any, site: Names) -> bool:
    """Whether a patch has a device, whatever number it gives it, or takes away all that a container requests."""
    for value in unread.everything(content):
        for name, entry in table(value).items():
            annotates = name == findings.NETWORKS or findings.is_ours(str(name))
            if annotates or is_rdma(str(name), site) or is_gpu(str(name), site):
                return True
            if name in _RESOURCES and (entry is None or "$patch" in table(entry)):
                return True
    return False


def _in(directory: str) -> Iterator[str]:
    """The kustomization of a directory."""
    yield from (path for path in (os.path.join(directory, name) for name in _NAMES) if os.path.isfile(path))


def _sources(path: str, seen: Set[str], read: _Read) -> Iterator[str]:
    """The files that a kustomization is built of, without its patches."""
    real = os.path.realpath(path)
    if real in seen:
        return
    seen.add(real)
    here, body = os.path.dirname(path), read(real)
    for source in [name for key in ("resources", "bases", "components") for name in texts(body.get(key))]:
        full = os.path.join(here, source)
        if os.path.isfile(full):
            yield full
        for other in _in(full):
            yield from _sources(other, seen, read)
