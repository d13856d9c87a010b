# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A way back that a tenant wrote is not carried out with the rights of whoever applies the manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import revert, rewrite, undone
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import WISH, moved

_CASE = Path(__file__).resolve().parents[2] / "fixtures" / "migrate" / "way-back.yml"
_SPEC = "/spec/template/spec"


def _forged(*ops: dict[str, Any]) -> Any:
    item = yaml.safe_load(_CASE.read_text())
    if ops:
        item["metadata"]["annotations"][revert.BEFORE] = json.dumps(ops)
    return item


def _add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def _replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


@pytest.mark.parametrize(
    ("ops", "path"),
    [
        ([], f"{_SPEC}/hostPID"),
        ([_add(f"{_SPEC}/nodeName", "control-plane")], f"{_SPEC}/nodeName"),
        ([_add(f"{_SPEC}/volumes", [{"hostPath": {"path": "/"}}])], f"{_SPEC}/volumes"),
        (
            [_add(f"{_SPEC}/containers/0/securityContext", {"privileged": True})],
            f"{_SPEC}/containers/0/securityContext/privileged",
        ),
        (
            [_add(f"{_SPEC}/containers/0/securityContext", {"capabilities": {"add": ["SYS_ADMIN"]}})],
            f"{_SPEC}/containers/0/securityContext/capabilities/add",
        ),
        ([_replace(f"{_SPEC}/containers/0/image", "other")], f"{_SPEC}/containers/0/image"),
        ([_add(f"{_SPEC}/containers/0/command", ["sh"])], f"{_SPEC}/containers/0/command"),
        ([_add(f"{_SPEC}/containers/0/env", [{"name": "LD_PRELOAD", "value": "x"}])], f"{_SPEC}/containers/0/env"),
        ([_add(f"{_SPEC}/containers/0/resources/limits/memory", "1Ti")], f"{_SPEC}/containers/0/resources"),
        ([_add(f"{_SPEC}/containers/1", {"name": "b"})], f"{_SPEC}/containers"),
        ([_add(f"{_SPEC}/resourceClaims", [{"name": "a", "resourceClaimName": "b"}])], f"{_SPEC}/resourceClaims"),
        ([_add(f"{_SPEC}/dnsPolicy", "Default")], f"{_SPEC}/dnsPolicy"),
        ([_replace("/spec/selector/matchLabels/app", "other")], "/spec/selector/matchLabels/app"),
        ([_add("/metadata/labels", {"pod-security": "privileged"})], "/metadata/labels/pod-security"),
        ([_add("/metadata/annotations", {"a": "b"})], "/metadata/annotations/a"),
        (
            [_add("/metadata/annotations", {"required-plugins.noderesource.dev": '["zerocopy-rdma", "other"]'})],
            "/metadata/annotations/required-plugins.noderesource.dev",
        ),
        ([{"op": "remove", "path": "/spec/selector"}], "/spec/selector/matchLabels/app"),
    ],
)
def test_a_forged_way_back_is_refused_by_name(ops: list[dict[str, Any]], path: str) -> None:
    item = _forged(*ops)
    why = f"the annotation {revert.BEFORE} would change {path}, which no rewrite does: remove the annotation"
    back = rewrite.reverted([item])
    assert back.documents == [item]
    assert [(str(note.ref), note.level, note.text) for note in back.notes] == [
        ("Deployment tenant2/innocent", "cannot", why)
    ]
    documents, notes = moved(item, options=WISH)
    assert documents == [item]
    assert notes == [("innocent", "cannot", why)]


def test_forged_annotations_are_told_in_their_order() -> None:
    """Not in one that differs from run to run."""
    was = {"annotations": {f"example.org/{name}": "x" for name in "qwertyuiop"}}
    assert list(undone.foreign({"annotations": {}}, was)) == [f"/annotations/{name}" for name in was["annotations"]]


def test_what_a_rewrite_takes_away_comes_back() -> None:
    ops = [_add(f"{_SPEC}/hostNetwork", True), _add(f"{_SPEC}/containers/0/resources/limits/rdma~1ib", 1)]
    (found,) = rewrite.reverted([_forged(*ops)]).documents
    assert found["spec"]["template"]["spec"]["hostNetwork"] is True
