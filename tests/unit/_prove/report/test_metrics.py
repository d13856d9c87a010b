# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The report as metrics, read with the parser of Prometheus' own client."""

from __future__ import annotations

import copy
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify as prove_document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import runs
from ansible_collections.zerocopy.rdma.tests.report.example import example
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import rendered
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS

_PREFIX = "zerocopy_rdma_verify_"
_PAGE = (PLAYBOOKS.parent / "docs" / "monitoring.md").read_text("utf-8")
# What the format has to escape, and what it has no words for.
_NASTY = 'C:\\new "port"\nmlx5_0{a="b"} 2 #\x1b\ud800\u00fc'
_SHOWN = 'C:\\new "port"\nmlx5_0{a="b"} 2 #\\u001b\\ud800\u00fc'

Document = dict[str, Any]
Series = dict[tuple[tuple[str, str], ...], float]


def read(text: str) -> dict[str, Series]:
    """The series of each metric; a series that is there twice would make node_exporter refuse the file."""
    found: dict[str, Series] = {}
    assert text == "" or text.endswith("\n")
    for family in text_string_to_metric_families(text):
        assert (family.type, bool(family.documentation)) == ("gauge", True)
        assert family.name not in found, "the lines of a metric are together"
        own = [(tuple(sorted(sample.labels.items())), float(sample.value)) for sample in family.samples]
        assert len(own) == len(dict(own)), "no series is there twice"
        found[family.name.removeprefix(_PREFIX)] = dict(own)
    return found


def series(**labels: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))


def check(**changed: Any) -> Document:
    base = prove_document.Check("host", "host.mtu", "n-01", "g", "mlx5_0/1", "fail", "The MTU is 1500.")
    return {**vars(base), **changed}


@pytest.fixture
def empty() -> Document:
    return prove_document.plain(prove_document.VerifyDocument(None, "0.1.0"))


@pytest.fixture(scope="module")
def small(facts_of: Callable[..., Mapping[str, Any]]) -> Document:
    return example(facts_of)


def test_findings_have_their_labels(empty: Document) -> None:
    empty["checks"] = [
        check(),
        check(id="host.memlock", subject="", verdict="warn"),
        check(host="n-02", verdict="pass"),
        check(host="n-02", id="host.sm", verdict="impossible"),
        check(ring="cluster", id="cluster.class", host=None, group=None, subject="rdma"),
    ]
    ends = [{"host": host, "hca": "mlx5_1", "port": 1} for host in ("n-02", "n-01")]
    measured = {"group": "g", "test": "write_bw", "from": ends[0], "to": ends[1], "value": 1.0, "unit": "Gb/s"}
    empty["bandwidth"] = [{**measured, "expected": 100.0, "threshold": 90.0, "verdict": "fail", "text": "Slow."}]
    found = read(rendered(empty, "prometheus"))
    common = {"host": "n-01", "group": "g", "ring": "host"}
    slow = {"ring": "bandwidth", "check": "bandwidth.write_bw", "host": "n-02", "group": "g", "subject": "mlx5_1/1"}
    assert found["finding"] == {
        series(**common, check="host.mtu", subject="mlx5_0/1", verdict="fail"): 1,
        series(**common, check="host.memlock", verdict="warn"): 1,
        series(ring="cluster", check="cluster.class", subject="rdma", verdict="fail"): 1,
        series(**slow, verdict="fail"): 1,
    }
    checks = found["checks"]
    assert [checks[series(**common, verdict=name)] for name in prove_document.VERDICTS] == [0, 0, 1, 1]
    passed = {**common, "host": "n-02"}
    assert [checks[series(**passed, verdict=name)] for name in prove_document.VERDICTS] == [1, 1, 0, 0]
    assert (checks[series(ring="cluster", verdict="fail")], checks[series(ring="cluster", verdict="warn")]) == (1, 0)
    assert sum(checks.values()) == len(empty["checks"]) + len(empty["bandwidth"])


def test_counts_are_those_of_the_document(small: Document) -> None:
    found = read(rendered(small, "prometheus"))
    results = [*small["checks"], *small["bandwidth"]]
    counts: Counter[str] = Counter()
    for labels, value in found["checks"].items():
        counts[dict(labels)["verdict"]] += int(value)
    assert counts == Counter(dict.fromkeys(prove_document.VERDICTS, 0)) + Counter(one["verdict"] for one in results)
    assert len(found["checks"]) % len(prove_document.VERDICTS) == 0
    assert {dict(labels)["verdict"] for labels in found["finding"]} == {"fail", "warn"}


def test_ports_are_those_of_the_facts(small: Document, empty: Document) -> None:
    empty["hosts"] = {"n-01": {"group": "g", "facts": {}}}
    assert "ports" not in read(rendered(empty, "prometheus")), "of a host without facts nothing is known"
    facts = copy.deepcopy(small["hosts"]["h100-01"]["facts"])
    away = facts["usable"].pop()
    facts["excluded"] += [
        {**away, "reasons": [{"code": "in_pod", "text": "in a pod", "fields": {}}]},
        {"hca": "mlx5_9", "port": 1, "reasons": [{"code": "vf", "text": "a VF", "fields": {}}]},
    ]
    empty["hosts"]["n-02"] = {"group": "g", "facts": facts}
    others = len(facts["excluded"]) - 1
    assert read(rendered(empty, "prometheus"))["ports"] == {
        series(host="n-02", group="g", state="usable"): len(facts["usable"]),
        series(host="n-02", group="g", state="in_pod"): 1,
        series(host="n-02", group="g", state="excluded"): others,
    }


def test_whatever_a_name_has(empty: Document) -> None:
    nasty = dict.fromkeys(("id", "host", "group", "subject"), _NASTY)
    empty["checks"] = [check(**nasty)]
    text = rendered(empty, "prometheus")
    text.encode()
    shown = {"check": _SHOWN, "host": _SHOWN, "group": _SHOWN, "subject": _SHOWN}
    assert read(text)["finding"] == {series(ring="host", verdict="fail", **shown): 1}
    assert len(text.splitlines()) == 2 + 4 + 2 + 1


def test_what_was_found_twice_is_one_series(empty: Document) -> None:
    empty["checks"] = [check(text="It has 10.0.0.1."), check(text="It has fd00::1."), check(verdict="warn")]
    found = read(rendered(empty, "prometheus"))
    assert sorted(dict(labels)["verdict"] for labels in found["finding"]) == ["fail", "warn"]
    assert found["checks"][series(ring="host", host="n-01", group="g", verdict="fail")] == 2


def test_the_order_is_not_that_of_the_document(small: Document) -> None:
    shuffled = copy.deepcopy(small)
    mixed = random.Random(1)
    mixed.shuffle(shuffled["checks"])
    mixed.shuffle(shuffled["bandwidth"])
    shuffled["hosts"] = dict(reversed(shuffled["hosts"].items()))
    assert rendered(shuffled, "prometheus") == rendered(small, "prometheus")


@pytest.mark.parametrize("created", ["2026-11-20T10:00:00Z", "2026-11-20T11:00:00+01:00", "2026-11-20T10:00:00"])
def test_when_it_was(created: str, empty: Document) -> None:
    assert rendered(empty, "prometheus") == ""
    found = read(rendered({**empty, "created": created}, "prometheus"))
    assert found == {"run_timestamp_seconds": {(): 1795168800}}


def test_a_time_that_is_none(empty: Document) -> None:
    with pytest.raises(ValueError, match=r"^created is 'yesterday', it must be a time like 2026"):
        rendered({**empty, "created": "yesterday"}, "prometheus")


def test_a_large_fleet_without_findings_has_few_series(facts_of: Callable[..., Mapping[str, Any]]) -> None:
    whole = example(facts_of, {"h100": 100})
    whole["checks"] = [one for one in whole["checks"] if one["verdict"] == "pass"]
    whole["bandwidth"] = [one for one in whole["bandwidth"] if one["verdict"] == "pass"]
    found = read(rendered(whole, "prometheus"))
    # Four verdicts of three rings and of what was measured, three states of ports, and the time.
    assert sum(map(len, found.values())) == 100 * (4 * 4 + 3) + 1


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_names_the_metrics_and_their_labels(small: Document) -> None:
    found = read(rendered({**small, "created": "2026-11-20T10:00:00Z"}, "prometheus"))
    rows = re.findall(rf"^\| `{_PREFIX}(\w+)` \| (.*?) \|", _PAGE, re.MULTILINE)
    named = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    assert named == {name: {label for own in many for label, _value in own} for name, many in found.items()}
    assert set(re.findall(rf"{_PREFIX}(\w+)", _PAGE)) == set(found)


def test_alerts_use_labels_that_there_are(small: Document) -> None:
    labels = {label for own in read(rendered(small, "prometheus"))["finding"] for label, _value in own}
    of_findings = [alert for alert in runs.verify() if "_finding" in alert.expression]
    assert [re.findall(r'\{(\w+)="(\w+)"\}', alert.expression) for alert in of_findings] == [
        [("verdict", "fail")],
        [("verdict", "warn")],
    ]
    for alert in of_findings:
        used = set(re.findall(r"\$labels\.(\w+)", alert.text))
        assert used
        assert used <= labels


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_understands_the_units_of_the_page(tmp_path: Path) -> None:
    units, pushing = blocks("ini")[:2], blocks("ini")[2]
    for unit in units:
        name = re.findall(r"^# /etc/systemd/system/([\w.-]+)$", unit, re.MULTILINE)[0]
        text = unit + (pushing if name.endswith(".service") else "")
        # verify wants programs and users that are there.
        text = re.sub(r"^(Exec\w+)=\S+", r"\1=/bin/true", text, flags=re.MULTILINE)
        (tmp_path / name).write_text(text.replace("User=ansible", "User=root"))
    paths = sorted(tmp_path.iterdir())
    assert [path.suffix for path in paths] == [".service", ".timer"]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, paths)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        encoding="utf-8",
    )
    assert [line for line in done.stdout.splitlines() if "rdma-verify" in line] == []
