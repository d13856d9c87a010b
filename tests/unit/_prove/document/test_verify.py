# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    Check,
    DocumentError,
    DocumentHost,
    End,
    Measurement,
    VerifyDocument,
)
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _verify_run
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part, report

WHOLE = VerifyDocument(
    created="2026-11-21T12:00:00Z",
    collection="0.1.0",
    hosts={"n1": DocumentHost("a100", {"usable": []})},
    checks=[
        Check("host", "host.mtu", "n1", "a100", "mlx5_0/1", "fail", "MTU is 1500", {"mtu": 1500}, "Look.", "links")
    ],
    bandwidth=[
        Measurement(
            "a100",
            "write_bw",
            End("n1", "mlx5_0", 1),
            End("n2", "mlx5_0", 1),
            94.7,
            "Gb/s",
            100.0,
            90.0,
            "pass",
            "94.7",
        )
    ],
)


def test_it_goes_through_json() -> None:
    plain = json.loads(json.dumps(verify.plain(WHOLE)))
    assert plain["bandwidth"][0]["from"] == {"host": "n1", "hca": "mlx5_0", "port": 1}
    assert verify.document(plain) == WHOLE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "has version 2, which a newer version of this collection wrote"),
        ({"extra": 1}, "document has the key 'extra', it must have created, collection"),
        ({"checks": [{"ring": "host"}]}, "checks[0] lacks id, host"),
        ({"checks": ["x"]}, "checks[0] is 'x', it must be a map"),
        ({"hosts": {"n1": {"groups": []}}}, "hosts.n1 has the key 'groups', it must have group, facts"),
    ],
)
def test_what_is_no_document_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError) as error:
        verify.document({**verify.plain(WHOLE), **change})
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("part", "key", "message"),
    [
        ("checks", "verdict", "checks[0].verdict is 'fine', it must be one of pass, impossible, warn, fail"),
        ("checks", "ring", "checks[0].ring is 'fine', it must be one of host, cluster, pod"),
        ("bandwidth", "verdict", "bandwidth[0].verdict is 'fine'"),
        ("bandwidth", "unit", "bandwidth[0].unit is 'fine', it must be one of Gb/s, us"),
        ("bandwidth", "to", "bandwidth[0].to is 'fine', it must be a map"),
    ],
)
def test_unknown_words_are_refused(part: str, key: str, message: str) -> None:
    plain = copy.deepcopy(verify.plain(WHOLE))
    plain[part][0][key] = "fine"
    with pytest.raises(DocumentError) as error:
        verify.document(plain)
    assert str(error.value).startswith(message)


def test_the_report_puts_the_rings_together(tmp_path: Path) -> None:
    plain = verify.plain(WHOLE)
    hostvars: dict[str, dict[str, Any]] = {
        "n1": {"group_names": ["a100"], "ansible_facts": {"rdma": {"usable": []}}},
        "n2": {"rdma_group": "x"},
    }
    run = part("begin", hostvars)["run"]
    for name, found in (
        ("pods", {"checks": [], "bandwidth": plain["bandwidth"]}),
        ("host", {**plain, "bandwidth": []}),
    ):
        _verify_run.keep(run, name, found)
    told = report("verify", hostvars, run=run, directory=str(tmp_path / "new"), metrics=str(tmp_path / "rdma.prom"))
    names = ["verify.html", "verify.json", "verify.xml"]
    assert (told["changed"], sorted(path.name for path in (tmp_path / "new").iterdir())) == (True, names)
    assert told["failure"] == (
        "1 of 2 checks and measurements failed. The first is host.mtu of n1: MTU is 1500. The report is"
        f" {tmp_path}/new/verify.html (with verify.json and verify.xml beside it)."
    )
    found = json.loads((tmp_path / "new" / "verify.json").read_text("utf-8"))
    assert found["hosts"] == {
        "n1": {"group": "a100", "facts": {"usable": []}, "rails": {}},
        "n2": {"group": "x", "facts": {}, "rails": {}},
    }
    assert (found["checks"], found["bandwidth"]) == (plain["checks"], plain["bandwidth"])
    assert found["collection"].count(".") == 2
    assert (tmp_path / "rdma.prom").stat().st_mode & 0o777 == 0o644, "node_exporter is another user"


def test_a_report_is_written_below_the_directory_for_artifacts(tmp_path: Path) -> None:
    artifacts = {"rdma_artifacts": str(tmp_path)}
    told = report("verify", {}, artifacts, run=part("begin", {})["run"], directory="new")
    assert told["paths"] == [str(tmp_path / "new" / f"verify.{form}") for form in ("json", "xml", "html")]
    assert told["counts"] == {"pass": 0, "impossible": 0, "warn": 0, "fail": 0}
    assert all(Path(path).exists() for path in told["paths"])


def test_nothing_is_written_in_check_mode(tmp_path: Path) -> None:
    found = report("verify", {}, check=True, run=part("begin", {})["run"], directory=str(tmp_path / "new"))
    assert (found["changed"], found["failure"], list(tmp_path.iterdir())) == (False, "", [])


@pytest.mark.parametrize("content", ["{}", "[", '{"version": 2}', None])
def test_wrong_figures_are_reported_at_once(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "benchmark.json"
    if content is not None:
        path.write_text(content)
    if content == "{}":
        assert _verify_run.benchmark(part("begin", {}, benchmark=str(path))["run"]) is None
        return
    with pytest.raises(AnsibleActionFail, match=f"rdma_verify_benchmark is {path}: "):
        part("begin", {}, benchmark=str(path))
