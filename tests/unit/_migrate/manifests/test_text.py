# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Files of manifests: every line that says nothing else stays; and what is done where."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import revert
from ansible_collections.zerocopy.rdma.plugins.modules import workload_manifests

Run = Callable[..., dict[str, Any]]
_REQUEST = {"name": "one-nic", "templates": {"llm": "one-nic-0a1b2c3d4e"}, "capabilities": ["IPC_LOCK"]}
_BEFORE = """\
# Managed by the platform team.
---
apiVersion: apps/v1
kind: Deployment
metadata:
    name: decode    # the second half
    namespace: llm
spec:
    replicas: 1
    template:
        metadata: {labels: {app: llama}}
        spec:
            hostNetwork: true
            # Not the model's own.
            serviceAccountName: 'llm'
            dnsPolicy: ClusterFirstWithHostNet
            containers:
            - resources:
                  limits: {nvidia.com/gpu: "1",   rdma/ib: "1"}
                  requests:
                      rdma/ib: "1"
              # The server.
              name: vllm
              image: "registry.example.org/llm/vllm:v1"
              args:
              - |
                exec vllm serve model \\
                  --max-model-len 8192
              ports:
              - containerPort: 8000
                hostPort: 8000
---
# Nothing to do here.
apiVersion: v1
kind: ConfigMap
metadata: {name:   settings}
data: {started: 2026-01-02, mode: 0644}
"""
_AFTER = """\
# Managed by the platform team.
---
apiVersion: apps/v1
kind: Deployment
metadata:
    name: decode    # the second half
    namespace: llm
    annotations:
      zerocopy.rdma/before: BEFORE
spec:
    replicas: 1
    template:
        metadata: {labels: {app: llama}}
        spec:
            # Not the model's own.
            serviceAccountName: 'llm'
            containers:
            - resources:
                  limits: {nvidia.com/gpu: "1"}
                  claims:
                  - name: rdma
              # The server.
              name: vllm
              image: "registry.example.org/llm/vllm:v1"
              args:
              - |
                exec vllm serve model \\
                  --max-model-len 8192
              ports:
              - containerPort: 8000
              securityContext:
                capabilities:
                  add:
                  - IPC_LOCK
            resourceClaims:
            - name: rdma
              resourceClaimTemplateName: one-nic-0a1b2c3d4e
---
# Nothing to do here.
apiVersion: v1
kind: ConfigMap
metadata: {name:   settings}
data: {started: 2026-01-02, mode: 0644}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "llm").mkdir()
    (tmp_path / "llm" / "decode.yaml").write_text(_BEFORE)
    (tmp_path / "llm" / "README.md").write_text("hostNetwork: true\n")
    return tmp_path


@pytest.fixture
def rewrite(run_module: Run, files: Path) -> Run:
    def run(**options: Any) -> dict[str, Any]:
        return run_module(workload_manifests, **{"paths": [str(files)], "requests": [_REQUEST], **options})

    return run


def _without_way_back(text: str) -> str:
    (line,) = [line for line in text.splitlines() if revert.BEFORE in line]
    return text.replace(line, line.partition(": ")[0] + ": BEFORE")


def test_a_file_there_and_back(rewrite: Run, files: Path) -> None:
    file = files / "llm" / "decode.yaml"
    result = rewrite()
    assert (result["changed"], result["files"], result["notes"]) == (True, ["llm/decode.yaml"], [])
    assert _without_way_back(file.read_text()) == _AFTER
    assert rewrite()["changed"] is False
    assert rewrite(state="absent")["changed"] is True
    comments = [line for line in _BEFORE.splitlines() if "#" in line]
    assert [line for line in file.read_text().splitlines() if "#" in line] == comments
    assert yaml_values.read(file.read_text()) == yaml_values.read(_BEFORE)
    assert rewrite(state="absent")["changed"] is False


def test_check_mode_shows_and_writes_nothing(rewrite: Run, files: Path) -> None:
    result = rewrite(_ansible_check_mode=True, _ansible_diff=True)
    assert result["changed"] is True
    (shown,) = result["diff"]
    assert shown["before"] == _BEFORE
    assert _without_way_back(shown["after"]) == _AFTER
    assert (files / "llm" / "decode.yaml").read_text() == _BEFORE


def test_into_a_directory(rewrite: Run, files: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (files / "llm" / "other.yml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    target = tmp_path_factory.mktemp("target")
    assert rewrite(directory=str(target))["files"] == ["llm/decode.yaml"]
    assert [path.name for path in target.rglob("*.y*")] == ["decode.yaml"]
    assert _without_way_back((target / "llm" / "decode.yaml").read_text()) == _AFTER
    assert (files / "llm" / "decode.yaml").read_text() == _BEFORE
    assert rewrite(directory=str(target))["changed"] is False


def test_files_that_cannot_be_read_as_yaml_stay(rewrite: Run, files: Path) -> None:
    (files / "chart.yaml").write_text("spec: {{ .Values.spec }}\n")
    (files / "twice.yaml").write_text("spec: 1\nspec: 2\n")
    found = {note["file"]: note["text"] for note in rewrite()["notes"]}
    assert found["chart.yaml"] == "is a template, not YAML: render it first, or change its values"
    assert found["twice.yaml"] == "has the key spec twice (line 1)"


def test_a_file_without_an_object_is_told_if_it_was_asked_for(rewrite: Run, files: Path) -> None:
    (files / "values.yaml").write_text("image: {tag: 1.2.3}\n")
    (files / "tasks.yml").write_text("- name: Not a manifest\n")
    assert rewrite(_ansible_check_mode=True)["notes"] == []
    notes = rewrite(paths=[str(files / name) for name in ("values.yaml", "tasks.yml")])["notes"]
    assert [(note["file"], note["level"], note["text"]) for note in notes] == [
        ("values.yaml", "cannot", "has no Kubernetes object"),
        ("tasks.yml", "cannot", "has no Kubernetes object"),
    ]


def test_anchors_are_not_rewritten(rewrite: Run, files: Path) -> None:
    text = _BEFORE.replace('{nvidia.com/gpu: "1",   rdma/ib: "1"}', '&one\n                      rdma/ib: "1"')
    text = text.replace('requests:\n                      rdma/ib: "1"', "requests: *one")
    (files / "llm" / "decode.yaml").write_text(text)
    result = rewrite()
    assert result["changed"] is False
    assert [note["level"] for note in result["notes"]] == ["cannot"]
    assert "anchors" in result["notes"][0]["text"]
    there = "Stays as it is:\n  Deployment llm/decode (llm/decode.yaml)\n    cannot be changed in place"
    assert there in result["text"]


_TWINS = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: twins, namespace: llm}
spec:
  pytorchReplicaSpecs:
    Master: FIRST
      template:
        spec:
          hostNetwork: true
          containers:
            - name: train
              resources:
                limits: LIMITS
                  nvidia.com/gpu: 8
                  rdma/ib: 1
                requests: {cpu: 8}
    Worker: SECOND
"""


@pytest.mark.parametrize(
    ("first", "limits", "second"),
    [
        ("&one", "", "*one"),
        ("&one", "", "{<<: *one, replicas: 3}"),
        ("", "&one", "{template: {spec: {containers: [{name: train, resources: {limits: *one}}]}}}"),
    ],
)
def test_templates_that_share_anything_by_an_anchor(
    first: str, limits: str, second: str, rewrite: Run, own: Path
) -> None:
    """Each of them is rewritten for itself, and then it shows that this text cannot say so."""
    text = _TWINS.replace("FIRST", first).replace("LIMITS", limits).replace("SECOND", second)
    (own / "twins.yaml").write_text(text)
    (own / "other.yaml").write_text(_server("other", 8000))
    result = rewrite(paths=[str(own)])
    assert result["files"] == ["other.yaml"]
    assert [(note["object"], note["level"]) for note in result["notes"]] == [("PyTorchJob llm/twins", "cannot")]
    assert "anchors" in result["notes"][0]["text"]
    assert (own / "twins.yaml").read_text() == text


def test_what_an_anchor_shares_is_not_gone_back_to_twice(rewrite: Run, own: Path) -> None:
    """A rewrite of limits and requests, which were one by an anchor, could not be taken back."""
    shared = "\n      limits: &one\n        nvidia.com/gpu: 1\n        rdma/ib: 1\n      requests: *one"
    text = _server("one", 8000, shared)
    (own / "one.yaml").write_text(text)
    assert [note["level"] for note in rewrite(paths=[str(own)])["notes"]] == ["cannot"]
    assert (own / "one.yaml").read_text() == text


_SERVER = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: llm, labels: {app: llama}}
spec:
  hostNetwork: true
  containers:
  - name: vllm
    image: registry.example.org/llm/vllm:v1
    ports: [{containerPort: PORT}]
    resources: RESOURCES
"""
_POOL = """\
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: llama, namespace: llm}
spec:
  selector: {matchLabels: {app: llama}}
  targetPorts: [{number: 8000}, {number: 8300}]
"""


def _server(name: str, port: int, resources: str = "{limits: {rdma/ib: 1}}") -> str:
    return _SERVER.replace("NAME", name).replace("PORT", str(port)).replace("RESOURCES", resources)


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


def test_an_object_that_stays_keeps_nobody_else_and_what_leads_to_it_stays(rewrite: Run, own: Path) -> None:
    anchored = _server("prefill", 8300, "{limits: &one {rdma/ib: 1}, requests: *one}")
    (own / "pods.yaml").write_text(f"{_server('decode', 8000)}---\n{anchored}")
    (own / "pool.yaml").write_text(_POOL)
    result = rewrite(paths=[str(own)])
    assert result["files"] == ["pods.yaml"]
    decode, prefill = yaml_values.read((own / "pods.yaml").read_text())
    assert "hostNetwork" not in decode["spec"]
    assert prefill == yaml_values.read(anchored)[0]
    (note,) = result["notes"]
    assert (note["file"], note["object"], note["level"]) == ("pods.yaml", "Pod llm/prefill", "cannot")
    # Still two ports.
    assert (own / "pool.yaml").read_text() == _POOL


def test_a_pool_that_cannot_be_changed_keeps_the_ports_of_its_pods(rewrite: Run, own: Path) -> None:
    (own / "pods.yaml").write_text(f"{_server('decode', 8000)}---\n{_server('prefill', 8300)}")
    anchored = _POOL.replace("targetPorts:", "targetPorts: &ports") + "  example: *ports\n"
    (own / "pool.yaml").write_text(anchored)
    result = rewrite(paths=[str(own)])
    assert result["files"] == ["pods.yaml"]
    pods = yaml_values.read((own / "pods.yaml").read_text())
    assert [pod["spec"]["containers"][0]["ports"] for pod in pods] == [
        [{"containerPort": 8000}],
        [{"containerPort": 8300}],
    ]
    assert not any("hostNetwork" in pod["spec"] for pod in pods)
    told = {note["object"]: (note["level"], note["text"]) for note in result["notes"]}
    assert told["InferencePool llm/llama"][0] == "cannot"
    why = "port 8300 stays, although 8000 is the common port: InferencePool llm/llama leads to it and cannot be changed"
    assert told["Pod llm/prefill"] == ("left", why)


def test_a_key_without_a_value(rewrite: Run, own: Path) -> None:
    text = _server("decode", 8000, "# By default none.").replace(", labels: {app: llama}}", "}")
    text = text.replace("metadata: {name: decode, namespace: llm}", "metadata:\n  name: decode\n  annotations:")
    text = text.replace("    image:", "    securityContext: {capabilities: }\n    env:\n    image:")
    text += "    volumeMounts: [{name: ib, mountPath: /dev/infiniband}]\n"
    text += "  resourceClaims:\n  volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]\n"
    (own / "decode.yaml").write_text(text)
    request = {**_REQUEST, "annotations": {"example.com/a": "b"}, "environment": {"UCX_TLS": "rc"}}
    assert [note["level"] for note in rewrite(paths=[str(own)], requests=[request])["notes"]] == ["left"]
    there = (own / "decode.yaml").read_text()
    assert "    resources: {claims: [{name: rdma}]} # By default none.\n" in there
    (found,) = yaml_values.read(there)
    assert found["metadata"]["annotations"]["example.com/a"] == "b"
    assert found["spec"]["resourceClaims"] == [{"name": "rdma", "resourceClaimTemplateName": "one-nic-0a1b2c3d4e"}]
    assert found["spec"]["containers"][0]["env"] == [{"name": "UCX_TLS", "value": "rc"}]
    assert found["spec"]["containers"][0]["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert rewrite(paths=[str(own)], state="absent")["notes"] == []
    assert yaml_values.read((own / "decode.yaml").read_text()) == yaml_values.read(text)


def test_a_link_to_a_manifest_stays_a_link(rewrite: Run, own: Path) -> None:
    (own / "base").mkdir()
    (own / "base" / "one.yaml").write_text(_server("one", 8000))
    (own / "one.yaml").symlink_to("base/one.yaml")
    assert rewrite(paths=[str(own)])["files"] == ["one.yaml", "base/one.yaml"]
    assert (own / "one.yaml").is_symlink()
    assert "resourceClaims" in (own / "base" / "one.yaml").read_text()
    assert rewrite(paths=[str(own)])["changed"] is False


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_new_lists_are_where_the_text_has_its_lists(newline: str, rewrite: Run, own: Path) -> None:
    (own / "one.yaml").write_bytes(_server("one", 8000).replace("\n", newline).encode())
    assert rewrite(paths=[str(own)])["changed"] is True
    assert f"{newline}  resourceClaims:{newline}  - name: rdma{newline}" in (own / "one.yaml").read_bytes().decode()


def test_keys_that_are_no_texts(rewrite: Run, files: Path) -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tcp}\ndata:\n  8080: llm/decode:8000\n  on: x\n  a: b\n"
    (files / "llm" / "tcp.yaml").write_text(other)
    result = rewrite()
    assert (result["files"], result["notes"]) == (["llm/decode.yaml"], [])


def test_a_value_that_contains_itself_is_refused() -> None:
    with pytest.raises(yaml_values.TextError, match="has an alias in the value that it stands for"):
        yaml_values.read("spec: &spec {template: *spec}\n")


def test_a_file_that_cannot_be_read_keeps_no_other(rewrite: Run, files: Path) -> None:
    (files / "llm" / "latin.yaml").write_bytes(b"name: M\xfcller\n")
    result = rewrite()
    assert result["files"] == ["llm/decode.yaml"]
    (note,) = result["notes"]
    assert (note["file"], note["level"]) == ("llm/latin.yaml", "cannot")
    assert "cannot be read: 'utf-8' codec" in note["text"]
    assert "cannot be read" in rewrite(paths=[str(files / "llm" / "latin.yaml")])["msg"]


def test_no_such_file(rewrite: Run, tmp_path: Path) -> None:
    result = rewrite(paths=[str(tmp_path / "none")])
    assert result["msg"] == f"No file was changed. {tmp_path / 'none'} is neither a file nor a directory"


def test_a_file_that_cannot_be_written_is_told_with_those_that_were(rewrite: Run, files: Path, tmp_path: Path) -> None:
    (files / "llm" / "later").mkdir()
    (files / "llm" / "later" / "decode.yaml").write_text(_BEFORE)
    # Where a directory would have to be.
    (tmp_path / "there" / "llm").mkdir(parents=True)
    (tmp_path / "there" / "llm" / "later").write_text("")
    result = rewrite(directory=str(tmp_path / "there"))
    assert result["msg"].startswith("Only changed: llm/decode.yaml. ")
    assert f"{tmp_path}/there/llm/later/decode.yaml cannot be written: " in result["msg"]
    assert (tmp_path / "there" / "llm" / "decode.yaml").exists()
