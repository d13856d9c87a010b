# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What site says at its end."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from ansible import context as command_line

from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import report

UNCHANGED: dict[str, Any] = {"changed": False, "unfinished": False, "error": None}
CONTEXT = {"ansible_inventory_sources": ["/srv/inventory"], "groups": {}}


def drift(**changed: bool) -> dict[str, Any]:
    return {"concerns": {name: {**UNCHANGED, "changed": value} for name, value in changed.items()}}


def fleet(**results: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, result in results.items():
        found[name.replace("_", "-")] = {"group_names": [name.partition("_")[0]]}
        if result is not None:
            found[name.replace("_", "-")]["rdma_drift_result"] = result
    return found


HOSTVARS = fleet(
    h100_01=drift(kernel=False, links=False),
    h100_02=drift(links=True),
    h100_03=drift(links=True),
    # An image is imported by the strategy; prepare leaves such a node alone.
    a100_01=drift(images=True),
    a100_02=None,
)


def applied(*actions: str, name: str = "claims") -> dict[str, Any]:
    """The result of a step with a set of objects."""
    objects = [
        {"kind": "ConfigMap", "namespace": "a", "name": str(place), "action": action}
        for place, action in enumerate(actions)
    ]
    return {"title": f"Apply {name}", "set": name, "objects": objects}


APPLIED = {"steps": [applied("created", "unchanged", "unchanged", "kept"), {"title": "Label the nodes", "nodes": []}]}


def said(hostvars: dict[str, Any], failed: tuple[str, ...] = (), check: bool = False, **variables: Any) -> list[str]:
    active = [name for name in hostvars if name not in failed]
    own = {"ansible_play_hosts": active, **({"inventory_hostname": active[0]} if active else {})}
    found: list[str] = report("site", hostvars, {**CONTEXT, **own, **variables}, check)["lines"]
    return found


def test_nodes_of_each_group_and_the_next_command() -> None:
    assert said(HOSTVARS, ("a100-02",)) == [
        "h100: 2 changed (h100-[02-03]), 1 unchanged",
        "a100: 1 failed (a100-02), 1 unchanged",
        "next: ansible-playbook -i /srv/inventory zerocopy.rdma.verify",
    ]


def test_a_limited_run_is_verified_with_its_limit() -> None:
    lines = said(HOSTVARS, ansible_limit="h100:!h100-01", rdma_hosts="h100")
    assert lines[-1] == (
        "next: ansible-playbook -i /srv/inventory zerocopy.rdma.verify --limit 'h100:!h100-01' -e rdma_hosts=h100"
    )


def test_the_next_command_repeats_extra_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["rdma_cluster=none rdma_manifests='my files'", '{"rdma_serial": [1]}', "@site.yml", "rdma_hosts=h100"]
    secret = [
        "ansible_become_password=hunter2 rdma_serial_max=1",
        '{"ansible_user": "me"}',
        "rdma_manifests={{ x }}",
        "rdma_group={% if x %}a{% endif %}",
        '{"rdma_operator_sriov_values": {"imagePullSecrets": ["hunter2"]}}',
    ]
    monkeypatch.setattr(command_line, "CLIARGS", {"extra_vars": (*given, *secret)})
    words = shlex.split(said(HOSTVARS, rdma_hosts="h100")[-1].partition(": ")[2])
    extra = [after for word, after in zip(words, words[1:]) if word == "-e"]
    names = [
        "ansible_become_password=...",
        "rdma_serial_max=...",
        "ansible_user=...",
        "rdma_manifests=...",
        "rdma_group=...",
        "rdma_operator_sriov_values=...",
    ]
    assert extra == [*given[:3], *names, "rdma_hosts=h100"]


def test_check_mode_says_what_would_be() -> None:
    hostvars = {**HOSTVARS, "h100-01": {**HOSTVARS["h100-01"], "rdma_provision_result": APPLIED}}
    assert said(hostvars, ("a100-02",), check=True) == [
        "h100: 2 would be changed (h100-[02-03]), 1 unchanged",
        "a100: 1 failed (a100-02), 1 unchanged",
        "objects of the cluster, if applied: 1 created, 1 kept, 2 unchanged",
    ]


@pytest.mark.parametrize("result", ["rdma_provision_result", "rdma_provision_claims"])
def test_objects_of_the_cluster(result: str) -> None:
    hostvars: dict[str, Any] = {"h100-01": {"group_names": ["h100"], result: APPLIED}}
    # Of a run that did not compare nodes, only the objects are told.
    assert said(hostvars)[0] == "objects of the cluster: 1 created, 1 kept, 2 unchanged"
    # It was skipped, with a part of the run.
    hostvars["h100-01"][result] = {"skipped": True, "changed": False}
    assert said(hostvars) == []


def test_manifests_that_nobody_has_applied_yet() -> None:
    paths = [f"/srv/my files/{name}.yml" for name in ("claims", "driver-dranet", "node-labels", "node-labels-h100")]
    own: dict[str, Any] = {"group_names": ["h100"], "rdma_provision_result": {"steps": [], "manifests": paths}}
    assert said({"h100-01": own})[:2] == [
        "cluster: rdma_cluster is none, so nothing was applied. 4 files were written to /srv/my files,"
        " for you to apply",
        "labels of nodes: node-labels.yml, node-labels-h100.yml; apply them with kubectl apply --server-side, not with"
        " a tool that prunes",
    ]
    first = said({"h100-01": own}, check=True)[0]
    assert first.endswith("so nothing is applied. 4 files would be written to /srv/my files, for you to apply")


def test_objects_that_were_updated_before_nodes_got_their_labels() -> None:
    def step(**actions: str) -> dict[str, Any]:
        objects = [
            {"kind": "DaemonSet", "namespace": "dra", "name": name, "action": action}
            for name, action in actions.items()
        ]
        return {"title": "Apply the objects (dra)", "set": "zerocopy-rdma-driver", "objects": objects}

    # A webhook may accept an object only when nodes have their labels.
    early = step(a="configured", b="created", c="unchanged", e="rejected")
    late = step(**dict.fromkeys("abc", "unchanged"), d="pruned", e="configured")
    own: dict[str, Any] = {"group_names": ["h100"], "rdma_provision_result": {"steps": [early, late]}}
    assert said({"h100-01": own})[0] == "objects of the cluster: 1 created, 2 configured, 1 pruned, 1 unchanged"


def test_objects_of_all_strategies_together() -> None:
    actions = ("unchanged", "kept", "rejected", "pruned", "configured", "created")
    hostvars: dict[str, Any] = {name: {"group_names": ["h100"]} for name in ("h100-01", "h100-02")}
    # An object of an operator is in no set. Claims were planned once more.
    policy = [{"kind": "NicClusterPolicy", "namespace": "", "name": "p", "action": "unchanged"}]
    steps = [applied(*actions, name="driver"), {"title": "Apply the fields", "objects": policy}]
    hostvars["h100-02"]["rdma_provision_result"] = {"steps": steps}
    hostvars["h100-02"]["rdma_provision_claims"] = {"steps": [applied(*actions)]}
    # A host that failed has no results of later tasks.
    told = "objects of the cluster: 2 created, 2 configured, 2 pruned, 2 rejected, 2 kept, 3 unchanged"
    assert said(hostvars, ("h100-01",))[:2] == ["h100: 1 failed (h100-01)", told]


def test_a_run_in_which_all_hosts_failed() -> None:
    assert said(fleet(h100_01=None, h100_02=drift(links=True)), ("h100-01", "h100-02")) == [
        "h100: 2 failed (h100-[01-02])",
        "next: ansible-playbook -i /srv/inventory zerocopy.rdma.verify",
    ]


def test_nothing_to_say_is_silent() -> None:
    assert said(fleet(h100_01=None)) == []
