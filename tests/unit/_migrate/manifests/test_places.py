# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Files that depend on others or on themselves: kustomizations and their patches, SOPS, and equal names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.modules import workload_manifests

Run = Callable[..., dict[str, Any]]
_REQUESTS = [
    {"name": "h100-8gpu-8nic", "templates": {"llm": "h100-8gpu-8nic-0a1b2c3d4e"}, "gpus": 8, "nics": 8},
    {"name": "one-nic", "templates": {"llm": "one-nic-0a1b2c3d4e"}, "nics": 1},
]
_RDMA = """\
      hostNetwork: true   # because RDMA
      dnsPolicy: ClusterFirstWithHostNet
"""


def _deployment(limits: str, host: str = _RDMA, name: str = "srv") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: llm
spec:
  replicas: 1
  selector: {{matchLabels: {{app: srv}}}}
  template:
    metadata:
      labels: {{app: srv}}
    spec:
{host}      # the server
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.20.0
          args: ["--port=8000"]
          ports: [{{containerPort: 8000}}]
          resources:
            limits: {limits}
"""


_GPUS, _BOTH = '{nvidia.com/gpu: "8"}', '{nvidia.com/gpu: "8", rdma/hca: "1"}'
_PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: srv, namespace: llm}
spec:
  template:
    spec:
"""
_BASE = "resources: [deployment.yaml]\n"
_INLINE = "resources: [../../base]\npatches:\n  - patch: |-\n"
_JSON_PATCH = '      - {op: replace, path: "/spec/template/spec/containers/0/resources/limits/rdma~1hca", value: "8"}\n'


def _indented(text: str) -> str:
    return "".join(f"      {line}\n" for line in text.splitlines())


@pytest.fixture
def rewrite(run_module: Run, tmp_path: Path) -> Run:
    """Writes the files, and returns the files that changed and by file why others stay."""

    def run(files: dict[str, str], **options: Any) -> dict[str, Any]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = run_module(workload_manifests, **{"paths": [str(tmp_path)], "requests": _REQUESTS, **options})
        notes = {note["file"]: note["text"] for note in found["notes"] if note["level"] == "cannot"}
        return {"changed": found["files"], "stays": notes}

    return run


@pytest.mark.parametrize(
    ("base", "kustomization", "patch", "stays"),
    [
        # The requests of a pod in two files: a rewrite of the patch alone would leave it 16 GPUs.
        (
            _deployment(_GPUS, ""),
            "resources: [../../base]\npatches: [{path: patch.yaml}]\n",
            f'{_PATCH}{_RDMA}      containers: [{{name: vllm, resources: {{limits: {{rdma/ib: "1"}}}}}}]\n',
            {"overlays/ib/patch.yaml": "is a patch of ib/kustomization.yaml, and what the built pod requests"},
        ),
        (
            _deployment(_BOTH),
            _INLINE + _indented(_PATCH + '      containers: [{name: vllm, resources: {limits: {rdma/hca: "8"}}}]'),
            "",
            {
                "overlays/ib/kustomization.yaml": "patches what a rewrite",
                "base/deployment.yaml": "ib/kustomization.yaml pat",
            },
        ),
        (
            _deployment(_BOTH),
            f"{_INLINE}{_JSON_PATCH}    target: {{kind: Deployment, name: s.*}}\n",
            "",
            {
                "overlays/ib/kustomization.yaml": "patches what a rewrite",
                "base/deployment.yaml": "ib/kustomization.yaml pat",
            },
        ),
        # It adds the host's network alone.
        (
            _deployment(_GPUS, ""),
            _INLINE + _indented(_PATCH + "      hostNetwork: true"),
            "",
            {"overlays/ib/kustomization.yaml": "patches what a rewrite changes: rewrite the output of kustomize build"},
        ),
        (
            _deployment(_BOTH),
            "resources: [../../base]\npatchesStrategicMerge: [patch.yaml]\n",
            f"{_PATCH}      hostNetwork: false\n",
            {
                "overlays/ib/patch.yaml": "is a patch of ib/",
                "base/deployment.yaml": "ib/kustomization.yaml patches what",
            },
        ),
    ],
)
def test_what_a_built_pod_requests(
    rewrite: Run, base: str, kustomization: str, patch: str, stays: dict[str, str]
) -> None:
    files = {
        "base/deployment.yaml": base,
        "base/kustomization.yaml": _BASE,
        "overlays/ib/kustomization.yaml": kustomization,
        **({"overlays/ib/patch.yaml": patch} if patch else {}),
    }
    found = rewrite(files)
    assert found["changed"] == []
    assert set(found["stays"]) == set(stays)
    for name, why in stays.items():
        assert why in found["stays"][name]


@pytest.mark.parametrize("field", ["limits.rdma/hca", r"limits.nvidia\.com/gpu", "limits"])
@pytest.mark.parametrize("inline", [True, False])
def test_a_replacement_is_a_patch(rewrite: Run, field: str, inline: bool) -> None:
    target = {
        "select": {"kind": "Deployment"},
        "fieldPaths": [f"spec.template.spec.containers.[name=vllm].resources.{field}"],
    }
    entry = {"source": {"kind": "ConfigMap", "name": "n", "fieldPath": "data.n"}, "targets": [target]}
    own: dict[str, Any] = {"resources": ["../../base"], "replacements": [entry if inline else {"path": "r.yaml"}]}
    files = {"base/deployment.yaml": _deployment(_BOTH), "base/kustomization.yaml": _BASE}
    files["overlays/ib/kustomization.yaml"] = yaml.safe_dump(own)
    found = rewrite(files if inline else {**files, "overlays/ib/r.yaml": yaml.safe_dump([entry])})
    assert found["changed"] == []
    assert "ib/kustomization.yaml patches what would change" in found["stays"]["base/deployment.yaml"]


@pytest.mark.parametrize(("namespace", "changes"), [("llm", True), ("prod", False)])
@pytest.mark.parametrize("own", ["  namespace: llm\n", ""])
def test_a_kustomization_puts_it_into_a_namespace(rewrite: Run, namespace: str, changes: bool, own: str) -> None:
    files = {
        "base/deployment.yaml": _deployment(_BOTH).replace("  namespace: llm\n", own),
        "base/kustomization.yaml": _BASE,
        "overlays/ib/kustomization.yaml": f"resources: [../../base]\nnamespace: {namespace}\n",
    }
    found = rewrite(files)
    assert bool(found["changed"]) is changes
    said = found["stays"].get("base/deployment.yaml", "")
    assert ("ib/kustomization.yaml puts it into the namespace prod" in said) is not changes


def test_a_component_patches_what_others_have(rewrite: Run) -> None:
    files = {
        "base/deployment.yaml": _deployment(_BOTH),
        "ib/patch.yaml": f"{_PATCH}      hostNetwork: false\n",
        "ib/kustomization.yaml": "kind: Component\ncomponents: [../ib]\npatches: [{path: patch.yaml}]\n",
        "site/kustomization.yaml": "resources: [../base/deployment.yaml]\ncomponents: [../ib]\n",
    }
    found = rewrite(files)
    assert (found["changed"], set(found["stays"])) == ([], {"base/deployment.yaml", "ib/patch.yaml"})
    assert "site/kustomization.yaml patches what would change here" in found["stays"]["base/deployment.yaml"]


@pytest.mark.parametrize(
    "patched",
    [
        "spec: {containers: [{name: vllm, resources: {limits: {rdma/hca: null}}}]}",
        "spec: {containers: [{name: vllm, resources: {limits: {rdma/hca: 0}}}]}",
        "spec: {containers: [{name: vllm, resources: null}]}",
        "spec: {containers: [{name: vllm, resources: {$patch: delete}}]}",
        "metadata: {annotations: {k8s.v1.cni.cncf.io/networks: rail}}",
        "metadata: {annotations: {rdma.zerocopy.io/nics: nearest}}",
    ],
)
def test_a_patch_that_takes_rdma_away_or_gives_it_otherwise(rewrite: Run, patched: str) -> None:
    """With the claim of a rewritten base, an overlay that has none would get it."""
    text = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: srv}}\nspec: {{template: {{{patched}}}}}\n"
    files = {
        "base/deployment.yaml": _deployment(_BOTH),
        "base/kustomization.yaml": _BASE,
        "overlays/dev/kustomization.yaml": "resources: [../../base]\npatches: [{path: patch.yaml}]\n",
        "overlays/dev/patch.yaml": text,
    }
    found = rewrite(files)
    assert found["changed"] == []
    assert {"base/deployment.yaml", "overlays/dev/patch.yaml"} <= set(found["stays"])


def test_a_file_of_comments_stays(rewrite: Run, tmp_path: Path) -> None:
    files = {"a.yml": "# moved to b.yml\n", "b.yml": "\n", "c.yml": _deployment(_BOTH)}
    for back in ({}, {"state": "absent"}):
        assert rewrite(files, **back)["changed"] in (["c.yml"], [])
        assert (tmp_path / "a.yml").read_text() == "# moved to b.yml\n"
        assert (tmp_path / "b.yml").read_text() == "\n"


@pytest.mark.parametrize(
    ("of_pod", "limits"),
    [
        ("metadata: {annotations: {k8s.v1.cni.cncf.io/networks: rail}}", "{rdma/hca: 1}"),
        ("metadata: {name: a, annotations: {1: x}}", "{rdma/hca: 1, 1: 2}"),
    ],
)
def test_odd_names_are_no_crash(rewrite: Run, tmp_path: Path, of_pod: str, limits: str) -> None:
    containers = f"[{{name: main, image: x, resources: {{limits: {limits}}}}}]"
    pod = f"apiVersion: v1\nkind: Pod\n{of_pod}\nspec: {{hostNetwork: true, containers: {containers}}}\n"
    assert rewrite({"a.yml": pod}, namespace="llm")["changed"] == ["a.yml"]
    assert rewrite({}, state="absent")["changed"] == ["a.yml"]
    assert yaml.safe_load((tmp_path / "a.yml").read_text()) == yaml.safe_load(pod)


@pytest.mark.parametrize(
    "kustomization",
    [
        _BASE.replace("deployment.yaml", "../../base"),
        _INLINE + _indented(_PATCH.replace("  template:\n    spec:\n", "  replicas: 2\n")),
        _INLINE + _indented(_PATCH + "      tolerations: [{key: nvidia.com/gpu, operator: Exists}]"),
        # Another Deployment's.
        f"{_INLINE}{_JSON_PATCH}    target: {{kind: Deployment, name: other}}\n",
    ],
)
def test_a_patch_of_something_else_keeps_nothing(rewrite: Run, kustomization: str) -> None:
    files = {
        "base/deployment.yaml": _deployment(_BOTH),
        "base/kustomization.yaml": _BASE,
        "overlays/x/kustomization.yaml": kustomization,
    }
    found = rewrite(files)
    assert found["changed"] == ["base/deployment.yaml"]
    assert "base/deployment.yaml" not in found["stays"]


def test_a_patch_that_was_rewritten_before_goes_back(rewrite: Run) -> None:
    patch = f'{_PATCH}{_RDMA}      containers: [{{name: vllm, resources: {{limits: {{rdma/ib: "1"}}}}}}]\n'
    assert rewrite({"patch.yaml": patch})["changed"] == ["patch.yaml"]
    kustomization = {"kustomization.yaml": "patches: [{path: patch.yaml}]\n"}
    assert rewrite(kustomization, state="absent") == {"changed": ["patch.yaml"], "stays": {}}


_SOPS = "sops:\n  age: []\n  lastmodified: '2026-01-02T03:04:05Z'\n  mac: ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]\n"


def test_what_sops_has_encrypted_stays(rewrite: Run) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {rdma: 'ENC[AES256_GCM,data:a]'}\n"
    settings = (
        "apiVersion: example.org/v1\nkind: Engine\nmetadata: {name: a}\nspec: {rdma/ib: 'ENC[AES256_GCM,data:a]'}\n"
    )
    found = rewrite(
        {
            "deployment.yaml": _deployment(_BOTH) + _SOPS,
            "secret.yaml": secret + _SOPS,
            "engine.yaml": settings + _SOPS,
            "plain.yaml": _deployment(_BOTH, name="plain"),
        }
    )
    assert found["changed"] == ["plain.yaml"]
    why = "is encrypted by SOPS, which signs the whole file: change it with sops"
    assert found["stays"] == {"deployment.yaml": why, "engine.yaml": why}


def test_equal_names_in_two_directories(rewrite: Run, tmp_path: Path) -> None:
    files = {f"{place}/srv.yaml": _deployment(_BOTH, name=place) for place in ("east", "west")}
    paths = [str(tmp_path / place) for place in ("east", "west")]
    out = tmp_path / "out"
    assert rewrite(files, paths=paths, directory=str(out))["changed"] == ["east/srv.yaml", "west/srv.yaml"]
    assert [f"name: {place}" in (out / place / "srv.yaml").read_text() for place in ("east", "west")] == [True, True]
    # Where they are.
    assert rewrite({}, paths=[f"{path}/srv.yaml" for path in paths])["changed"] == ["east/srv.yaml", "west/srv.yaml"]
    # One file by two paths is one file.
    again = [paths[0], f"{paths[0]}/", f"{paths[0]}/srv.yaml"]
    assert rewrite({}, paths=again, state="absent")["changed"] == ["srv.yaml"]


_HOST = "spec: {template: {spec: {hostNetwork: false}}}"
_NAMED = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\n" + _HOST + "\n"


@pytest.mark.parametrize("name", ["srv", "x-srv-v1", "y-x-srv-v1", "x-srv-v1-z", "y-x-srv-v1-z"])
def test_a_patch_names_it_with_what_kustomizations_add(rewrite: Run, name: str) -> None:
    files = {
        "base/deployment.yaml": _deployment(_BOTH),
        "base/kustomization.yaml": f"{_BASE}namePrefix: x-\nnameSuffix: -v1\n",
        "mid/kustomization.yaml": "resources: [../base]\nnamePrefix: y-\n",
        "top/kustomization.yaml": "resources: [../mid]\nnameSuffix: -z\npatches: [{path: patch.yaml}]\n",
        "top/patch.yaml": _NAMED % name,
    }
    found = rewrite(files)
    if name == "x-srv-v1-z":
        # No kustomization makes this name of it.
        assert found["changed"] == ["base/deployment.yaml"]
    else:
        assert found["changed"] == []
        assert "top/kustomization.yaml patches what would change" in found["stays"]["base/deployment.yaml"]


@pytest.mark.parametrize("kind", ["List", "DeploymentList"])
def test_a_patched_object_of_a_list(rewrite: Run, kind: str) -> None:
    item = yaml.safe_load(_deployment(_BOTH))
    files = {
        "base/deployment.yaml": yaml.safe_dump({"apiVersion": "apps/v1", "kind": kind, "items": [item]}),
        "base/kustomization.yaml": f"{_BASE}patches: [{{path: patch.yaml}}]\n",
        "base/patch.yaml": _NAMED % "srv",
    }
    found = rewrite(files)
    assert found["changed"] == []
    assert "base/kustomization.yaml patches what would change" in found["stays"]["base/deployment.yaml"]


@pytest.mark.parametrize("name", ["Kustomization", "kustomization.yml", "kustomization.yaml"])
def test_a_directory_that_has_nothing_else(rewrite: Run, name: str) -> None:
    files = {
        "base/deployment.yaml": _deployment(_BOTH),
        "base/Kustomization": _BASE,
        f"top/{name}": _INLINE.replace("../../", "../") + _indented(_NAMED % "srv"),
    }
    found = rewrite(files)
    assert (found["changed"], set(found["stays"])) == ([], {"base/deployment.yaml", f"top/{name}"})


_PATCHED = {"patch": _NAMED % "srv"}


@pytest.mark.parametrize(
    "spec",
    [
        {"path": "./apps/srv", "patches": [_PATCHED]},
        {"path": "apps", "patches": [{"patch": f"- {{op: add, {_HOST[7:]}", "target": {"name": "s.*"}}]},
        {"path": "/apps/srv", "patchesStrategicMerge": [yaml.safe_load(_PATCHED["patch"])]},
        {
            "path": "apps/srv",
            "patchesJson6902": [
                {"target": {"name": "srv"}, "patch": [{"op": "remove", "path": "/spec/template/spec/hostNetwork"}]}
            ],
        },
        {"path": "apps/srv", "targetNamespace": "prod"},
    ],
)
def test_patches_of_flux(rewrite: Run, spec: dict[str, Any]) -> None:
    flux = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "srv"}}
    files = {
        "apps/srv/deployment.yaml": _deployment(_BOTH),
        "clusters/a/srv.yaml": yaml.safe_dump(flux | {"spec": spec}),
    }
    found = rewrite(files)
    assert found["changed"] == []
    assert found["stays"]["apps/srv/deployment.yaml"].startswith("Kustomization srv p")
    assert ("clusters/a/srv.yaml" in found["stays"]) is ("targetNamespace" not in spec)
    # Another directory's.
    files["clusters/a/srv.yaml"] = yaml.safe_dump(flux | {"spec": {**spec, "path": "other"}})
    assert rewrite(files)["changed"] == ["apps/srv/deployment.yaml"]


@pytest.mark.parametrize("kind", ["Application", "ApplicationSet"])
@pytest.mark.parametrize("several", [True, False])
def test_patches_of_argo_cd(rewrite: Run, kind: str, several: bool) -> None:
    source = {"path": "apps/srv", "kustomize": {"namePrefix": "x-", "patches": [{"patch": _NAMED % "x-srv"}]}}
    spec: dict[str, Any] = {"sources": [source]} if several else {"source": source}
    spec = {"template": {"spec": spec}} if kind == "ApplicationSet" else spec
    item = {"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": "srv"}, "spec": spec}
    files = {
        "apps/srv/kustomization.yaml": _BASE,
        "apps/srv/deployment.yaml": _deployment(_BOTH),
        "argo/srv.yaml": yaml.safe_dump(item),
    }
    found = rewrite(files)
    assert (found["changed"], set(found["stays"])) == ([], {"apps/srv/deployment.yaml", "argo/srv.yaml"})
    assert f"{kind} srv patches what would change" in found["stays"]["apps/srv/deployment.yaml"]


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("PatchTransformer", {"patch": _NAMED % "srv"}),
        ("PatchTransformer", {"target": {"name": "srv"}, "path": "patch.yaml"}),
        ("PatchStrategicMergeTransformer", {"paths": ["patch.yaml"]}),
        ("PatchJson6902Transformer", {"target": {"name": "srv"}, "jsonOp": '[{"op": "remove", "path": "/spec"}]'}),
    ],
)
@pytest.mark.parametrize("inline", [True, False])
def test_patches_of_transformers(rewrite: Run, kind: str, patch: dict[str, Any], inline: bool) -> None:
    text = yaml.safe_dump({"apiVersion": "builtin", "kind": kind, "metadata": {"name": "a"}, **patch})
    files = {
        "base/kustomization.yaml": yaml.safe_dump(
            {"resources": ["deployment.yaml"], "transformers": [text if inline else "t.yaml"]}
        ),
        "base/deployment.yaml": _deployment(_BOTH),
        "base/patch.yaml": _NAMED % "srv",
    }
    found = rewrite(files if inline else {**files, "base/t.yaml": text})
    assert found["changed"] == []
    assert "base/kustomization.yaml patches what would change" in found["stays"]["base/deployment.yaml"]


@pytest.mark.parametrize(
    "patched",
    [
        "{spec: {containers: [{$patch: replace}, {name: other}]}}",
        "{spec: {containers: null}}",
        "[{op: replace, path: /spec/template/spec/containers/0, value: {name: other}}]",
        "[{op: remove, path: /spec/template/spec/containers/0}]",
        "[{op: replace, path: /spec/template/spec, value: {containers: []}}]",
    ],
)
def test_a_patch_of_whole_containers(rewrite: Run, patched: str) -> None:
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: srv}\nspec: {template: "
    text = patched if patched.startswith("[") else f"{head}{patched}}}\n"
    files = {
        "base/deployment.yaml": _deployment(_BOTH),
        "base/kustomization.yaml": f"{_BASE}patches: [{{path: patch.yaml, target: {{name: srv}}}}]\n",
        "base/patch.yaml": text,
    }
    found = rewrite(files)
    assert (found["changed"], "base/deployment.yaml" in found["stays"]) == ([], True)


def test_templates_and_links_are_not_passed_over(rewrite: Run, tmp_path: Path) -> None:
    elsewhere, inside = tmp_path / "elsewhere", tmp_path / "in"
    for path in (elsewhere, inside / "real"):
        path.mkdir(parents=True)
        (path / "a.yaml").write_text(_deployment(_BOTH))
    (inside / "out").symlink_to(elsewhere)
    (inside / "again").symlink_to(inside / "real")
    template = _deployment(_BOTH).replace("replicas: 1", "replicas: {{ n }}")
    files = {"in/a.yaml.j2": template, "in/b.tpl": "{{- define }}", "in/values.yaml.gotmpl": "rdma/ib: {{ .n }}\n"}
    files["in/c.tpl"] = "vke.volcengine.com/rdma: {{ .Values.rdma | quote }}\n"
    found = rewrite(files, paths=[str(inside)])
    assert found["changed"] == ["real/a.yaml"]
    assert set(found["stays"]) == {"out", "a.yaml.j2", "c.tpl", "values.yaml.gotmpl"}
    assert found["stays"]["a.yaml.j2"].startswith("has rdma/hca, but is a template")
    assert f"is a link to the directory {elsewhere}" in found["stays"]["out"]


def test_a_patch_from_the_net_may_be_about_anything(rewrite: Run) -> None:
    files = {
        "base/deployment.yaml": _deployment(_BOTH),
        "base/kustomization.yaml": f"{_BASE}patches: [{{path: 'https://example.org/p.yaml', target: {{name: srv}}}}]\n",
    }
    found = rewrite(files)
    assert (found["changed"], set(found["stays"])) == ([], {"base/deployment.yaml", "base/kustomization.yaml"})
