# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""States as kubernetes/api documents them; the waiting itself is proven in tests/cluster."""

from __future__ import annotations

from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.wait import State, pod_trouble, state

READY = State(True, "ready")


def live(status: Dict[str, Any], generation: int = 2, **spec: Any) -> Dict[str, Any]:
    return {"metadata": {"generation": generation}, "spec": spec, "status": status}


def true(name: str) -> Dict[str, Any]:
    return {"type": name, "status": "True"}


DAEMON_SET = GroupKind("apps", "DaemonSet")
DEPLOYMENT = GroupKind("apps", "Deployment")
STATEFUL_SET = GroupKind("apps", "StatefulSet")
JOB = GroupKind("batch", "Job")
POD = GroupKind("", "Pod")
NAMESPACE = GroupKind("", "Namespace")
DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
SERVICE = GroupKind("apiregistration.k8s.io", "APIService")
POLICY = GroupKind("mellanox.com", "NicClusterPolicy")
UNSEEN = State(False, "its controller has not seen the change yet")


@pytest.mark.parametrize(
    ("kind", "item", "expected"),
    [
        (DAEMON_SET, live({}), UNSEEN),
        (DAEMON_SET, live({"observedGeneration": 1, "desiredNumberScheduled": 0}), UNSEEN),
        (DAEMON_SET, live({"observedGeneration": 2, "desiredNumberScheduled": 0}), READY),
        (
            DAEMON_SET,
            live(
                {
                    "observedGeneration": 2,
                    "desiredNumberScheduled": 6,
                    "updatedNumberScheduled": 4,
                    "numberAvailable": 6,
                }
            ),
            State(False, "4 of 6 pods updated"),
        ),
        (
            DAEMON_SET,
            live(
                {
                    "observedGeneration": 2,
                    "desiredNumberScheduled": 6,
                    "updatedNumberScheduled": 6,
                    "numberAvailable": 5,
                }
            ),
            State(False, "5 of 6 pods available"),
        ),
        (
            DAEMON_SET,
            live({"observedGeneration": 2, "desiredNumberScheduled": 6}, updateStrategy={"type": "OnDelete"}),
            READY,
        ),
        (DEPLOYMENT, live({"observedGeneration": 2, "updatedReplicas": 1, "availableReplicas": 1}), READY),
        (DEPLOYMENT, live({"observedGeneration": 2}, replicas=0), READY),
        (
            DEPLOYMENT,
            live({"observedGeneration": 2, "updatedReplicas": 2}, replicas=2),
            State(False, "0 of 2 pods available"),
        ),
        (
            DEPLOYMENT,
            live(
                {
                    "observedGeneration": 2,
                    "conditions": [
                        {"type": "Progressing", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
                    ],
                }
            ),
            State(False, "timed out", failed=True),
        ),
        (
            STATEFUL_SET,
            live({"observedGeneration": 2, "updatedReplicas": 1}, replicas=3),
            State(False, "1 of 3 pods updated"),
        ),
        (JOB, live({"succeeded": 1}), State(False, "1 pods succeeded, 0 failed")),
        (JOB, live({"conditions": [true("Complete")]}), READY),
        (
            JOB,
            live({"conditions": [{**true("Failed"), "message": "backoff"}]}),
            State(False, "backoff", failed=True),
        ),
        (POD, live({"phase": "Running", "conditions": [true("Ready")]}), READY),
        (POD, live({"phase": "Succeeded"}), READY),
        (POD, live({"phase": "Failed", "message": "evicted"}), State(False, "evicted", failed=True)),
        (
            POD,
            live({"phase": "Pending", "conditions": [{"type": "PodScheduled", "message": "0/3 nodes are available"}]}),
            State(False, "0/3 nodes are available"),
        ),
        (NAMESPACE, live({"phase": "Active"}), State(True, "Active")),
        (NAMESPACE, live({"phase": "Terminating"}), State(False, "Terminating")),
        (DEFINITION, live({}), State(False, "not established yet")),
        (
            DEFINITION,
            live({"conditions": [true("NamesAccepted"), true("Established")]}),
            State(True, "not established yet"),
        ),
        (
            DEFINITION,
            live({"conditions": [{"type": "NamesAccepted", "status": "False", "message": "taken"}]}),
            State(False, "taken", failed=True),
        ),
        (
            SERVICE,
            live({"conditions": [{"type": "Available", "status": "False", "message": "no endpoints"}]}),
            State(False, "no endpoints"),
        ),
        (POLICY, live({}), READY),
        (POLICY, live({"observedGeneration": 1}), UNSEEN),
        (
            POLICY,
            live({"conditions": [{"type": "Ready", "status": "False", "reason": "Rolling"}]}),
            State(False, "Rolling"),
        ),
        (GroupKind("", "ConfigMap"), {"metadata": {}}, READY),
    ],
)
def test_state(kind: GroupKind, item: Dict[str, Any], expected: State) -> None:
    assert state(kind, item) == expected


def waiting(reason: str) -> Dict[str, Any]:
    return {"name": "driver", "state": {"waiting": {"reason": reason, "message": "it is so"}}}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, ""),
        ({"containerStatuses": [waiting("ContainerCreating")]}, ""),
        ({"containerStatuses": [{"name": "a", "state": {"running": {}}}]}, ""),
        (
            {"containerStatuses": [{"name": "a", "state": {}}, waiting("ImagePullBackOff")]},
            "on h100-3, container driver: ImagePullBackOff: it is so",
        ),
        (
            {"initContainerStatuses": [waiting("CrashLoopBackOff")], "containerStatuses": [waiting("PodInitializing")]},
            "on h100-3, container driver: CrashLoopBackOff: it is so",
        ),
        ({"conditions": [{"type": "PodScheduled", "status": "False", "message": "no node"}]}, "no node"),
        ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, ""),
    ],
)
def test_what_a_pod_suffers_from(status: Dict[str, Any], expected: str) -> None:
    assert pod_trouble({"spec": {"nodeName": "h100-3"}, "status": status}) == expected
