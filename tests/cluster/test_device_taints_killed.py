# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""DeviceTaintRules of sick NICs while the API server is killed (SIGKILL; etcd goes on) between any two requests.

Each restart takes seconds, so it is killed before and after each request that writes. Those before the first of them
only read, and leave nothing behind. Needs Kubernetes 1.37 or newer (``ZEROCOPY_KUBERNETES``).
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Dict, List

import pytest
from control_plane import lifecycle
from urllib3.exceptions import ProtocolError

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.health_policy import Policy
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import cluster as taints
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import request
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.connection import connect
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import live_parent
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import DRANET
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.test_device_taints import SET, Nics, make_of_nodes

# A fixture that is defined elsewhere.
__all__ = ["make_of_nodes"]

# The parent twice, two rules that enter, one that leaves.
WRITES = 5
OTHERS = "others-health"
# What is not so once something was changed.
DENIED = re.compile("nothing was|could not be|rejected")
POLICY = Policy(effect="NoSchedule", confirm=1, budget="100%")


class Apiserver:
    """That of a control plane, which is killed and started again."""

    def __init__(self, plane: lifecycle.ControlPlane) -> None:
        self._name, self._command = plane.name, [""]
        # It answers some requests before it is ready.
        self._starting = threading.Lock()
        self.dead = threading.Event()

    def kill(self) -> None:
        """Kill it once it is ready."""
        with self._starting:
            self._command = lifecycle.kill_apiserver(self._name)
            self.dead.set()

    def start(self) -> None:
        """Start it in the thread with which it is to end."""
        with self._starting:
            if self.dead.is_set():
                lifecycle.start_apiserver(self._name, self._command)
                self.dead.clear()


class Killing:
    """A client's way to send, at some of whose requests that write the API server is killed.

    ``at`` are these by their number; what is sent again is no further one. Killed before the request, the server does
    not get it; else it carries the request out, and its answer is lost.
    """

    def __init__(self, apiserver: Apiserver, at: Sequence[int], answered: bool) -> None:
        self._send, self._apiserver, self._at, self._answered = Client._send, apiserver, at, answered
        self._lock, self._seen = threading.Lock(), set[object]()

    def method(self) -> Callable[..., Any]:
        """To stand in for the client's."""

        def send(client: Client, verb: str, path: str, query: Any, headers: Any, data: Any, **options: Any) -> Any:
            dry = "dryRun" in (query or {}) or b"dryRun" in (data or b"")
            if verb == "GET" or dry:
                return self._send(client, verb, path, query, headers, data, **options)
            # Of requests at the same time one is the last that is carried out.
            with self._lock:
                what = (verb, path, data)
                kill = what not in self._seen and len(self._seen) in self._at
                if kill and not self._answered:
                    self._seen.add(what)
                    self._apiserver.kill()
                answer = self._send(client, verb, path, query, headers, data, **options)
                self._seen.add(what)
                if kill:
                    self._apiserver.kill()
                    raise ProtocolError("Connection aborted.", ConnectionResetError("killed"))
                return answer

        return send


@pytest.fixture(name="apiserver")
def make_apiserver(control_plane: lifecycle.ControlPlane) -> Iterator[Apiserver]:
    if control_plane.audit is None:
        pytest.skip("kills the API server, so it needs one of its own")
    found = Apiserver(control_plane)
    yield found
    found.start()


@dataclass
class Shared:
    """A cluster with rules for ``n1`` (ours), for ``n2`` (another controller's, in a set of its own), and nobody's."""

    ours: Nics
    theirs: Nics
    cluster_set: ClusterSet

    def rules(self, of_set: str = SET) -> Dict[str, str]:
        """Devices and effects of our rules, or of another set's."""
        specs = [rule["spec"] for rule in self.ours.rules() if rule["metadata"]["name"].startswith(f"{of_set}-")]
        found = {spec["deviceSelector"]["device"]: spec["taint"]["effect"] for spec in specs}
        assert len(found) == len(specs)
        return found

    def of_others(self) -> List[Object]:
        """All rules that are not ours, and the parent of the other set, with their versions."""
        rules = [rule for rule in self.ours.rules() if not rule["metadata"]["name"].startswith(f"{SET}-")]
        return [*rules, self.cluster_set.get("secret", OTHERS)]

    def wanted(self, *numbers: int) -> Dict[str, str]:
        """The rules that there should be of these NICs of ours."""
        return {self.ours.devices["n1"][number].name: "NoSchedule" for number in numbers}

    def sick(self, *numbers: int) -> Nics:
        """What our controller sees next."""
        self.ours.sick.clear()
        self.ours.falls_sick("n1", *numbers)
        return self.ours

    def run(self, nics: Nics, client: Client) -> Object:
        """What the module does, which itself cannot be run by two threads."""

        def call(**options: Any) -> Object:
            full = {"name": SET, "namespace": self.cluster_set.namespace, "state": "present", **options}
            return taints.converge(client, taints.of_options(full, check=False, diff=False))

        return replace(nics, call=call)()


@pytest.fixture(name="shared")
def make_shared(
    make_nics: Callable[..., Nics], cluster_set: ClusterSet, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shared]:
    # What was killed left its mark on the parent, which nobody takes away.
    monkeypatch.setattr(live_parent, "_BUSY_SECONDS", 0.0)
    made = make_nics(["n1", "n2"])
    ours = replace(made, devices={"n1": made.devices["n1"]}, policy=POLICY)
    theirs = replace(made, devices={"n2": made.devices["n2"]}, policy=POLICY, sick={}, options={"name": OTHERS})
    theirs.falls_sick("n2", 0, 1)
    theirs()
    maintenance = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "maintenance"},
        "spec": {
            "deviceSelector": {"driver": DRANET, "pool": "n1", "device": made.devices["n1"][1].name},
            "taint": {"key": "example.com/work", "value": "", "effect": "None"},
        },
    }
    cluster_set.kubectl("create", "-f", "-", stdin=maintenance)
    yield Shared(ours, theirs, cluster_set)
    cluster_set.kubectl("delete", "devicetaintrule", "maintenance")
    theirs(state="absent")


@pytest.mark.parametrize("answered", [False, True], ids=["before the request", "before its answer"])
def test_the_next_run_completes_what_ended_with_the_api_server(
    shared: Shared, apiserver: Apiserver, monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    before = shared.of_others()
    assert len(before) == 2 + 1 + 1
    for number in range(WRITES):
        shared.sick(0)()
        old = shared.rules()
        assert old == shared.wanted(0)
        with monkeypatch.context() as patch:
            patch.setattr(request, "PATIENCE", 0.5)
            patch.setattr(Client, "_send", Killing(apiserver, [number], answered).method())
            said = str(shared.sick(1, 2)()["msg"])
        apiserver.start()
        now = shared.rules()
        assert now.items() <= {**old, **shared.wanted(1, 2)}.items()
        assert now == old or not DENIED.search(said)
        shared.ours()
        assert shared.rules() == shared.wanted(1, 2)
        assert shared.ours()["changed"] is False
        assert shared.of_others() == before


def test_two_controllers_at_once_go_on_when_it_is_back(
    shared: Shared, apiserver: Apiserver, control_plane: lifecycle.ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ours, the answers to all writes are lost; whatever the other one does at that moment ends with the server."""
    # A busy machine takes its time with each restart.
    monkeypatch.setattr(request, "PATIENCE", 300.0)
    shared.sick(0)()
    shared.sick(1, 2)
    shared.theirs.sick.clear()
    shared.theirs.falls_sick("n2", 2, 3)
    maintenance = shared.cluster_set.get("devicetaintrule", "maintenance")
    mine, other = (connect({"kubeconfig": str(control_plane.kubeconfig)}, os.environ) for _each in range(2))
    monkeypatch.setattr(mine, "_send", partial(Killing(apiserver, range(WRITES), answered=True).method(), mine))

    def beside() -> Object:
        assert apiserver.dead.wait(request.PATIENCE)
        return shared.run(shared.theirs, other)

    kills = 0
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(shared.run, shared.ours, mine), threads.submit(beside)]
        while not all(run.done() for run in runs):
            if apiserver.dead.wait(0.2):
                kills += 1
                apiserver.start()
    assert [run.result()["changed"] for run in runs] == [True, True]
    assert kills == WRITES
    assert shared.rules() == shared.wanted(1, 2)
    devices = [shared.theirs.devices["n2"][number].name for number in (2, 3)]
    assert shared.rules(OTHERS) == dict.fromkeys(devices, "NoSchedule")
    assert shared.cluster_set.get("devicetaintrule", "maintenance") == maintenance
    assert shared.ours()["changed"] is shared.theirs()["changed"] is False
