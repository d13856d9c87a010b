# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The reports of verify, drift, audit, benchmark, health, site and of the fleet: documents, and pages."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import document as audit_document
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import page as audit_page
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import document as benchmark_document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import judge as benchmark_judge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import benchmark as benchmarks
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify as documents
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import BenchmarkDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    DocumentHost,
    RingResult,
    VerifyDocument,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import drift as report_drift
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import earlier as report_earlier
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import site as report_site
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.html import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.junit import junit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.prometheus import prometheus
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.summary import failure, summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _benchmark,
    _files,
    _groups,
    _health,
    _inventory,
    _plan_files,
    _provisioned,
    _run,
    _verify,
    _verify_inventory,
    _verify_run,
)

Map = Mapping[str, Any]

# Of the files with the results of an audit and of drift.
_AUDIT_VERSION = _DRIFT_VERSION = state_version.FIRST
# What is written of the result of workload_audit_info.
_AUDIT = ("advice", "cluster", "kubernetes", "others", "unseen", "workloads")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Mode:
    """Check mode and diff mode of a task."""

    check: bool
    diff: bool


def now(form: str = _TIME) -> str:
    return datetime.now(timezone.utc).strftime(form)


def _json(value: Any) -> str:
    return json.dumps(value, indent=4, sort_keys=True, separators=(",", ": "))


def _host(hostvars: Map, host: str, rails: Mapping[int, str]) -> DocumentHost:
    # A host whose facts cannot be used has none; the host ring tells why.
    own = hostvars[host]
    facts, _malformed = _inventory.facts_of(own)
    numbers = {port: rail for rail, port in rails.items()}
    return DocumentHost(_groups.of(hostvars, host, own), variables.sent(own) if facts else {}, numbers)


def document(
    context: Map,
    hosts: Sequence[str],
    created: Optional[str] = None,
    rings: Sequence[RingResult] = (),
    benchmark: Optional[BenchmarkDocument] = None,
    earlier: str = "",
) -> VerifyDocument:
    """The document of these hosts. ``earlier`` is the text of that of an earlier run, ignored if it is none."""
    hostvars = context["hostvars"]
    measured = any(ring.bandwidth for ring in rings)
    rails = {node.host: node.rails for node in _verify_inventory.nodes(context, hosts, hostvars)} if measured else {}
    known = {host: _host(hostvars, host, rails.get(host, {})) for host in hosts}
    whole = VerifyDocument(
        created,
        _run.collection_version(),
        known,
        [check for ring in rings for check in ring.checks],
        [entry for ring in rings for entry in ring.bandwidth],
        _run.of(context, {name: host.group for name, host in known.items()}),
        benchmark=benchmark,
    )
    past = report_earlier.read(earlier)
    whole.earlier = report_earlier.compare(past, whole) if past else None
    return whole


def _earlier(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError):
        return ""


def _hosts(context: Map, options: Map) -> List[str]:
    return [str(host) for host in options["hosts"] or context["ansible_play_hosts_all"]]


def verify(context: Map, options: Map, mode: Mode) -> Dict[str, Any]:
    run, directory = options["run"], _files.artifact(options["directory"], context)
    plain_path = f"{directory}/verify.json"
    rings = _verify_run.results(run, list(_verify.RINGS))
    whole = document(context, _hosts(context, options), now(), rings, _verify_run.benchmark(run), _earlier(plain_path))
    value = documents.plain(whole)
    shown = read(value)
    files = {
        plain_path: f"{_json(value)}\n",
        f"{directory}/verify.xml": junit(shown),
        f"{directory}/verify.html": html(shown),
    }
    if options["metrics"]:
        files[_files.artifact(options["metrics"], context)] = prometheus(shown)
    counts = {verdict: sum(check.verdict == verdict for check in whole.checks) for verdict in documents.VERDICTS}
    why = failure(shown, "" if mode.check else directory)
    return {"files": files, "text": summary(shown), "failure": why, "counts": counts}


def fleet(context: Map, options: Map, _mode: Mode) -> Dict[str, Any]:
    whole = document(context, _hosts(context, options), now())
    return {"files": {_files.artifact(options["html"], context): html(read(documents.plain(whole)))}}


def _compared(context: Map, options: Map, result: str = report_drift.RESULT) -> List[report_drift.HostDrift]:
    hostvars = context["hostvars"]
    return [
        report_drift.read(host, _groups.of(hostvars, host), _inventory.raw(hostvars[host], result))
        for host in _hosts(context, options)
    ]


def _previewed(context: Map, node: report_drift.HostDrift) -> report_drift.HostDrift:
    """With what the plan that the host was compared with says that its links cannot have."""
    plan = _inventory.raw(context["hostvars"][node.host], report_drift.PLAN) or {}
    if node.result is None or not plan.get("directory"):
        return node
    return replace(node, unaddressed=_plan_files.host_plan(plan["directory"], node.host).warnings)


def drift(context: Map, options: Map, mode: Mode) -> Dict[str, Any]:
    compared = _compared(context, options)
    if mode.check or mode.diff:
        compared = [_previewed(context, node) for node in compared]
    view = report_drift.view(compared, mode.check, mode.diff)
    shown = {"version": _DRIFT_VERSION, **{name: value for name, value in view.items() if name != "text"}}
    return {
        **view,
        "files": {_files.artifact(options["json"], context): f"{_json(shown)}\n"} if options["json"] else {},
    }


def revert(context: Map, options: Map, _mode: Mode) -> Dict[str, Any]:
    return {"files": {}, "lines": report_drift.left(_compared(context, options, report_drift.REVERT))}


def site(context: Map, options: Map, mode: Mode) -> Dict[str, Any]:
    nodes, active = _compared(context, options), set(context["ansible_play_hosts"])
    failed = [node.host for node in nodes if node.host not in active]
    own = context["hostvars"][str(context["inventory_hostname"])]
    sets, written = _provisioned.objects(own), _provisioned.manifests(own)
    run = _run.of(context, {node.host: node.group for node in nodes})
    whole = report_site.SiteRun(nodes, failed, sets, mode.check, run, written)
    return {"files": {}, "lines": report_site.lines(whole)}


def audit(context: Map, options: Map, _mode: Mode) -> Dict[str, Any]:
    found = plain(options["found"])
    files: Dict[str, str] = {}
    if options["json"]:
        shown = {"version": _AUDIT_VERSION, **{name: found[name] for name in _AUDIT if name in found}}
        files[_files.artifact(options["json"], context)] = f"{_json(shown)}\n"
    if options["html"]:
        page = audit_page.html(audit_document.read(found), now("%Y-%m-%d %H:%M UTC"))
        files[_files.artifact(options["html"], context)] = page
    return {"files": files}


def benchmark(context: Map, options: Map, _mode: Mode) -> Dict[str, Any]:
    directory = _files.artifact(options["directory"], context)
    found = _benchmark.document(context, options, now())
    whole = document(context, _hosts(context, options), found.created, benchmark=found)
    path = f"{directory}/benchmark.json"
    files = {
        path: _json(benchmarks.plain(found)),
        f"{directory}/benchmark.html": html(read(documents.plain(whole))),
    }
    return {
        "files": files,
        "lines": benchmark_document.text(found),
        "failure": "\n".join(benchmark_judge.failure(found, path)),
    }


def health(context: Map, options: Map, mode: Mode) -> Dict[str, Any]:
    return _health.report(context, options, now(), mode.check)


# Those that are written in check mode as well, and never counted as a change, because nothing else is changed.
_ALWAYS = ("drift", "audit")
KINDS: Dict[str, Callable[[Map, Map, Mode], Dict[str, Any]]] = {
    "verify": verify,
    "fleet": fleet,
    "drift": drift,
    "revert": revert,
    "site": site,
    "audit": audit,
    "benchmark": benchmark,
    "health": health,
}


def report(context: Map, options: Map, check: bool, diff: bool) -> Dict[str, Any]:
    """The report of one kind; ``diff`` is whether differences of files are wanted."""
    kind = str(options["kind"])
    found = KINDS[kind](context, options, Mode(check, diff))
    files = found.pop("files")
    dry = check and kind not in _ALWAYS
    differ = _files.changed(files, dry)
    # What a dry run finds is of its time, and no other run would write the same.
    paths, changed = ([], False) if dry else (list(files), bool(differ) and kind not in _ALWAYS)
    return {**found, "paths": paths, "changed": changed}
