# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What earlier versions left (fixtures/state/README.md) is read; what newer ones would leave is refused."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read as facts_read
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.node_annotation import AnnotationError
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import document as audits
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import revert, rewrite
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.service import _status
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import benchmark as benchmarks
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify as documents
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import earlier
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.prometheus import prometheus
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import content_hash
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import Parent
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import output
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.status import Status

UNIT = Path(__file__).resolve().parent
REWRITTEN = UNIT.parent / "upgrade/workload.yml"
TOOLING = "applyset.kubernetes.io/tooling"
NEWER = "has version 2, which a newer version of this collection wrote; this one reads versions up to 1: update the col"
Object = dict[str, Any]


@pytest.fixture(params=sorted((UNIT / "fixtures/state").glob("*/")), ids=lambda path: path.name, name="recorded")
def make_recorded(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def loaded(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def objects(recorded: Path, kind: str) -> Iterator[Object]:
    for entry in loaded(recorded / "cluster.json"):
        if entry["object"]["kind"] == kind:
            yield entry["object"]


def test_there_is_a_recording_of_this_version_and_of_the_one_before() -> None:
    assert {path.name for path in (UNIT / "fixtures/state").glob("*/")} == {"1.0.0", "dccb9b2c"}


def test_parents_of_sets_are_read_and_newer_ones_are_refused(recorded: Path) -> None:
    parents = list(objects(recorded, "Secret"))
    assert parents
    for live in parents:
        meta = live["metadata"]
        parent = Parent(meta["name"], meta["namespace"])
        scope = parent.read(live)
        assert scope
        assert scope.kinds
        newer = copy.deepcopy(live)
        newer["metadata"]["annotations"][TOOLING] = "zerocopy.rdma/v2.0.0"
        with pytest.raises(ClusterError, match=f"^Secret {parent.namespace}/{parent.name}, the parent .*, {NEWER}"):
            parent.read(newer)


def test_a_template_with_the_same_content_keeps_its_name(recorded: Path) -> None:
    found = list(objects(recorded, "ResourceClaimTemplate"))
    assert found
    for one in found:
        alias = one["metadata"]["labels"][content_hash.ALIAS]
        assert content_hash.hashed(alias, one["spec"]) == one["metadata"]["name"]


def test_counters_of_nodes_are_read_and_newer_ones_are_refused(recorded: Path) -> None:
    noted = [
        node["metadata"]
        for node in objects(recorded, "Node")
        if counters.ANNOTATION in node["metadata"].get("annotations", {})
    ]
    assert noted
    for meta in noted:
        text = meta["annotations"][counters.ANNOTATION]
        known = counters.recorded(meta["name"], meta["annotations"])
        assert known == json.loads(text)
        # A version is no resource.
        assert all("/" in resource for resource in known)
        written = {counters.ANNOTATION: json.dumps({**known, "version": 2})}
        with pytest.raises(AnnotationError, match=f"^{meta['name']}: annotation {counters.ANNOTATION} {NEWER}"):
            counters.recorded(meta["name"], written)
        # One that states its version is the same.
        assert counters.recorded("n", {counters.ANNOTATION: json.dumps({**known, "version": 1})}) == known


@pytest.mark.parametrize("version", ["1", 0, None, True, [2]])
def test_an_annotation_whose_version_is_none_is_not_ours(version: object) -> None:
    written = {counters.ANNOTATION: json.dumps({"rdma/nic": 1, "version": version})}
    if version is None:
        assert counters.recorded("n", written) == {"rdma/nic": 1}
        return
    with pytest.raises(AnnotationError, match="it must be JSON with the number of each resource"):
        counters.recorded("n", written)


def test_the_mark_of_a_move_is_read_or_left_to_a_person(recorded: Path) -> None:
    metadata = loaded(recorded / "move.json")
    if recorded.name == "dccb9b2c":
        # Without a digest, a kubelet may have written it.
        with pytest.raises(AnnotationError, match="remove both if no run is moving the node"):
            use.mark("n", metadata["annotations"], {})
        return
    found = use.mark("n", metadata["annotations"], metadata["labels"])
    assert found == use.Mark("dra", False, {"example.com/pool": "rdma"}, {"rdma/nic": 64}, "shared")


def test_the_mark_of_a_newer_move_is_refused() -> None:
    text = json.dumps({**json.loads(use.Mark("dra").written()), "version": 2})
    with pytest.raises(AnnotationError, match=f"^n: annotation zerocopy.rdma/move {NEWER}"):
        use.mark("n", {use.ANNOTATION: text}, {use.DIGEST: use.digest(text)})


def test_facts_of_a_cache_are_read(recorded: Path) -> None:
    facts = loaded(recorded / "facts.json")
    found = facts_read.facts(facts)
    assert [hca.name for hca in found.hcas] == [hca["name"] for hca in facts["hcas"]]
    assert (len(found.hcas), len(found.gpus), len(found.affinity)) == (1, 1, 1)
    # What a newer version adds is left out.
    assert facts_read.facts({**facts, "added": {"later": True}}) == found


def test_an_earlier_report_is_compared_and_a_newer_one_is_not(recorded: Path) -> None:
    value = loaded(recorded / "verify.json")
    whole = documents.document(value)
    assert whole.checks
    assert whole.hosts
    past = earlier.read(json.dumps(value))
    assert past
    assert [earlier.key(check) for check in past.checks] == [earlier.key(check) for check in whole.checks]
    assert earlier.read(json.dumps({**value, "version": 2})) is None
    with pytest.raises(documents.DocumentError, match=f"^{NEWER}"):
        documents.document({**value, "version": 2})


def test_a_benchmark_is_shown_again_and_a_newer_one_is_refused(recorded: Path) -> None:
    value = loaded(recorded / "benchmark.json")
    found = benchmarks.read(value)
    # Those of 1.0.0 do not say of which request these are.
    for one in (*value["summary"], *value["errors"], *(time for line in value["kv"] for time in line["times"])):
        one.setdefault("request", "")
    # Nor, as those of all earlier versions, how many NICs a pod had.
    for run in value["runs"]:
        run.setdefault("given", None)
    assert benchmarks.plain(found) == value
    with pytest.raises(benchmarks.BenchmarkDocumentError, match=f"^{NEWER}"):
        benchmarks.read({**value, "version": 2})


def test_an_audit_is_written_as_it_was(recorded: Path) -> None:
    """Programs of users read it, not the collection."""
    value = loaded(recorded / "audit.json")
    assert [workload["name"] for workload in value["workloads"]] == ["decode"]
    if recorded.name != "dccb9b2c":
        assert value.pop("version") == 1
        found = audits.as_json(audits.read(value))
        assert json.loads(json.dumps(found)) == value


def test_a_rewritten_workload_goes_back(recorded: Path) -> None:
    item = loaded(recorded / "workload.json")
    assert revert.restored(item) == yaml.safe_load(REWRITTEN.read_text("utf-8"))
    annotations = item["metadata"]["annotations"]
    ways = json.loads(annotations["zerocopy.rdma/before"])
    annotations["zerocopy.rdma/before"] = json.dumps({"version": 2, "operations": ways})
    moved = rewrite.reverted([item], {})
    assert moved.documents == [item]
    (note,) = moved.notes
    assert note.text.startswith(f"the annotation zerocopy.rdma/before {NEWER}")


def series(metrics: str) -> Set[tuple[str, frozenset[str]]]:
    """The names of metrics with those of their labels."""
    found = re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", metrics, re.MULTILINE)
    return {(name, frozenset(re.findall(r'(\w+)="', labels))) for name, labels in found}


def test_metrics_keep_their_names_and_labels(recorded: Path) -> None:
    of_verify = (recorded / "verify.prom").read_text("utf-8")
    now = prometheus(documents.document(loaded(recorded / "verify.json")))
    assert series(of_verify) <= series(now)
    of_inject = (recorded / "inject.prom").read_text("utf-8")
    assert series(of_inject) <= series(Status().metrics())
    # The daemon may replace it.
    assert output.is_ours(of_inject)


def test_the_status_of_a_running_daemon_is_read(recorded: Path) -> None:
    text = (recorded / "status.json").read_text("utf-8")
    found = _status(text)
    assert (found["pid"], found["registered"]) == (4711, True)
    assert set(found) == set(Status().document())
    # It is a cache: of a newer one nothing is known.
    assert _status(text.replace('"version": 1', '"version": 2')) == {}
