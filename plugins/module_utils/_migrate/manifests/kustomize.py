# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Patches of kustomizations: what a pod asks for is in several files, and right only where all of them fit together.

Nothing is built here. A patch that touches what a rewrite changes stays as it is, and so does what it patches.
"""

from __future__ import annotations

import bisect
import functools
import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names, is_gpu, is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, table, text, texts
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import ObjectRef, is_object
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import disk, unread
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.builds import Build

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_TOUCHED = re.compile(r"\b(?:hostNetwork|hostPort|dnsPolicy|resourceClaims)\b")
# What a patch can take away as a whole, with ``null`` or ``$patch``.
_RESOURCES = ("resources", "limits", "requests")
# JSON Patches of all resources of a container, of whole containers, or of all that a pod is.
_WHOLE = re.compile(
    r"/(?:resources(?:/(?:limits|requests))?|(?:initContainers|containers)(?:/(?:[0-9]+|-))?|(?:template|spec)(?:/spec)?)\""
)
# A strategic merge patch that leaves nothing of a list or map.
_REPLACING = re.compile(r"\"\$patch\": \"replace\"|\"(?:containers|template)\": null")
# A patch that is not read.
_UNKNOWN = "?"
_BUILD = "rewrite the output of kustomize build, or change patch and base by hand"
# What kustomizations put before and after the name of an object: each of them alone, and all of a way to it together.
# A patch may use any of these names (github.com/kubernetes-sigs/kustomize, api/resmap/reswrangler.go, GetById).
Affixes = Sequence[Tuple[str, str]]
# Reads a kustomization, by its real path.
_Read = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class Target:
    """What a patch is for, by kind and name; either is a regular expression, empty for all."""

    kind: str = ""
    name: str = ""

    def meets(self, ref: ObjectRef, affixes: Affixes) -> bool:
        names = [ref.name, *(f"{prefix}{ref.name}{suffix}" for prefix, suffix in affixes)]
        return _fits(self.kind, ref.kind.kind) and any(_fits(self.name, name) for name in names)


class Patch(NamedTuple):
    """A patch: its file, empty where it is written in the kustomization, its documents, and its target if any."""

    path: str
    content: List[Any]
    target: Optional[Target]


class Source(NamedTuple):
    """A file that is built, and what the names of its objects may get."""

    path: str
    affixes: Affixes


def _fits(pattern: str, value: str) -> bool:
    try:
        return not pattern or re.fullmatch(pattern, value) is not None
    except re.error:
        return pattern == value


@dataclass
class Patched:
    """What patches of kustomizations keep as it is, by path of the file.

    ``patches`` are the kustomizations whose patch a file is, ``inline`` those that have patches in themselves,
    ``builds`` the numbers of documents that have such, ``targets`` what of a file is patched, with what its names may
    get and with the kustomization, and ``namespaces`` where kustomizations put a file.
    """

    patches: Dict[str, str] = field(default_factory=dict)
    inline: Set[str] = field(default_factory=set)
    builds: Set[int] = field(default_factory=set)
    targets: Dict[str, List[Tuple[Target, Affixes, str]]] = field(default_factory=dict)
    namespaces: Dict[str, List[Tuple[str, str]]] = field(default_factory=dict)

    def patch(self, path: str, number: int) -> str:
        """Why a document of a file stays as it is because of what it does to others, empty if it does nothing."""
        path = os.path.realpath(path)
        if path in self.patches:
            return f"is a patch of {self.patches[path]}, and what the built pod requests is not known: {_BUILD}"
        inline = path in self.inline or number in self.builds
        return f"patches what a rewrite changes: {_BUILD}" if inline else ""

    def target(self, path: str, ref: ObjectRef) -> str:
        """Why an object of a file stays as it is because of a patch, empty if there is none."""
        having = self.targets.get(os.path.realpath(path), ())
        return next(
            (f"{whose} patches what would change here: {_BUILD}" for aim, add, whose in having if aim.meets(ref, add)),
            "",
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


def patched(paths: Sequence[str], site: Names, builds: Sequence[Build] = ()) -> Patched:
    """What the kustomizations among these files and beside them patch, as far as a rewrite changes it.

    So do ``builds``, which are documents of these files.
    """
    found = Patched()
    # Many overlays have the same base.
    read = functools.lru_cache(maxsize=None)(_kustomization)
    for directory in dict.fromkeys(os.path.dirname(os.path.abspath(path)) for path in paths):
        for path in _in(directory):
            real = os.path.realpath(path)
            # As people know it.
            shown = os.path.join(os.path.basename(directory), os.path.basename(path))
            inline, targets = _touched(_patches(os.path.dirname(path), read(real), {real}, read), found, shown, site)
            if inline:
                found.inline.add(real)
            _keep(found, shown, targets, read(real), functools.partial(_sources, path, (), set(), read))
    every = sorted({os.path.realpath(path) for path in paths})
    for build in builds:
        patches = _patches(os.path.dirname(build.path), build.body, set(), read)
        inline, targets = _touched(patches, found, build.shown, site)
        if inline:
            found.builds.add(build.number)
        _keep(found, build.shown, targets, build.body, functools.partial(_built, build, every, read))
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


def _touched(patches: Iterable[Patch], found: Patched, shown: str, site: Names) -> Tuple[bool, List[Target]]:
    """Whether one of the patches that are about what a rewrite changes has no file of its own, and what they patch."""
    inline = False
    targets: List[Target] = []
    for patch in patches:
        if not _touches(patch.content, site):
            continue
        if patch.path:
            found.patches.setdefault(os.path.realpath(patch.path), shown)
        else:
            inline = True
        named = [_named(each) for each in patch.content if is_object(each)]
        targets += [patch.target] if patch.target else named or [Target()]
    return inline, targets


def _keep(
    found: Patched,
    shown: str,
    targets: Sequence[Target],
    body: Mapping[str, Any],
    sources: Callable[[], Iterable[Source]],
) -> None:
    namespace = text(body.get("namespace"))
    for source in sources() if targets or namespace else ():
        path = os.path.realpath(source.path)
        found.targets.setdefault(path, []).extend((target, source.affixes, shown) for target in targets)
        if namespace:
            found.namespaces.setdefault(path, []).append((namespace, shown))


def _named(patch: Any) -> Target:
    kind, name = text(at(patch, "kind")), text(at(patch, "metadata", "name"))
    return Target(re.escape(kind), re.escape(name))


def _patches(here: str, body: Mapping[str, Any], seen: Set[str], read: _Read) -> Iterator[Patch]:
    """Those of a kustomization in the directory ``here``, and those of its components, which are its own."""
    for entry in [*entries(body.get("patches")), *entries(body.get("patchesJson6902"))]:
        yield from _patch(here, text(entry.get("path")), text(entry.get("patch")), _target(entry.get("target")))
    for written in texts(body.get("patchesStrategicMerge")):
        inline = "\n" in written
        yield from _patch(here, "" if inline else written, written if inline else "", None)
    for entry in entries(body.get("replacements")):
        yield from _replacement(here, entry)
    for written in texts(body.get("transformers")):
        yield from _transformer(here, written)
    for component in texts(body.get("components")):
        for other in map(os.path.realpath, _in(os.path.join(here, component))):
            if other not in seen:
                seen.add(other)
                yield from _patches(os.path.dirname(other), read(other), seen, read)


def _target(aim: Any) -> Optional[Target]:
    return Target(text(at(aim, "kind")), text(at(aim, "name"))) if isinstance(aim, dict) else None


def _transformer(here: str, written: str) -> Iterator[Patch]:
    """The patches of a transformer, which is in a file, or in the kustomization itself.

    Its kinds are PatchTransformer, PatchStrategicMergeTransformer and PatchJson6902Transformer.
    """
    full = "" if "\n" in written else os.path.join(here, written)
    for patch in _patch(here, "" if not full else written, written if not full else "", None):
        for document in patch.content:
            target = _target(at(document, "target"))
            inner = [text(at(document, name)) for name in ("patch", "patches", "jsonOp")]
            outer = [text(at(document, "path")), *texts(at(document, "paths"))]
            for each in inner:
                yield from (found._replace(path=full) for found in _patch(here, "", each, target))
            for each in outer:
                yield from _patch(here, each, "", target)


def _replacement(here: str, entry: Mapping[str, Any]) -> Iterator[Patch]:
    """What a replacement sets, as JSON Patches; its own text is in the kustomization or in a file."""
    name = text(entry.get("path"))
    path = os.path.join(here, name) if name else ""
    written = _content(path) if path else [entry]
    if _UNKNOWN in written:
        yield Patch(path, written, None)
    every = [each for document in written for each in (document if isinstance(document, list) else [document])]
    for target in (target for each in every for target in entries(table(each).get("targets"))):
        # Dots separate, but those of names are escaped.
        fields = [re.split(r"(?<!\\)\.", name) for name in texts(target.get("fieldPaths"))]
        pointers = ["/".join(part.replace("\\.", ".").replace("/", "~1") for part in parts) for parts in fields]
        patch = [{"op": "replace", "path": f"/{pointer}"} for pointer in pointers]
        yield Patch(path, [patch], _target(target.get("select")) or Target())


def _patch(here: str, path: str, inline: str, target: Optional[Target]) -> Iterator[Patch]:
    if "://" in path:
        yield Patch("", [_UNKNOWN], target)
    elif path:
        full = os.path.join(here, path)
        yield Patch(full, _content(full), target)
    elif inline:
        try:
            yield Patch("", yaml_values.read(inline), target)
        except yaml_values.TextError:
            yield Patch("", [inline], target)


def _touches(content: Sequence[Any], site: Names) -> bool:
    """Whether a patch is about what a rewrite changes."""
    written = json.dumps(content)
    if _UNKNOWN in content:
        return True
    if _TOUCHED.search(written) or _WHOLE.search(written) or _REPLACING.search(written):
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


def _sources(path: str, outer: Affixes, seen: Set[str], read: _Read) -> Iterator[Source]:
    """The files that a kustomization is built of, without its patches. ``outer`` is what names get beyond it."""
    real = os.path.realpath(path)
    if real in seen:
        return
    seen.add(real)
    here, body = os.path.dirname(path), read(real)
    affixes = _with(text(body.get("namePrefix")), text(body.get("nameSuffix")), outer)
    for source in [name for key in ("resources", "bases", "components") for name in texts(body.get(key))]:
        full = os.path.join(here, source)
        if os.path.isfile(full):
            yield Source(full, affixes)
        for other in _in(full):
            yield from _sources(other, affixes, seen, read)


def _with(prefix: str, suffix: str, outer: Affixes) -> Affixes:
    """The names that an object may have, from the innermost kustomization outwards; ``outer`` begins with the whole."""
    if not prefix and not suffix:
        return outer
    return [*((f"{first}{prefix}", f"{suffix}{last}") for first, last in outer), (prefix, suffix)]


def _built(build: Build, paths: Sequence[str], read: _Read) -> Iterator[Source]:
    """The files that a build has: of a directory without a kustomization, all that are in it. ``paths`` are sorted."""
    outer = _with(text(build.body.get("namePrefix")), text(build.body.get("nameSuffix")), ())
    for directory in build.directories:
        kustomizations = list(_in(directory))
        for path in kustomizations:
            yield from _sources(path, outer, set(), read)
        below = os.path.join(os.path.realpath(directory), "")
        # The last character that there is: all paths below come before it.
        inside = paths[bisect.bisect_left(paths, below) : bisect.bisect_left(paths, f"{below}\U0010ffff")]
        yield from (Source(path, outer) for path in inside if not kustomizations)
