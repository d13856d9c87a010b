# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Manifests in a directory where others write: links, pipes, and texts that would never end keep nobody else."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import WELL_KNOWN
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import catalogue, findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import disk, revert, unread
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing
from ansible_collections.zerocopy.rdma.plugins.modules import workload_manifests
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import NOBODY, need_root

Run = Callable[..., dict[str, Any]]
# In the form that is known as "billion laughs": 10^9 values in some 300 bytes. No file, since checks read all YAML
# files of the checkout.
_ALIASES = "\n".join(
    [
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: many}}",
        "---",
        "- &a [a, a, a, a, a, a, a, a, a, a]",
        *(f"- &{here} [{', '.join([f'*{below}'] * 10)}]" for below, here in zip("abcdefgh", "bcdefghi", strict=True)),
    ]
)
_REQUEST = {"name": "one-nic", "templates": {"llm": "one-nic-0a1b2c3d4e"}}
_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: decode, namespace: llm}
spec:
  hostNetwork: true
  containers:
  - name: vllm
    resources: {limits: {rdma/ib: 1}}
"""
# Much less than what any of these took, much more than what they take.
_SECONDS = 20


@pytest.fixture
def rewrite(run_module: Run, tmp_path: Path) -> Run:
    def run(**options: Any) -> dict[str, Any]:
        start = time.process_time()
        result = run_module(workload_manifests, **{"paths": [str(tmp_path / "own")], "requests": [_REQUEST], **options})
        assert time.process_time() - start < _SECONDS
        return result

    return run


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "decode.yaml").write_text(_POD)
    return tmp_path / "own"


_MERGED = "a: &a {k0: 1, k1: 1}\n" + "".join(
    f"{after}: &{after} {{<<: [{', '.join([f'*{before}'] * 10)}]}}\n" for before, after in zip("abcdefgh", "bcdefghi")
)
_DEEPER = "a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60 + "\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (_ALIASES, "has aliases that stand for more than 10000 values"),
        (_MERGED, "has aliases that stand for more than 10000 values"),
        ("spec: &spec {template: *spec}\n", "has an alias in the value that it stands for (line 1)"),
        ("a: " + "[" * 300 + "]" * 300, "has values that are nested more than 100 levels deep (line 1)"),
        (_DEEPER, "has values that are nested more than 100 levels deep (line 2)"),
        ("a: 1" + ":1" * 200_000, "has a number of 400001 characters (line 1)"),
        ("a: " + "1" * 200_000, "has a number of 200000 characters (line 1)"),
    ],
)
def test_a_text_without_end_is_refused_at_once_and_the_others_go_on(
    text: str, why: str, rewrite: Run, own: Path
) -> None:
    (own / "other.yaml").write_text(f"{_POD}---\n{text}")
    result = rewrite()
    assert result["files"] == ["decode.yaml"]
    (note,) = result["notes"]
    assert (note["file"], note["level"]) == ("other.yaml", "cannot")
    shifted = why.replace("(line 2)", "(line 11)").replace("(line 1)", "(line 10)")
    assert note["text"].startswith(shifted)


def test_aliases_that_people_write_are_no_obstacle() -> None:
    labels = "".join(f"- labels: &l{place} {{app: a, tier: b}}\n  match: *l{place}\n" for place in range(500))
    (values,) = yaml_values.read(labels)
    assert values[0]["match"] == {"app": "a", "tier": "b"}


def test_equal_documents_are_no_aliases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of one may have the places in memory that those of another had."""
    monkeypatch.setattr(yaml_values, "_REPEATED", 0)
    assert yaml_values.read("---\n[a, b, c]\n" * 200) == [["a", "b", "c"]] * 200


@pytest.mark.parametrize("part", ["patches", "replacements"])
def test_what_is_no_regular_file_is_not_read(part: str, rewrite: Run, own: Path) -> None:
    os.mkfifo(own / "pipe.yaml")
    os.mkfifo(own / "patch.fifo")
    (own / "zero.yaml").symlink_to("/dev/zero")
    (own / "kustomization.yaml").write_text(f"resources: [decode.yaml]\n{part}: [{{path: patch.fifo}}]\n")
    told = {note["file"]: note["text"] for note in rewrite()["notes"]}
    assert told["pipe.yaml"] == f"{own}/pipe.yaml cannot be read: it is not a regular file"
    assert told["zero.yaml"] == f"{own}/zero.yaml cannot be read: it is not a regular file"
    # Nobody knows what it would be patched with.
    assert "own/kustomization.yaml patches what would change here" in told["decode.yaml"]


def test_a_directory_is_not_read_or_left_open(own: Path) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(disk.FileError, match=rf"^{own} cannot be read: .*Is a directory: '{own}'$"):
        disk.read(str(own))
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("text", ["targets: {{ .Values.targets }}\n", "targets: [\n", _ALIASES])
def test_replacements_that_cannot_be_read_may_replace_anything(text: str, rewrite: Run, own: Path) -> None:
    (own / "r.yaml").write_text(text)
    (own / "kustomization.yaml").write_text("resources: [decode.yaml]\nreplacements: [{path: r.yaml}]\n")
    result = rewrite()
    assert result["files"] == []
    told = {note["file"]: note["text"] for note in result["notes"]}
    assert "own/kustomization.yaml patches what would change here" in told["decode.yaml"]


def test_a_file_that_is_too_large_is_not_read(rewrite: Run, own: Path) -> None:
    with open(own / "large.yaml", "wb") as file:
        file.truncate(writing.LARGEST + 1)
    result = rewrite()
    assert result["files"] == ["decode.yaml"]
    assert [note["text"] for note in result["notes"]] == [f"{own}/large.yaml cannot be read: it is larger than 16 MiB"]


@pytest.mark.parametrize("link", ["decode.yaml", "sub"])
@pytest.mark.parametrize("check", [True, False])
def test_nothing_is_written_through_a_link_out_of_the_directory(
    check: bool, link: str, rewrite: Run, own: Path, tmp_path: Path
) -> None:
    (own / "sub").mkdir()
    (own / "sub" / "prefill.yaml").write_text(_POD)
    home, changed = tmp_path / "home", tmp_path / "changed"
    home.mkdir()
    changed.mkdir()
    (home / "authorized_keys").write_text("ssh-ed25519 AAAA\n")
    (changed / link).symlink_to(home if link == "sub" else home / "authorized_keys")
    result = rewrite(directory=str(changed), _ansible_check_mode=check)
    assert result["msg"].startswith("No file was changed. ")
    assert "which is not in " in result["msg"]
    assert str(changed / link) in result["msg"]
    assert [path.name for path in home.iterdir()] == ["authorized_keys"]
    assert (home / "authorized_keys").read_text() == "ssh-ed25519 AAAA\n"
    # Neither any other.
    assert [path.name for path in changed.iterdir()] == [link]


def test_a_link_out_of_the_sources_is_read_and_not_written(rewrite: Run, own: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(_POD)
    (own / "link.yaml").symlink_to(other)
    (note,) = rewrite()["notes"]
    assert note["file"] == "link.yaml"
    assert f"it is a link to {other}, which is not in {own}" in note["text"]
    assert other.read_text() == _POD
    (own / "decode.yaml").write_text(_POD)
    assert rewrite(directory=str(tmp_path / "changed"))["files"] == ["decode.yaml", "link.yaml"]
    assert other.read_text() == _POD


def test_a_link_of_another_user_that_comes_while_we_write_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, own: Path, tmp_path: Path
) -> None:
    need_root()
    home = tmp_path / "home"
    home.mkdir()

    def late(place: disk.Place) -> str:
        (own / "sub").symlink_to(home)
        os.lchown(own / "sub", NOBODY, NOBODY)
        return place.full

    monkeypatch.setattr(disk, "inside", late)
    with pytest.raises(disk.FileError, match="cannot be written"):
        disk.write(disk.Place(str(own), "sub/decode.yaml", "sub/decode.yaml"), _POD)
    assert list(home.iterdir()) == []


def test_the_mode_of_a_file_stays(rewrite: Run, own: Path) -> None:
    (own / "decode.yaml").chmod(0o640)
    rewrite()
    assert (own / "decode.yaml").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in own.iterdir()] == ["decode.yaml"]


def test_the_same_file_by_two_names_is_one(rewrite: Run, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    result = rewrite(paths=["own", str(own), "own/decode.yaml", str(own / "decode.yaml")])
    assert result["files"] == ["decode.yaml"]


def test_keys_that_were_removed_come_back_in_linear_time() -> None:
    """16,000 of them took minutes, because each moved all that came after it."""
    old = {"kept": 0, **{f"k{place}": place for place in range(16_000)}, "last": 1}
    new = {"kept": 0, "last": 1}
    start = time.process_time()
    found = revert.applied({"map": new}, list(revert.difference(new, old, "/map")))
    assert list(found["map"].items()) == list(old.items())
    assert time.process_time() - start < _SECONDS


@pytest.mark.parametrize("text", ["ib", "[1]", "a.b", "x.rdma/ib:1 ", "-d mlx5_0 ", "ibp1", "a/b", "hostNetwork : "])
def test_signs_are_found_in_linear_time(text: str) -> None:
    start = time.process_time()
    long = text * (200_000 // len(text))
    unread.signs({"data": long, long: 1}, WELL_KNOWN)
    assert time.process_time() - start < _SECONDS


def test_many_findings_are_merged_in_linear_time() -> None:
    several = [
        catalogue.Finding(catalogue.NODE_LABEL, {"label": f"zerocopy.rdma/{place % 8_000}"}, ("spec",), (str(place),))
        for place in range(16_000)
    ]
    start = time.process_time()
    merged = findings.merged(several)
    assert time.process_time() - start < _SECONDS / 4
    assert len(merged) == 8_000
    assert merged[0].containers == ("0", "8000")
