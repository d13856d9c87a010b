# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The control plane that the other tests rely on."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
from control_plane import lifecycle
from control_plane.paths import HERE, STATE
from kubernetes import dynamic
from kubernetes.dynamic.exceptions import ForbiddenError, UnprocessibleEntityError

Start = Callable[[str], lifecycle.ControlPlane]
Connect = Callable[[Path], dynamic.DynamicClient]
Create = Callable[..., Any]
DRIVER = "test.example.org"
COMMAND = [sys.executable, str(HERE)]


def node(name: str) -> Dict[str, Any]:
    """A node that is an object only, ready and with room for pods."""
    room = {"cpu": "8", "memory": "64Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": name}, "status": status}


def resource_slice(node_name: str, devices: List[str]) -> Dict[str, Any]:
    pool = {"name": node_name, "generation": 1, "resourceSliceCount": 1}
    named = [{"name": name, "attributes": {"rdma": {"bool": True}}} for name in devices]
    spec = {"driver": DRIVER, "nodeName": node_name, "pool": pool, "devices": named}
    return {"metadata": {"name": f"{node_name}-{DRIVER}"}, "spec": spec}


def pod(name: str, **spec: Any) -> Dict[str, Any]:
    container = {"name": "main", "image": "example.org/none:v1"}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def until(cluster: dynamic.DynamicClient, kind: str, name: str, namespace: str, met: Callable[[Any], bool]) -> Any:
    """The object, once it is as wanted."""
    version = "resource.k8s.io/v1" if kind.startswith("Resource") else "v1"
    resource = cluster.resources.get(api_version=version, kind=kind)
    for event in resource.watch(namespace=namespace, field_selector=f"metadata.name={name}", timeout=60):
        if met(event["object"]):
            return event["object"]
    raise AssertionError(resource.get(name=name, namespace=namespace).to_dict())


def processes(directory: Path) -> Dict[int, str]:
    """Whatever names a file of the directory in its arguments: process id and program."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_text().split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if any(f"{directory}/" in text for text in arguments):
            found[int(entry.name)] = os.path.basename(arguments[0])
    return found


PROGRAMS = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]


def test_the_scheduler_allocates_what_a_pod_claims(
    cluster: dynamic.DynamicClient, namespace: str, create: Create
) -> None:
    create(cluster, "Node", node(f"{namespace}-n1"))
    create(cluster, "Node", node(f"{namespace}-n2"))
    create(cluster, "ResourceSlice", resource_slice(f"{namespace}-n2", ["nic0", "nic1"]))
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].rdma'}}
    create(cluster, "DeviceClass", {"metadata": {"name": namespace}, "spec": {"selectors": [selector]}})
    request = {"name": "nic", "exactly": {"deviceClassName": namespace, "count": 2}}
    spec = {"devices": {"requests": [request]}}
    create(cluster, "ResourceClaimTemplate", {"metadata": {"name": "two"}, "spec": {"spec": spec}}, namespace)
    # By template, so that the controllers have to do their part.
    claims = [{"name": "nics", "resourceClaimTemplateName": "two"}]
    create(cluster, "Pod", pod("first", resourceClaims=claims), namespace)
    placed = until(cluster, "Pod", "first", namespace, lambda found: found.spec.nodeName)
    assert placed.spec.nodeName == f"{namespace}-n2"
    claim = placed.status.resourceClaimStatuses[0].resourceClaimName
    allocated = until(cluster, "ResourceClaim", claim, namespace, lambda found: found.status.allocation)
    results = [(result.pool, result.device) for result in allocated.status.allocation.devices.results]
    assert sorted(results) == [(f"{namespace}-n2", "nic0"), (f"{namespace}-n2", "nic1")]
    # Both are taken: the next pod has to wait, and the scheduler says why.
    create(cluster, "Pod", pod("second", resourceClaims=claims), namespace)
    waiting = until(cluster, "Pod", "second", namespace, lambda found: found.status.conditions)
    assert "cannot allocate all claims" in waiting.status.conditions[0].message


def test_broken_cel_is_refused_at_once(cluster: dynamic.DynamicClient, create: Create) -> None:
    wrong = {"metadata": {"name": "wrong"}, "spec": {"selectors": [{"cel": {"expression": "device.driver =="}}]}}
    with pytest.raises(UnprocessibleEntityError, match="Syntax error"):
        create(cluster, "DeviceClass", wrong)


def test_a_node_may_change_its_own_objects_only(start_control_plane: Start, connect: Connect, create: Create) -> None:
    plane = start_control_plane("v1")
    admin = connect(plane.kubeconfig)
    create(admin, "Node", node("mine"))
    create(admin, "Node", node("other"))
    mine = connect(lifecycle.kubeconfig_of(plane.name, "system:node:mine", ["system:nodes"]))
    create(mine, "ResourceSlice", resource_slice("mine", ["nic0"]))
    with pytest.raises(ForbiddenError):
        create(mine, "ResourceSlice", resource_slice("other", ["nic0"]))
    # The role of nodes allows it, NodeRestriction does not.
    nodes = mine.resources.get(api_version="v1", kind="Node")
    label = {"metadata": {"labels": {"zone": "a"}}}
    nodes.patch(name="mine", body=label, content_type="application/merge-patch+json")
    with pytest.raises(ForbiddenError, match="is not allowed to modify node"):
        nodes.patch(name="other", body=label, content_type="application/merge-patch+json")
    nobody = connect(lifecycle.kubeconfig_of(plane.name, "nobody", []))
    with pytest.raises(ForbiddenError):
        create(nobody, "Namespace", {"metadata": {"name": "theirs"}})


def test_the_audit_log_has_what_a_client_asked(start_control_plane: Start, connect: Connect, create: Create) -> None:
    plane = start_control_plane("v1")
    assert plane.audit is not None
    admin = connect(plane.kubeconfig)
    create(admin, "ConfigMap", {"metadata": {"name": "audited"}}, "default")
    # Written before the answer has ended, so the second request finds the first one there.
    admin.resources.get(api_version="v1", kind="ConfigMap").get(name="audited", namespace="default")
    events = [json.loads(line) for line in plane.audit.read_text().splitlines()]
    mine = [event for event in events if event["requestURI"].startswith("/api/v1/namespaces/default/configmaps")]
    assert [event["verb"] for event in mine][:1] == ["create"]
    assert {event["user"]["username"] for event in mine} == {"lab-admin"}
    assert not [event for event in events if event["user"]["username"].startswith("system:kube-")]


@pytest.mark.parametrize("api", ["v1", "v1beta2", "v1beta1", "off"])
def test_one_version_of_dra_is_served(start_control_plane: Start, connect: Connect, create: Create, api: str) -> None:
    plane = start_control_plane(api)
    argv = [str(plane.kubectl), "--kubeconfig", str(plane.kubeconfig)]
    versions = subprocess.run([*argv, "api-versions"], stdout=subprocess.PIPE, text=True, check=True).stdout
    served = [line for line in versions.split() if line.startswith("resource.k8s.io/")]
    assert served == ([] if api == "off" else [f"resource.k8s.io/{api}"])
    # Pods without claims are placed all the same.
    admin = connect(plane.kubeconfig)
    create(admin, "Node", node("plain"))
    create(admin, "Namespace", {"metadata": {"name": "plain"}})
    until(admin, "ServiceAccount", "default", "plain", bool)
    create(admin, "Pod", pod("plain"), "plain")
    assert until(admin, "Pod", "plain", "plain", lambda found: found.spec.nodeName)


@pytest.fixture
def name() -> Iterator[str]:
    chosen = f"pytest-{os.getpid()}-command"
    yield chosen
    lifecycle.down(chosen)


def test_down_leaves_no_process(name: str) -> None:
    up = subprocess.run([*COMMAND, "up", "--name", name], stdout=subprocess.PIPE, text=True, check=True)
    assert Path(up.stdout.strip()) == STATE / name / "kubeconfig"
    assert sorted(processes(STATE / name).values()) == PROGRAMS
    again = subprocess.run([*COMMAND, "up", "--name", name], stderr=subprocess.PIPE, text=True, check=False)
    assert (again.returncode, "runs already" in again.stderr) == (1, True)
    subprocess.run([*COMMAND, "down", "--name", name], check=True)
    assert (processes(STATE / name), (STATE / name).exists()) == ({}, False)


def started() -> Tuple[subprocess.Popen[str], Path]:
    """The command `run`, once the program it is to run has started, and the directory of its control plane."""
    script = 'echo "$KUBECONFIG"; exec sleep 600'
    running = subprocess.Popen([*COMMAND, "run", "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    return running, Path(running.stdout.readline().strip()).parent


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_survives_a_killed_run(number: signal.Signals) -> None:
    running, directory = started()
    try:
        found = processes(directory)
        assert sorted(found.values()) == PROGRAMS
        handles = [os.pidfd_open(pid) for pid in found]
        running.send_signal(number)
        for handle in handles:
            assert select.select([handle], [], [], 60)[0]
            os.close(handle)
        running.wait()
        assert processes(directory) == {}
    finally:
        lifecycle.down(directory.name)


def test_run_hands_back_what_the_command_says() -> None:
    script = "kubectl get --raw /readyz && exit 7"
    done = subprocess.run([*COMMAND, "run", "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True, check=False)
    assert (done.stdout, done.returncode) == ("ok", 7)
