# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Why hosts fail at the end of provision, by what the roles of strategies have left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.filter.unserved import unserved
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import no_node

CHECKOUT = Path(__file__).resolve().parents[3]
MISSING = no_node("n1")
SKIPPED = {"changed": False, "skipped": True}


def published(**own: Any) -> dict[str, Any]:
    return {"rdma_claims_published": {"nodes": {"n1": {"exists": True, "silent": "", "missing": [], **own}, "n2": {}}}}


def planned(**unmet: list[str]) -> dict[str, Any]:
    return {"rdma_claims_planned": {"results": [{"item": {"problems": [], "unmet": unmet}}]}}


EXCLUDED = {"intended": True, "reason": "it carries the default route"}
RESTART = {"intended": False, "reason": "restart it"}


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ({}, []),
        ({"rdma_driver_labelled": SKIPPED, "rdma_claims_published": SKIPPED, "rdma_claims_planned": SKIPPED}, []),
        ({"rdma_driver_labelled": {"missing": ["n2"]}, **published(), **planned(n2=["n2: x"])}, []),
        *(({f"{role}_labelled": {"missing": ["n2", "n1"]}}, [MISSING]) for role in registry.driver_roles()),
        # Of a site that runs DRANET itself nothing is labelled. Whatever else is the matter follows from it.
        ({**published(exists=False), **planned(n1=["n1: x"])}, [MISSING]),
        (
            {"rdma_host_device_result": {"unready": {"n1": ["DaemonSet a/b: not ready"], "n2": ["c"]}}},
            ["n1: DaemonSet a/b: not ready"],
        ),
        ({"rdma_inject_result": {"broken": {"n1": "n1: annotation x", "n2": "n2: y"}}}, ["n1: annotation x"]),
        (published(silent="it has no pod there"), ["n1: no pod can claim its NICs: it has no pod there"]),
        (published(without_gpus="it does not run there"), ["n1: no pod can claim its GPUs: it does not run there"]),
        (
            {**published(missing=[EXCLUDED, RESTART, RESTART]), **planned(n1=["n1: x is wrong"])},
            ["n1: x is wrong, although the facts allow it: restart it"],
        ),
        (
            {**published(missing=[EXCLUDED]), **planned(n1=["n1: x is wrong"])},
            [
                "n1: x is wrong, although the facts allow it: what its drivers publish differs from the facts, as shown"
                " above"
            ],
        ),
        # What a node says is no template.
        (
            published(silent="{{ lookup('pipe', 'id') }}"),
            ["n1: no pod can claim its NICs: { { lookup('pipe', 'id') }}"],
        ),
    ],
)
def test_why_a_host_is_not_served(left: dict[str, Any], expected: list[str]) -> None:
    assert unserved({"inventory_hostname": "n1", **left}) == expected


def test_roles_leave_what_is_read() -> None:
    left = set(variables.left_by())
    assert left >= {f"{role}_labelled" for role in registry.driver_roles()}
    assert left >= {f"{role}_{name}" for role in registry.claim_roles() for name in ("published", "planned")}
    assert left >= {f"{role}_result" for role in registry.set_roles()}


def test_a_role_on_its_own_fails_hosts_as_the_playbook_does() -> None:
    """At its end, when all other hosts have been served."""
    (play,) = yaml.safe_load((CHECKOUT / "playbooks" / "provision_result.yml").read_text("utf-8"))
    (expected,) = play["tasks"]
    assert "zerocopy.rdma.unserved" in expected["vars"]["__why"]
    for role in registry.roles():
        *_before, last = yaml.safe_load((variables.ROLES / role / "tasks" / "main.yml").read_text("utf-8"))
        part = "claims" if role in registry.claim_roles() else "driver"
        assert last == {**expected, "tags": ["provision", part]}


def test_every_wait_for_daemon_sets_leaves_the_others_alone() -> None:
    """A node on which they do not become ready must not keep all others from being provisioned."""
    waits = {}
    for role in registry.driver_roles():
        for path in sorted((variables.ROLES / role / "tasks").glob("deploy.yml")):
            for task in yaml.safe_load(path.read_text("utf-8")):
                given = task.get("zerocopy.rdma.applyset", {})
                if "wait" in given:
                    waits[role] = (given.get("unready_nodes"), task.get("register"))
    assert waits == {
        role: ("report", f"{role}_result") for role in registry.driver_roles() if role in registry.set_roles()
    }


def test_no_helm_release_is_waited_for() -> None:
    """Helm would wait for all nodes, and fail for all hosts when one of them is silent."""
    waits = [
        (str(path.relative_to(variables.ROLES)), given["wait"])
        for path in sorted(variables.ROLES.glob("*/tasks/*.yml"))
        for task in yaml.safe_load(path.read_text("utf-8")) or ()
        for given in [task.get("kubernetes.core.helm", {})]
        if "wait" in given and given.get("state") != "absent"
    ]
    assert waits == []


def test_hosts_fail_after_the_summary() -> None:
    """If all hosts fail, Ansible plays nothing more."""
    plays = yaml.safe_load((CHECKOUT / "playbooks" / "site.yml").read_text("utf-8"))
    assert [play.get("ansible.builtin.import_playbook") for play in plays][-3:] == [
        "provision_cluster.yml",
        None,
        "provision_result.yml",
    ]
