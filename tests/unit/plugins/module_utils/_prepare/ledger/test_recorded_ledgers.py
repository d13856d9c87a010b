# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Ledgers as earlier versions wrote them (fixtures/ledger/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import absent
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import converge as kernel
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import STATE, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import state as links
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import images
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import notes as runtime

RECORDED = sorted((Path(__file__).resolve().parents[4] / "fixtures" / "ledger").glob("*/*.json"))
NOTES: Dict[str, Any] = {
    "kernel_modules": (kernel._NOTES, kernel._CACHES),
    "nm_links": (links.NOTES,),
    "runtime": (runtime.NOTES, runtime.CACHES),
    "inject": (absent._NOTES,),
    "images": (images._NOTES,),
}


def laid_out(root: Path, recorded: Dict[str, Any]) -> None:
    for name, file in recorded.items():
        path = root / name[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["text"])
        path.chmod(file["mode"])


def contents(root: Path) -> Dict[str, Any]:
    paths = [path for path in root.rglob("*") if path.is_file()]
    return {
        f"/{path.relative_to(root)}": {"mode": path.stat().st_mode & 0o7777, "text": path.read_text()} for path in paths
    }


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_recorded_ledger_is_read_and_restores_what_was_before(path: Path, tmp_path: Path) -> None:
    recorded = json.loads(path.read_text())
    laid_out(tmp_path, recorded["after"])
    concern = path.stem.partition("-")[0]
    written = json.loads(recorded["after"][f"{STATE}/{concern}/ledger.json"]["text"])
    ledger = Ledger(Files(str(tmp_path)), concern, *NOTES[concern])
    assert ledger.notes == written["notes"]
    with ledger.locked():
        changes = ledger.compare([])
        assert (ledger.warnings, [change.path for change in changes]) == ([], sorted(written["files"]))
        ledger.apply(changes)
        ledger.notes = {}
        ledger.save()
    assert contents(tmp_path) == recorded["before"]
    assert not (tmp_path / STATE[1:]).exists()


def test_every_concern_has_a_recorded_ledger() -> None:
    assert {path.stem.partition("-")[0] for path in RECORDED} == set(NOTES)


@pytest.mark.parametrize("value", [7, {}, {"unit": "containerd.service", "files": "all"}, {"x": {"stamp": "1"}}, []])
@pytest.mark.parametrize(("concern", "cache"), [("runtime", "seen"), ("kernel_modules", "images")])
def test_a_cache_of_another_shape_is_as_none(tmp_path: Path, concern: str, cache: str, value: Any) -> None:
    # Of a format without a digest of the whole, so that it can be changed here.
    (path,) = [path for path in RECORDED if (path.parent.name, path.stem) == ("dccb9b2c", concern)]
    recorded: Dict[str, Any] = json.loads(path.read_text())["after"]
    own = recorded[f"{STATE}/{concern}/ledger.json"]
    document = json.loads(own["text"])
    document["notes"][cache] = value
    own["text"] = json.dumps(document)
    laid_out(tmp_path, recorded)
    ledger = Ledger(Files(str(tmp_path)), concern, *NOTES[concern])
    kept: List[str] = [name for name in document["notes"] if name != cache or (value == {} and cache == "images")]
    assert list(ledger.notes) == kept
    assert ledger.known == sorted(document["files"])
