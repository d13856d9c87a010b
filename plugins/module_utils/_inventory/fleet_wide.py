# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Variables that have one value for the whole fleet.

What they control is done once for all hosts, so one of two different values would be ignored silently.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import PARENT_NAMESPACE, SET
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names as values_names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, shown, wrong

_NAMESPACE, _PULL_SECRETS = "_namespace", "_pull_secrets"
# An operator is in a cluster once.
_OPERATORS = "rdma_operator_"
# Of no strategy; those of a strategy are in its own room.
NAMES = (
    "rdma_artifacts",
    "rdma_cabling_expected",
    "rdma_cabling_fabric_files",
    "rdma_cabling_json",
    "rdma_cluster",
    "rdma_context",
    "rdma_gpu_resources",
    "rdma_health_directory",
    "rdma_health_metrics",
    "rdma_kubeconfig",
    "rdma_manifests",
    PARENT_NAMESPACE,
    "rdma_provision_kueue_topology",
    "rdma_provision_leaf_label",
    "rdma_serial",
    "rdma_verify_directory",
    "rdma_verify_image",
    "rdma_verify_metrics",
    "rdma_verify_namespace",
    "rdma_verify_pod_all_sizes",
    "rdma_verify_pod_nodes",
    "rdma_verify_pod_qps",
    "rdma_verify_pod_timeout",
    "rdma_verify_pull_secrets",
    "rdma_verify_tolerations",
    "rdma_verify_workloads",
)

Hosts = Sequence[Tuple[str, Mapping[str, Any]]]


def problems(hosts: Hosts, defaults: Mapping[str, Any], own: Sequence[str]) -> Iterator[Tuple[str, Problem]]:
    """What differs between hosts that must not, and names that cannot be.

    ``hosts`` have their variables in their types; ``defaults`` are for those that a host does not set. ``own`` are
    names of variables of strategies. Those that end with ``_namespace`` are namespaces.
    """
    names = (*own, *NAMES)
    given = {name for _host, values in hosts for name in values}
    operators = sorted(name for name in given if name.startswith(_OPERATORS))
    for name in (*names, *operators):
        if name in given:
            yield from different(name, hosts, defaults.get(name))
    for name in sorted(given.intersection(name for name in names if name.endswith(_NAMESPACE))):
        yield from _no_namespace(name, hosts)
    # No host has the first of these: a play says it for all of them.
    for name in (SET, *sorted(name for name in given if name.endswith(_PULL_SECRETS))):
        yield from _no_secret(name, hosts, defaults.get(name))


def different(name: str, hosts: Hosts, default: Any, of: str = "") -> Iterator[Tuple[str, Problem]]:
    """That these hosts have different values of a variable; ``of`` says whose hosts they are, by default all."""
    users: Dict[str, List[str]] = {}
    for host, values in hosts:
        value = values.get(name, default)
        users.setdefault("not set" if value is None else shown(value), []).append(host)
    if len(users) > 1:
        text = "; ".join(f"{value} on {fold(names)}" for value, names in users.items())
        for host, _values in hosts:
            yield host, Problem(name, f"is {text}: it must be the same on all hosts{of}")


def _no_namespace(name: str, hosts: Hosts) -> Iterator[Tuple[str, Problem]]:
    for host, values in hosts:
        if name in values and not values_names.is_label(values[name]):
            yield host, wrong(name, values[name], "it must be the name of a namespace, like kube-system")


def _no_secret(name: str, hosts: Hosts, default: Any) -> Iterator[Tuple[str, Problem]]:
    right = "it must be the name of a Secret, of lower-case letters, digits, - and ."
    for host, values in hosts:
        value = values.get(name, default) or []
        entries = (
            [(name, value)] if isinstance(value, str) else [(f"{name}[{i}]", entry) for i, entry in enumerate(value)]
        )
        for at, entry in entries:
            if not values_names.is_subdomain(entry):
                yield host, wrong(at, entry, right)
