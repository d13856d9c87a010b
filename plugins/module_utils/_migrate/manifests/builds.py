# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""What patches manifests without being a file of kustomize: Flux' Kustomizations, and Applications of Argo CD.

Both name a directory of the repository and have fields of a kustomization, which change what is built of it.

Sources: ``KustomizationSpec`` of github.com/fluxcd/kustomize-controller/api v1.6.0 (and of v1beta2, with the older
patches), ``ApplicationSourceKustomize`` of github.com/argoproj/argo-cd v3.1.0, pkg/apis/application/v1alpha1/types.go.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Iterator, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import ref_of

_FLUX = ("kustomize.toolkit.fluxcd.io", "Kustomization")
_ARGO = (("argoproj.io", "Application"), ("argoproj.io", "ApplicationSet"))


@dataclass(frozen=True)
class Build:
    """A document that patches what is built of directories: ``body`` has the fields of a kustomization.

    ``shown`` is what people call it. ``directories`` are those that are there, none where the directory is not known.
    """

    path: str
    number: int
    shown: str
    body: Mapping[str, Any]
    directories: Sequence[str]


def found(path: str, number: int, document: Any) -> Iterator[Build]:
    """The builds of a document of the file with this path. ``number`` is that of the document."""
    ref = ref_of(document, "")
    shown = f"{ref.kind.kind} {ref.name}"
    spec = table(at(document, "spec"))
    if ref.kind == _FLUX:
        yield Build(path, number, shown, _of_flux(spec), _directories(path, text(spec.get("path"))))
    elif ref.kind in _ARGO:
        inner = spec if ref.kind.kind == "Application" else table(at(spec, "template", "spec"))
        for source in [table(inner.get("source")), *entries(inner.get("sources"))]:
            body = table(source.get("kustomize"))
            if body:
                yield Build(path, number, shown, body, _directories(path, text(source.get("path"))))


def _of_flux(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The older kinds of patches are values there, not texts."""
    older: List[Mapping[str, Any]] = [
        {"patch": json.dumps(patch), "target": entry.get("target")}
        for entry in entries(spec.get("patchesJson6902"))
        for patch in [entry.get("patch")]
    ]
    older += [{"patch": json.dumps(patch)} for patch in entries(spec.get("patchesStrategicMerge"))]
    kept = {name: spec[name] for name in ("namePrefix", "nameSuffix", "components") if name in spec}
    namespace = {"namespace": spec["targetNamespace"]} if spec.get("targetNamespace") else {}
    return {**kept, **namespace, "patches": [*entries(spec.get("patches")), *older]}


def _directories(path: str, named: str) -> Sequence[str]:
    """Where a path from the top of the repository may lead to. The top is above the file, nobody knows how far."""
    steps = os.path.normpath(named.strip("/") or ".")
    if steps.startswith(".."):
        return ()
    return [full for full in (os.path.join(above, steps) for above in _above(path)) if os.path.isdir(full)]


def _above(path: str) -> Iterator[str]:
    """The directories that a file is in, up to the top of its repository where that is to be seen."""
    directory = os.path.dirname(os.path.abspath(path))
    while directory != os.path.dirname(directory):
        yield directory
        if os.path.exists(os.path.join(directory, ".git")):
            return
        directory = os.path.dirname(directory)
