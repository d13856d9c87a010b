# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A comparison by the module ``node`` against the changes that it then makes, on recorded nodes."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Mapping

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare import concerns as parts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import NOTES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import images
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.image_options import ImageRequest
from ansible_collections.zerocopy.rdma.plugins.modules import node
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._waves import of_hosts as waves

Run = Callable[..., Dict[str, Any]]
PARTS = ["kernel", "links", "runtime"]


@pytest.fixture
def compare(run_module: Run) -> Run:
    return partial(run_module, node, compare=True)


@pytest.fixture
def root(root_of: Callable[[str], Path], tmp_path: Path) -> str:
    shutil.copytree(root_of("h100-03"), tmp_path / "h100-03", symlinks=True)
    return str(tmp_path / "h100-03")


def options(root: str) -> Dict[str, Dict[str, Any]]:
    return {
        "kernel": {"root": root, "modules": ["rdma_cm", "ib_umad"], "options": {"mlx5_core": {"prof_sel": 3}}},
        "links": {"root": root, "links": [{"name": "rail0", "hca": "mlx5_0", "addresses": ["10.9.0.3/24"]}]},
        "runtime": {"root": root, "request_timeout": "40s"},
    }


def content(root: str) -> Mapping[str, bytes]:
    return {str(path): path.read_bytes() for path in Path(root).rglob("*") if path.is_file() and not path.is_symlink()}


def test_each_answer_is_that_of_a_change_in_check_mode(compare: Run, run_part: Run, root: str) -> None:
    before = content(root)
    found = compare(_ansible_diff=True, **options(root))
    assert (found["changed"], found["differs"], list(found["concerns"])) == (False, True, PARTS)
    for concern in PARTS:
        expected = run_part(concern, _ansible_check_mode=True, _ansible_diff=True, **options(root)[concern])
        answer = found["concerns"][concern]
        assert expected["changed"] is True
        assert answer["error"] is None
        assert answer["diff"], concern
        # What Ansible adds to every module's result, and takes out of it, is no part of the answer.
        for name in set(expected) - {"warnings"}:
            assert answer[name] == expected[name], (concern, name)
    assert content(root) == before


def test_nothing_differs_after_the_changes(compare: Run, run_part: Run, root: str) -> None:
    for concern in PARTS:
        assert run_part(concern, **options(root)[concern])["changed"] is True
    before = content(root)
    found = compare(**options(root))
    assert found["differs"] is False
    assert [answer["changes"] for answer in found["concerns"].values()] == [[], [], []]
    assert content(root) == before
    wanted = options(root)
    wanted["links"]["links"][0]["mtu"] = 2044
    changed = compare(**wanted)
    assert [name for name, answer in changed["concerns"].items() if answer["changed"]] == ["links"]
    # Without --diff, no file's text leaves the node.
    assert "diff" not in changed["concerns"]["links"]


def test_an_interrupted_run_is_completed_though_nothing_differs(compare: Run, run_part: Run, root: str) -> None:
    run_part("links", **options(root)["links"])
    assert compare(links=options(root)["links"])["differs"] is False
    ledger = Ledger(Files(root), "nm_links", NOTES)
    assert ledger.notes.pop("links")
    ledger.save()
    found = compare(links=options(root)["links"])
    answer = found["concerns"]["links"]
    assert (found["differs"], answer["changed"], answer["unfinished"]) == (True, False, True)
    assert waves(["h100-03"], {"h100-03": {"rdma_drift_result": found}}) == [["h100-03"]]
    run_part("links", **options(root)["links"])
    assert compare(links=options(root)["links"])["differs"] is False


def test_an_error_hides_nothing_else(compare: Run, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = options(root)
    wanted["kernel"]["modules"] = ["no_such_module"]
    wanted["links"]["speed"] = 9
    concerns = compare(**wanted)["concerns"]
    assert "'no_such_module' does not exist" in concerns["kernel"]["error"]
    assert "speed" in concerns["links"]["error"]
    assert (concerns["runtime"]["error"], concerns["runtime"]["changed"]) == (None, True)

    def broken(*_arguments: Any, **_options: Any) -> None:
        raise KeyError("unit")

    monkeypatch.setitem(parts.CONCERNS, "runtime", broken)
    answer = compare(**options(root))["concerns"]
    assert answer["runtime"]["error"] == "unexpected KeyError: 'unit'"
    assert "in broken" in answer["runtime"]["exception"]
    assert answer["links"]["changed"] is True


def test_all_images_are_compared(compare: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = {"kind": "image", "name": "example/cni:v1", "before": None, "after": "sha256:2"}

    def converge(request: ImageRequest, _files: Files) -> Dict[str, Any]:
        assert request.check
        return {"changed": True, "changes": [missing]} if request.name == missing["name"] else {"changes": []}

    monkeypatch.setattr(images, "converge", converge)
    wanted = [{"name": name, "ids": {"amd64": "sha256:2"}} for name in ("example/plugin:v1", "example/cni:v1")]
    found = compare(images=wanted)
    answer = found["concerns"]["images"]
    assert (found["differs"], answer["changed"], answer["changes"]) == (True, True, [missing])
    assert compare(images=wanted[:1])["differs"] is False
    broken = compare(images=[*wanted, {"name": "example/x:v1", "sum": 1}])["concerns"]["images"]
    assert "sum" in broken["error"]


def test_only_what_is_asked_for(compare: Run, root: str) -> None:
    nothing = compare()
    assert (nothing["differs"], nothing["concerns"]) == (False, {})
    assert list(compare(links={"root": root})["concerns"]) == ["links"]


def test_one_part_is_changed_in_a_call(run_module: Run, root: str) -> None:
    before = content(root)
    for wanted in ({}, options(root)):
        assert run_module(node, **wanted)["msg"].startswith("parts: one is changed in a call")
    assert "only compared" in run_module(node, packages=["rdma-core"])["msg"]
    assert content(root) == before


def test_absent_holds_for_all_parts(run_module: Run, compare: Run, root: str) -> None:
    before = content(root)
    for concern in PARTS:
        run_module(node, **{concern: options(root)[concern]})
    found = compare(state="absent", **options(root))["concerns"]
    for concern in PARTS:
        gone = run_module(node, state="absent", **{concern: options(root)[concern]})
        assert gone["changes"] == found[concern]["changes"] != []
    assert content(root) == before


def test_an_image_without_a_name_is_not_taken_for_a_removal(run_module: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "converge", lambda *_arguments: {"changes": ["removed"]})
    assert "name" in run_module(node, images=[{"runtime": "auto"}])["msg"]
    assert run_module(node, images=[{"runtime": "auto"}], state="absent")["changes"] == ["removed"]
