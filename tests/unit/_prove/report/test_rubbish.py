# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whatever some hosts send, the report of the others is written, and it names those (hypothesis makes the rubbish)."""

from __future__ import annotations

import copy
import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import drift
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import LAB, Facts, node
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part, report
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

Vars = dict[str, Any]

# Two of a group that measure with each other, and two of another one.
HOSTS = {"lab-01": "lab", "lab-02": "lab", "v100-01": "v100", "v100-02": "v100"}
FACTS, DRIFT, FIRST = "ansible_facts", "rdma_drift_result", "__rdma_verify_first"
# What only both hosts of a pair, or all of a group, can say.
TOGETHER = ("host.bandwidth", "host.drivers", "host.duplicate_address", "host.firmware", "host.path_mtu")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def concern(**changes: Any) -> Vars:
    return {"changed": False, "changes": [], "warnings": [], "reboot_reasons": [], "error": None, "diff": [], **changes}


def answered(hosts: Mapping[str, str], facts_of: Facts) -> dict[str, Vars]:
    """These hosts with what their modules answer where all is well."""
    variables = {
        host: {"inventory_hostname": host, "rdma_group": group, FACTS: {"rdma": facts_of(host)}, **LAB}
        for host, group in hosts.items()
    }
    run = part("begin", variables)["run"]
    part("plan", variables, {"ansible_forks": 5}, run=run)
    found = {}
    for host, own in variables.items():
        tests = part("own", variables, {"inventory_hostname": host}, run=run)
        ping = {"whole": True, "reached": True, "usable": True, "lost": 0, "mtu_named": None, "complaint": ""}
        results = [
            [{"name": each["name"], "ok": True, "code": "", "error": "", "value": 20.5} for each in meeting["runs"]]
            for meeting in (tests["loopback"], *tests["rounds"])
        ]
        file = {"kind": "file", "name": "/etc/x", "before": "absent", "after": "present"}
        texts = {"before_header": "/etc/x (absent)", "after_header": "/etc/x", "before": "", "after": "mtu=9000\n"}
        found[host] = {
            **own,
            DRIFT: {
                "concerns": {
                    "kernel": concern(),
                    "links": concern(changes=[file], diff=[texts]),
                    "runtime": concern(nri={"enabled": True, "request_timeout": "2s"}, unit="containerd"),
                    "daemons": concern(changes=[file], diff=[texts]),
                }
            },
            "__rdma_verify_reached": {
                "pings": [{**ping, "name": probe["name"]} for probe in tests["probes"]],
                "addresses": [{**claim, "other": None, "skipped": ""} for claim in tests["addresses"]],
                "fabrics": [{**port, "error": "", "links": []} for port in tests["fabric_ports"]],
            },
            "__rdma_verify_loopback": {"results": results[0]},
            "__rdma_verify_results": [{"round": at, "results": each} for at, each in enumerate(results[1:])],
            FIRST: {"at": time.time(), "facts": own[FACTS]["rdma"]},
            "__rdma_verify_again": {FACTS: {"rdma": own[FACTS]["rdma"]}},
        }
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in a value that was JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    found = copy.copy(value)
    found[path[0]] = replaced(value[path[0]], path[1:], new)
    return found


def judged(variables: dict[str, Vars], directory: Path) -> Vars:
    """The document that a run over these hosts writes."""
    run = part("begin", variables)["run"]
    part("plan", variables, {"ansible_forks": 5}, run=run)
    part("host", variables, run=run)
    told = report("verify", variables, run=run, directory=str(directory), metrics=str(directory / "rdma.prom"))
    assert told["text"]
    found: Vars = json.loads((directory / "verify.json").read_text("utf-8"))
    return found


def rows(document: Mapping[str, Any], host: str, alone: bool) -> list[Vars]:
    """What a report says of a host, but for times; ``alone``: without what takes its peers."""
    own = [check for check in document["checks"] if check["host"] == host and check["id"] != "host.link_errors"]
    return [check for check in own if not (alone and check["id"] in TOGETHER)]


@pytest.fixture
def fleet(facts_of: Facts) -> dict[str, Vars]:
    return answered(HOSTS, facts_of)


@pytest.fixture
def all_well(fleet: dict[str, Vars], tmp_path: Path) -> Vars:
    return judged(fleet, tmp_path / "good")


# Fixtures are made once for all examples.
@settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_the_report_of_the_others_is_written(
    data: st.DataObject, fleet: dict[str, Vars], all_well: Vars, tmp_path: Path
) -> None:
    bad = data.draw(st.sets(st.sampled_from(sorted(HOSTS)), min_size=1, max_size=3))
    sent = copy.deepcopy(fleet)
    wrong = set()
    for host in sorted(bad):
        name = data.draw(st.sampled_from([FACTS, *(name for name in fleet[host] if "rdma_verify_" in name), DRIFT]))
        # Of the first look the play makes all but the facts.
        made = ("facts",) if name == FIRST else ()
        ways = [path for path in places(fleet[host][name])[name == FACTS :] if path[: len(made)] == made]
        path = data.draw(st.sampled_from(ways))
        new = data.draw(JSON)
        sent[host][name] = replaced(fleet[host][name], path, new)
        # Nothing else than a map or a list is right there.
        if len(path) <= (name == FACTS) and not isinstance(new, (dict, list)) and new:
            wrong.add(host)
    after = judged(sent, tmp_path / "bad")
    assert {path.name for path in (tmp_path / "bad").iterdir()} == {
        "rdma.prom",
        *(f"verify.{form}" for form in ("html", "json", "xml")),
    }
    for host, group in HOSTS.items():
        if host not in bad:
            alone = any(HOSTS[other] == group for other in bad)
            assert rows(after, host, alone) == rows(all_well, host, alone)
    failing = {check["host"] for check in after["checks"] if check["verdict"] in ("fail", "impossible")}
    assert wrong <= failing


@settings(
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_the_preview_of_the_others_is_shown(data: st.DataObject) -> None:
    address = {"netdev": "eth1", "address": "10.9.0.1/24", "mtu": 9000, "uuid": "5f2c"}
    link = {"name": "rdma-rail0", "mac": "b8:59:9f:00:00:01", "addresses": [address]}
    file = {"kind": "file", "name": "/etc/x", "before": "absent", "after": "present"}
    texts = {"before_header": "/etc/x (absent)", "after_header": "/etc/x", "before": "", "after": "address=10.9.0.1/24"}
    links = concern(changed=True, changes=[file], diff=[texts], links=[link])
    good = {"changed": False, "differs": True, "concerns": {"links": links, "kernel": concern()}}
    path = data.draw(st.sampled_from(places(good)))
    sent = {"a": {"group_names": ["x"], DRIFT: replaced(good, path, data.draw(JSON))}, "b": {DRIFT: good}}
    found = report("drift", sent, check=True, diff=True)
    assert "10.9.0.1/24" in found["text"]
    assert "b" in found["differ"]
    # Every host is told of in some field.
    assert {*found["hosts"], *found["silent"], *found["blocked"]} == {"a", "b"}


def test_an_answer_that_cannot_be_used_is_named(facts_of: Facts, tmp_path: Path) -> None:
    sent = answered({"lab-01": "lab", "lab-02": "lab"}, facts_of)
    sent["lab-01"]["__rdma_verify_results"][0]["results"][0]["ok"] = "perhaps"
    sent["lab-02"][DRIFT]["concerns"]["kernel"]["changes"] = [{"name": 3}]
    found = judged(sent, tmp_path)
    assert {check["host"]: check["text"] for check in found["checks"] if check["id"] == "host.answers"} == {
        "lab-01": "what this host measured with others cannot be used: rounds[0].results[0].ok is 'perhaps', it must be"
        " true or false",
        "lab-02": "the comparison of this host with its plan cannot be used: concerns.kernel.changes[0].kind is"
        " missing, it must be a string",
    }


def test_whatever_differs_has_a_run_that_mends_it(facts_of: Facts) -> None:
    file = {"kind": "file", "name": "/etc/x", "before": "present", "after": "absent"}
    for name in drift._CONCERNS:
        one = node(facts_of("lab-01"))
        for result in (concern(changes=[file]), concern(error="no")):
            one.drift = {name: result}
            assert [check for check in drift.of_node(one) if check.id == f"host.{name}" and check.mend], name


def test_leftovers_of_a_daemon_do_not_stop_verify(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    hosts: Vars = {}
    for name in ("lab-01", "lab-02"):
        shutil.copytree(root_of(name), tmp_path / name, symlinks=True)
        hosts[name] = {"rdma_discover_root": str(tmp_path / name), "ansible_connection": "local"}
    fleet = {"rdma_cluster": "none", "rdma_strategy": "none", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"children": {"lab": {"hosts": hosts, "vars": fleet}}}}))
    common = ["-i", "hosts.yml"]
    inject = ["--limit", "lab-01", "-e", "rdma_strategy=inject"]
    prepared = played(tmp_path, *common, *inject, str(PLAYBOOKS / "prepare.yml"))
    assert prepared.returncode == 0, prepared.stdout + prepared.stderr
    done = played(tmp_path, *common, str(PLAYBOOKS / "verify.yml"), "-e", "rdma_verify_directory=report")
    assert (tmp_path / "report" / "verify.html").exists(), done.stdout + done.stderr
    document = json.loads((tmp_path / "report" / "verify.json").read_text("utf-8"))
    (found,) = [check for check in document["checks"] if check["id"] == "host.daemons"]
    assert (found["host"], found["verdict"], found["mend"]) == ("lab-01", "warn", "runtime")
    assert {check["host"] for check in document["checks"]} >= set(hosts)
