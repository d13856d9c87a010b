# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Variables that have one value for the whole fleet.

What they decide is done once, so of two values that of one host would count without a word.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names as values_names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, shown, wrong

# Name and namespace of the parent of each set of objects.
_SETS = (
    ("rdma_driver_set", "rdma_driver_parent_namespace"),
    ("rdma_claims_set", "rdma_claims_parent_namespace"),
    ("rdma_shared_device_set", "rdma_shared_device_parent_namespace"),
    ("rdma_host_device_set", "rdma_host_device_parent_namespace"),
)
_NAMESPACES = (
    "rdma_driver_namespace",
    "rdma_host_device_namespace",
    "rdma_shared_device_namespace",
    "rdma_verify_namespace",
    *(namespace for _name, namespace in _SETS),
)
# An operator is in a cluster once.
_OPERATORS = "rdma_operator_"
_PULL_SECRETS = "_pull_secrets"
_GPU_DEPLOY = "rdma_driver_gpu_deploy"
NAMES = (
    *(name for both in _SETS for name in both),
    _GPU_DEPLOY,
    "rdma_claims_cluster",
    "rdma_claims_manifests",
    "rdma_claims_wait_timeout",
    "rdma_cluster",
    "rdma_context",
    "rdma_driver_cluster",
    "rdma_driver_manifests",
    "rdma_driver_namespace",
    "rdma_host_device_cluster",
    "rdma_host_device_cni_bin",
    "rdma_host_device_cni_config",
    "rdma_host_device_manifests",
    "rdma_host_device_max_unavailable",
    "rdma_host_device_multus_archive",
    "rdma_host_device_multus_deploy",
    "rdma_host_device_multus_digest",
    "rdma_host_device_multus_image",
    "rdma_host_device_multus_version",
    "rdma_host_device_namespace",
    "rdma_host_device_pull_secrets",
    "rdma_host_device_whereabouts_archive",
    "rdma_host_device_whereabouts_deploy",
    "rdma_host_device_whereabouts_digest",
    "rdma_host_device_whereabouts_image",
    "rdma_host_device_whereabouts_version",
    "rdma_inject_cluster",
    "rdma_inject_manifests",
    "rdma_kubeconfig",
    "rdma_manifests",
    "rdma_serial",
    "rdma_shared_device_cluster",
    "rdma_shared_device_manifests",
    "rdma_shared_device_namespace",
    "rdma_verify_cluster",
    "rdma_verify_directory",
    "rdma_verify_image",
    "rdma_verify_namespace",
    "rdma_verify_pod_nodes",
    "rdma_verify_pod_timeout",
    "rdma_verify_pull_secrets",
    "rdma_verify_tolerations",
    "rdma_verify_whole_fleet",
    "rdma_verify_workloads",
)
# Of the NVIDIA DRA driver, where the collection deploys it.
_OF_THE_GPU_DRIVER = (
    "rdma_driver_gpu_chart",
    "rdma_driver_gpu_root",
    "rdma_driver_gpu_values",
    "rdma_driver_gpu_version",
    "rdma_driver_kubelet_root",
)

Hosts = Sequence[Tuple[str, Mapping[str, Any]]]


def problems(hosts: Hosts, defaults: Mapping[str, Any]) -> Iterator[Tuple[str, Problem]]:
    """What differs between hosts that must not, names that cannot be, and sets of objects that would be one.

    ``hosts`` have their variables in their types; ``defaults`` are for those that a host does not set.
    """
    deployed = any(values.get(_GPU_DEPLOY) for _host, values in hosts)
    given = {name for _host, values in hosts for name in values}
    operators = sorted(name for name in given if name.startswith(_OPERATORS))
    for name in (*NAMES, *operators, *(_OF_THE_GPU_DRIVER if deployed else ())):
        if name in given:
            yield from _different(name, hosts, defaults.get(name))
    for name in sorted(given.intersection(_NAMESPACES)):
        yield from _no_namespace(name, hosts)
    for name in sorted(given.intersection(name for name, _namespace in _SETS)):
        yield from _no_secret(name, hosts)
    for name in sorted(name for name in given if name.endswith(_PULL_SECRETS)):
        yield from _no_secret(name, hosts)
    if given.intersection(name for both in _SETS for name in both):
        yield from _one_set(hosts, defaults)


def _different(name: str, hosts: Hosts, default: Any) -> Iterator[Tuple[str, Problem]]:
    users: Dict[str, List[str]] = {}
    for host, values in hosts:
        value = values.get(name, default)
        users.setdefault("not set" if value is None else shown(value), []).append(host)
    if len(users) > 1:
        text = "; ".join(f"{value} on {fold(names)}" for value, names in users.items())
        for host, _values in hosts:
            yield host, Problem(name, f"is {text}: it must be the same on all hosts")


def _no_namespace(name: str, hosts: Hosts) -> Iterator[Tuple[str, Problem]]:
    for host, values in hosts:
        if name in values and not values_names.is_label(values[name]):
            yield host, wrong(name, values[name], "it must be the name of a namespace, like kube-system")


def _no_secret(name: str, hosts: Hosts) -> Iterator[Tuple[str, Problem]]:
    right = "it must be the name of a Secret, of lower-case letters, digits, - and ."
    for host, values in hosts:
        value = values.get(name, [])
        entries = [(name, value)] if isinstance(value, str) else [(f"{name}[{i}]", one) for i, one in enumerate(value)]
        for at, one in entries:
            if not values_names.is_subdomain(one):
                yield host, wrong(at, one, right)


def _one_set(hosts: Hosts, defaults: Mapping[str, Any]) -> Iterator[Tuple[str, Problem]]:
    for host, values in hosts:
        own = {**defaults, **values}
        first: Dict[Tuple[Any, ...], str] = {}
        for both in _SETS:
            place = tuple(own.get(name) for name in both)
            other = first.setdefault(place, both[0])
            # A plan that is only of one role knows nothing of the defaults of others.
            if other != both[0] and place[0] is not None:
                right = (
                    f"and so is {other}, both in namespace {place[1]}: each step would delete the objects of the "
                    f"other, so the names must differ"
                )
                yield host, wrong(both[0], place[0], right)
