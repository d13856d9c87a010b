# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``node_drift`` against the modules whose check mode it stands for, on recorded nodes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Callable, Dict, Mapping

import pytest

from ansible_collections.zerocopy.rdma.plugins.filter.waves import waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare import drift
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import NOTES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import images
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.image_options import ImageRequest
from ansible_collections.zerocopy.rdma.plugins.modules import (
    container_runtime,
    kernel_modules,
    nm_links,
    node_drift,
)

Run = Callable[..., Dict[str, Any]]
MODULES = {"kernel": kernel_modules, "links": nm_links, "runtime": container_runtime}


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


def test_each_answer_is_that_of_the_module_in_check_mode(run_module: Run, root: str) -> None:
    before = content(root)
    found = run_module(node_drift, _ansible_diff=True, **options(root))
    assert (found["changed"], found["differs"], list(found["concerns"])) == (False, True, list(MODULES))
    for concern, module in MODULES.items():
        expected = run_module(module, _ansible_check_mode=True, _ansible_diff=True, **options(root)[concern])
        answer = found["concerns"][concern]
        assert expected["changed"] is True
        assert answer["error"] is None
        assert answer["diff"], concern
        # What Ansible adds to every module's result, and takes out of it, is no part of the answer.
        for name in set(expected) - {"invocation", "warnings"}:
            assert answer[name] == expected[name], (concern, name)
    assert content(root) == before


def test_nothing_differs_after_the_modules_ran(run_module: Run, root: str) -> None:
    for concern, module in MODULES.items():
        assert run_module(module, **options(root)[concern])["changed"] is True
    before = content(root)
    found = run_module(node_drift, **options(root))
    assert found["differs"] is False
    assert [answer["changes"] for answer in found["concerns"].values()] == [[], [], []]
    assert content(root) == before
    wanted = options(root)
    wanted["links"]["links"][0]["mtu"] = 2044
    changed = run_module(node_drift, **wanted)
    assert [name for name, answer in changed["concerns"].items() if answer["changed"]] == ["links"]
    # Without --diff, no file's text leaves the node.
    assert "diff" not in changed["concerns"]["links"]


def test_an_interrupted_run_is_completed_though_nothing_differs(run_module: Run, root: str) -> None:
    run_module(nm_links, **options(root)["links"])
    assert run_module(node_drift, links=options(root)["links"])["differs"] is False
    ledger = Ledger(Files(root), "nm_links", NOTES)
    assert ledger.notes.pop("links")
    ledger.save()
    found = run_module(node_drift, links=options(root)["links"])
    answer = found["concerns"]["links"]
    assert (found["differs"], answer["changed"], answer["unfinished"]) == (True, False, True)
    assert waves(["h100-03"], {"h100-03": {"rdma_drift_result": found}}) == [["h100-03"]]
    run_module(nm_links, **options(root)["links"])
    assert run_module(node_drift, links=options(root)["links"])["differs"] is False


def test_an_error_hides_nothing_else(run_module: Run, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = options(root)
    wanted["kernel"]["modules"] = ["no_such_module"]
    wanted["links"]["speed"] = 9
    concerns = run_module(node_drift, **wanted)["concerns"]
    assert "'no_such_module' does not exist" in concerns["kernel"]["error"]
    assert "speed" in concerns["links"]["error"]
    assert (concerns["runtime"]["error"], concerns["runtime"]["changed"]) == (None, True)

    def broken(*_arguments: Any, **_options: Any) -> None:
        raise KeyError("unit")

    monkeypatch.setitem(drift.CONCERNS, "runtime", broken)
    answer = run_module(node_drift, **options(root))["concerns"]
    assert answer["runtime"]["error"] == "unexpected KeyError: 'unit'"
    assert "in broken" in answer["runtime"]["exception"]
    assert answer["links"]["changed"] is True


def test_all_images_are_compared(run_module: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = {"kind": "image", "name": "example/cni:v1", "before": None, "after": "sha256:2"}

    def converge(request: ImageRequest, _files: Files) -> Dict[str, Any]:
        assert request.check
        return {"changed": True, "changes": [missing]} if request.name == missing["name"] else {"changes": []}

    monkeypatch.setattr(images, "converge", converge)
    wanted = [{"name": name, "ids": {"amd64": "sha256:2"}} for name in ("example/plugin:v1", "example/cni:v1")]
    found = run_module(node_drift, images=wanted)
    answer = found["concerns"]["images"]
    assert (found["differs"], answer["changed"], answer["changes"]) == (True, True, [missing])
    assert run_module(node_drift, images=wanted[:1])["differs"] is False
    broken = run_module(node_drift, images=[*wanted, {"name": "example/x:v1", "sum": 1}])["concerns"]["images"]
    assert "sum" in broken["error"]


def test_only_what_is_asked_for(run_module: Run, root: str) -> None:
    nothing = run_module(node_drift)
    assert (nothing["differs"], nothing["concerns"]) == (False, {})
    assert list(run_module(node_drift, links={"root": root})["concerns"]) == ["links"]
