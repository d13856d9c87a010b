# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Verify, as a playbook and in its parts, with rails that must not reach each other, and a partition."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import Facts
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part, report
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

HOSTS = ("v100-01", "v100-02")
APART = {"rdma_links_rail_reachability": "none", "rdma_links_rail_subnets": ["10.1.0.0/24", "10.1.1.0/24"]}


def of(document: dict[str, Any], name: str) -> list[tuple[str | None, str, str]]:
    return [(check["host"], check["verdict"], check["text"]) for check in document["checks"] if check["id"] == name]


def test_recorded_nodes(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    fleet = {
        "rdma_cluster": "none",
        "rdma_strategy": "none",
        "rdma_verify_pkey": "0x8007",
        "ansible_python_interpreter": sys.executable,
        **APART,
    }
    hosts = {name: {"rdma_discover_root": str(root_of(name)), "ansible_connection": "local"} for name in HOSTS}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"children": {"v100": {"hosts": hosts, "vars": fleet}}}}))
    done = played(
        tmp_path, "-i", "hosts.yml", str(PLAYBOOKS / "verify.yml"), "--tags", "host", "-e", "rdma_verify_directory=out"
    )
    document = json.loads((tmp_path / "out/verify.json").read_text("utf-8"))
    assert done.returncode == 2, done.stdout + done.stderr
    assert {(host, verdict) for host, verdict, _text in of(document, "host.pkey")} == {(name, "fail") for name in HOSTS}
    assert "is not a member of partition 0x8007: it has 0xffff" in done.stdout
    ((host, verdict, text),) = of(document, "host.rails")
    assert (host, verdict) == (None, "impossible")
    assert text.startswith("it was not tested which rails reach each other: ")


def test_what_the_role_runs_is_what_is_judged(facts_of: Facts, tmp_path: Path) -> None:
    """The answers are simulated: two rails that reach each other, although they must not."""
    hosts: dict[str, dict[str, Any]] = {
        host: {
            "inventory_hostname": host,
            "rdma_group": "v100",
            "ansible_facts": {"rdma": facts_of(host)},
            **APART,
        }
        for host in HOSTS
    }
    run = part("begin", hosts)["run"]
    part("plan", hosts, {"ansible_forks": 5}, run=run)
    ping = {"whole": True, "reached": True, "usable": True, "lost": 0, "mtu_named": None, "complaint": ""}
    for host, own in hosts.items():
        tests = part("own", hosts, {"inventory_hostname": host}, run=run)
        pings = [{**ping, "name": probe["name"]} for probe in tests["probes"]]
        own["__rdma_verify_reached"] = {"pings": pings, "addresses": []}
        own["__rdma_verify_results"] = [
            {
                "round": number,
                "results": [{"name": each["name"], "ok": True, "value": 90.0} for each in meeting["runs"]],
            }
            for number, meeting in enumerate(tests["rounds"])
        ]
    assert part("host", hosts, run=run) == {}
    told = report("verify", hosts, run=run, directory=str(tmp_path))
    document = json.loads((tmp_path / "verify.json").read_text("utf-8"))
    ((name, verdict, text),) = of(document, "host.rails")
    assert (name, verdict) == (None, "fail")
    assert text.startswith("rails 0 and 1 reach each other, but must not (rdma_links_rail_reachability): ")
    assert "rails of v100" in told["text"]
    assert 'id="rails"' in (tmp_path / "verify.html").read_text("utf-8")
    assert of(document, "host.answers") == []
    assert text in (tmp_path / "verify.xml").read_text("utf-8")
