# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A real control plane for the tests of this directory; see tests/lab/control_plane."""

from __future__ import annotations

import inspect
import os
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
from kubernetes import config, dynamic

_CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_CHECKOUT / "build" / "collections"), str(_CHECKOUT / "tests" / "lab")]

from control_plane import lifecycle, programs

from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import make_fleet
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import make_cluster_set
from ansible_collections.zerocopy.rdma.tests.cluster.provision import make_nodes, make_playbook
from ansible_collections.zerocopy.rdma.tests.unit.conftest import facts_of, root_of, run_module

# Fixtures that are defined elsewhere.
__all__ = ["facts_of", "make_cluster_set", "make_fleet", "make_nodes", "make_playbook", "root_of", "run_module"]


def pytest_collection_modifyitems(items: List[pytest.Function]) -> None:
    """First the tests that start further control planes: one worker has them all then, and the others none."""
    items.sort(key=lambda item: not _starts_planes(item))


def _starts_planes(item: pytest.Function) -> bool:
    return "start_control_plane" in inspect.signature(item.function).parameters


# Those that run, by the version of resource.k8s.io that they serve.
_RUNNING: Dict[str, lifecycle.ControlPlane] = {}


@pytest.fixture(scope="session")
def start_control_plane() -> Iterator[Callable[[str], lifecycle.ControlPlane]]:
    """Returns the control plane that serves this version of resource.k8s.io (``off``: none); all stop at the end.

    It has the Kubernetes of ``ZEROCOPY_KUBERNETES``, or else the committed one.
    """

    def start(api: str) -> lifecycle.ControlPlane:
        if api not in _RUNNING:
            _RUNNING[api] = lifecycle.up(f"pytest-{os.getpid()}-{api}", api=api, audit=True, tied=True)
        return _RUNNING[api]

    yield start
    _stop_planes(*_RUNNING)


@pytest.fixture(autouse=True)
def _no_idle_control_plane(request: pytest.FixtureRequest) -> None:
    """Stop those that only the first tests ask for: one that does nothing takes a twentieth of a processor."""
    if not _starts_planes(request.node):
        _stop_planes(*(set(_RUNNING) - {"v1"}))


def _stop_planes(*apis: str) -> None:
    for api in apis:
        lifecycle.down(_RUNNING.pop(api).name)


@pytest.fixture(scope="session")
def control_plane(start_control_plane: Callable[[str], lifecycle.ControlPlane]) -> lifecycle.ControlPlane:
    """The cluster of ``ZEROCOPY_KUBECONFIG``, which has no audit log, or else a control plane with all there is."""
    existing = os.environ.get("ZEROCOPY_KUBECONFIG")
    if not existing:
        return start_control_plane("v1")
    kubectl = Path(shutil.which("kubectl") or programs.build()["kubectl"])
    return lifecycle.ControlPlane("existing", Path(existing), kubectl, None)


@pytest.fixture(scope="session")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], dynamic.DynamicClient]:
    """Makes a client from a kubeconfig."""

    def new(kubeconfig: Path) -> dynamic.DynamicClient:
        # By default clients share what they discovered by host and port, which were another server's an hour ago.
        cache = tmp_path_factory.mktemp("discovery") / "cache.json"
        return dynamic.DynamicClient(config.new_client_from_config(str(kubeconfig)), cache_file=str(cache))

    return new


@pytest.fixture(scope="session")
def cluster(
    control_plane: lifecycle.ControlPlane, connect: Callable[[Path], dynamic.DynamicClient]
) -> dynamic.DynamicClient:
    """A client of the control plane."""
    return connect(control_plane.kubeconfig)


@pytest.fixture
def namespace(cluster: dynamic.DynamicClient) -> Iterator[str]:
    """Name of a namespace that a pod can be made in."""
    namespaces = cluster.resources.get(api_version="v1", kind="Namespace")
    made: Any = namespaces.create(body={"metadata": {"generateName": "test-"}}).metadata.name
    accounts = cluster.resources.get(api_version="v1", kind="ServiceAccount")
    # Without it no pod is admitted.
    for event in accounts.watch(namespace=made, name="default", timeout=60):
        if event["type"] == "ADDED":
            break
    yield made
    # No kubelet says that they have ended.
    pods = cluster.resources.get(api_version="v1", kind="Pod")
    pods.delete(namespace=made, field_selector=f"metadata.namespace={made}", body={"gracePeriodSeconds": 0})
    namespaces.delete(name=made)


@pytest.fixture
def create() -> Iterator[Callable[..., Any]]:
    """Creates an object by means of a client and returns it; what is not in a namespace is removed at the end."""
    with ExitStack() as until_the_end:

        def new(client: dynamic.DynamicClient, kind: str, body: Dict[str, Any], namespace: str = "") -> Any:
            api = "resource.k8s.io/v1" if kind.startswith(("Resource", "Device")) else "v1"
            resource = client.resources.get(api_version=api, kind=kind)
            made = resource.create(body=body, namespace=namespace or None)
            if not namespace:
                until_the_end.callback(resource.delete, name=made.metadata.name)
            return made

        yield new
