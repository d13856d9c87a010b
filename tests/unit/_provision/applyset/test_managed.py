# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Real managedFields and what a second run makes of them; tests/cluster has the proof with an API server."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.managed import unchanged

FIXTURES = Path(__file__).parents[2] / "fixtures" / "cluster"
Change = Callable[[Dict[str, Any]], Any]


def recorded(name: str) -> Any:
    """What was applied (``wanted``) and what the API server made of it (``live``)."""
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def daemon_set() -> Any:
    return recorded("daemonset")


def pod(item: Dict[str, Any]) -> Any:
    return item["spec"]["template"]["spec"]


def test_the_same_is_unchanged(daemon_set: Any) -> None:
    assert unchanged(daemon_set["live"], daemon_set["wanted"], "zerocopy.rdma", fixed=False)


CHANGES: Dict[str, Change] = {
    "another value": lambda wanted: pod(wanted)["containers"][0].update(image="other:v2"),
    "a field more": lambda wanted: pod(wanted).update(priorityClassName="system-node-critical"),
    "a field less": lambda wanted: pod(wanted).pop("hostNetwork"),
    "a label more": lambda wanted: wanted["metadata"]["labels"].update(new="label"),
    "a label less": lambda wanted: wanted["metadata"]["labels"].pop("app"),
    "a container more": lambda wanted: pod(wanted)["containers"].append({"name": "second", "image": "second:v1"}),
    "a container less": lambda wanted: pod(wanted)["containers"].pop(),
    "another name of a container": lambda wanted: pod(wanted)["containers"][0].update(name="renamed"),
    "another order of containers": lambda wanted: pod(wanted)["containers"].reverse(),
    "an item of an atomic list": lambda wanted: pod(wanted)["tolerations"].append({"key": "gpu", "operator": "Exists"}),
    "true instead of 1": lambda wanted: pod(wanted).update(hostNetwork=1),
    "a port more": lambda wanted: pod(wanted)["containers"][0]["ports"].append({"containerPort": 9999}),
    "another apiVersion": lambda wanted: wanted.update(apiVersion="apps/v2"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_every_change_of_what_is_wanted_is_noticed(daemon_set: Any, change: Change) -> None:
    wanted = copy.deepcopy(daemon_set["wanted"])
    change(wanted)
    assert not unchanged(daemon_set["live"], wanted, "zerocopy.rdma", fixed=False)


DRIFTS: Dict[str, Change] = {
    "another value": lambda live: pod(live)["containers"][0].update(image="other:v2"),
    "a container is gone": lambda live: pod(live)["containers"].pop(),
    "a toleration was added": lambda live: pod(live)["tolerations"].append({"operator": "Exists"}),
    "nothing of ours is known": lambda live: live["metadata"].update(managedFields=[]),
    "nothing is known": lambda live: live["metadata"].pop("managedFields"),
}


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS.keys())
def test_every_drift_in_the_cluster_is_noticed(daemon_set: Any, drift: Change) -> None:
    live = copy.deepcopy(daemon_set["live"])
    drift(live)
    assert not unchanged(live, daemon_set["wanted"], "zerocopy.rdma", fixed=False)


def test_what_others_did_does_not_matter(daemon_set: Any) -> None:
    live = daemon_set["live"]
    live["metadata"]["labels"]["somebody"] = "else"
    live["status"] = {"numberReady": 3}
    assert unchanged(live, daemon_set["wanted"], "zerocopy.rdma", fixed=False)
    assert not unchanged(live, daemon_set["wanted"], "another manager", fixed=False)


def test_the_spec_of_an_object_that_is_named_after_it_is_not_compared() -> None:
    claim = recorded("resourceclaim")
    # The API server filled allocationMode and count into a list that it treats as one value.
    assert not unchanged(claim["live"], claim["wanted"], "zerocopy.rdma", fixed=False)
    assert unchanged(claim["live"], claim["wanted"], "zerocopy.rdma", fixed=True)
    claim["wanted"]["metadata"]["labels"]["new"] = "label"
    assert not unchanged(claim["live"], claim["wanted"], "zerocopy.rdma", fixed=True)


def test_values_of_a_set() -> None:
    def live(*values: str) -> Dict[str, Any]:
        fields: Dict[str, Any] = {"f:metadata": {"f:finalizers": {".": {}, 'v:"a/x"': {}, 'v:"b/y"': {}}}}
        entry = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}
        return {"metadata": {"finalizers": list(values), "managedFields": [entry]}}

    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n", "finalizers": ["a/x", "b/y"]}}
    assert unchanged(live("a/x", "other/z", "b/y"), wanted, "m", fixed=False)
    assert not unchanged(live("b/y", "a/x"), wanted, "m", fixed=False)
    assert not unchanged(live("a/x"), wanted, "m", fixed=False)
    wanted["metadata"]["finalizers"] = ["a/x"]  # type: ignore[index]  # its values are of any kind
    assert not unchanged(live("a/x", "b/y"), wanted, "m", fixed=False)
