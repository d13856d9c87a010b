# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Four times as many manifests are four times the work, and not sixteen times."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import WELL_KNOWN
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import disk, files, kustomize
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import RewriteOptions
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import NAMESPACE
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import ONE

_FEW, _TIMES = 5, 4
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: {namespace}
spec:
  template:
    metadata:
      labels: {{app: {name}}}
    spec:
      hostNetwork: true
      containers:
        - name: vllm
          image: registry.example.org/llm/vllm:v1
          args: ["--port={port}"]
          resources:
            limits: {{nvidia.com/gpu: 1, rdma/ib: 1}}
"""
_SERVICE = """\
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  selector: {{app: {name}}}
  ports: [{{port: 80, targetPort: {port}}}]
"""


def deployments(number: int) -> list[str]:
    return [_DEPLOYMENT.format(name=f"d{place}", namespace=NAMESPACE, port=8000 + place) for place in range(number)]


def documents(directory: Path, number: int) -> None:
    (directory / "all.yml").write_text("---\n".join(deployments(number)))


def one_by_one(directory: Path, number: int) -> None:
    for place, text in enumerate(deployments(number)):
        (directory / f"{place}.yml").write_text(text)


def a_list(directory: Path, number: int) -> None:
    items = ["- " + text.replace("\n", "\n  ").rstrip() + "\n" for text in deployments(number)]
    (directory / "all.yml").write_text("apiVersion: v1\nkind: List\nitems:\n" + "".join(items))


def services(directory: Path, number: int) -> None:
    texts = [_SERVICE.format(name=f"d{place}", namespace=NAMESPACE, port=8000 + place) for place in range(number)]
    (directory / "all.yml").write_text("---\n".join([*deployments(number), *texts]))


def anchors(directory: Path, number: int) -> None:
    """None of them can be changed."""
    limits = "limits: {nvidia.com/gpu: 1, rdma/ib: 1}\n"
    both = "limits: &all {nvidia.com/gpu: 1, rdma/ib: 1}\n            requests: *all\n"
    (directory / "all.yml").write_text("---\n".join(text.replace(limits, both) for text in deployments(number)))


_FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}}}
spec: {{path: apps/{name}, targetNamespace: llm, patches: [{{patch: "spec: {{replicas: 2}}"}}]}}
"""


def flux(directory: Path, number: int) -> None:
    """Each has a directory, which is read for it alone."""
    for place, text in enumerate(deployments(number)):
        (directory / f"apps/{place}").mkdir(parents=True)
        (directory / f"apps/{place}/all.yml").write_text(text)
    (directory / "flux.yml").write_text("---\n".join(_FLUX.format(name=place) for place in range(number)))


def work(directory: Path) -> tuple[Counter[tuple[str, str]], dict[str, Any]]:
    """How often each function of Python was called, and what was done."""
    calls: Counter[tuple[str, str]] = Counter()

    def count(frame: FrameType, event: str, _value: Any) -> None:
        if event == "call":
            calls[frame.f_code.co_filename, frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        found = files.rewrite_files(files.FilesRequest([str(directory)], RewriteOptions([ONE])), check=True)
    finally:
        sys.setprofile(None)
    return calls, found


@pytest.mark.parametrize("write", [documents, one_by_one, a_list, services, anchors, flux])
def test_the_work_grows_with_the_manifests(tmp_path: Path, write: Callable[[Path, int], None]) -> None:
    found = {}
    for number in (_FEW, _FEW * _TIMES):
        directory = tmp_path / str(number)
        directory.mkdir()
        write(directory, number)
        found[number], result = work(directory)
        assert bool(result["files"]) is (write is not anchors)
        assert write is not anchors or len(result["notes"]) == number
    few, many = found[_FEW], found[_FEW * _TIMES]
    assert {name: (few[name], number) for name, number in many.items() if number > 1.5 * _TIMES * (few[name] + 1)} == {}


def test_a_kustomization_is_read_once_whoever_is_built_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overlay = "resources: [../base]\nnamespace: llm\npatches: [{patch: 'spec: {hostNetwork: true}'}]\n"
    for name, text in {"base": "resources: [all.yml]\n", "a": overlay, "b": overlay, "c": overlay}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text(text)
    documents(tmp_path / "base", 1)
    reads: Counter[str] = Counter()
    read = disk.read

    def counted(path: str) -> str:
        reads[str(Path(path).resolve().relative_to(tmp_path))] += 1
        return read(path)

    monkeypatch.setattr(disk, "read", counted)
    found = kustomize.patched([str(path) for path in tmp_path.rglob("*.y*ml")], WELL_KNOWN)
    assert reads == {f"{name}/kustomization.yaml": 1 for name in ("base", "a", "b", "c")}
    assert [len(having) for having in found.targets.values()] == [3]
    assert [len(having) for having in found.namespaces.values()] == [3]
