# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What variables of playbooks, of discover, and of the kernel's and the runtime's role may be, beyond their types."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterator, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import configuration as exporter
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.reasons import PASSING
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import (
    directory,
    duration,
    integer,
    kernel_module,
    memlock,
    names,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, refused, shown, wrong

EXPORTER_DIRECTORY, EXPORTER_LISTEN = "rdma_exporter_directory", "rdma_exporter_listen"
LEAF_LABEL, TOPOLOGY = "rdma_provision_leaf_label", "rdma_provision_kueue_topology"
NETNS_MODE = "rdma_kernel_netns_mode"
MODULES, OPTIONS, BLACKLIST = "rdma_kernel_modules", "rdma_kernel_options", "rdma_kernel_blacklist"
_RULES: Mapping[str, Callable[[Any], Any]] = {
    "rdma_discover_expect_gpus": integer.between(0, 1024),
    "rdma_discover_expect_rate_gbps": integer.between(0, 100_000, " Gb/s"),
    "rdma_runtime_nri_request_timeout": duration.of_nri,
    "rdma_links_rollback_seconds": duration.rollback_seconds,
    "rdma_exporter_interval": integer.between(exporter.SHORTEST, exporter.LONGEST, " seconds"),
}


def _module_names(variable: str, given: List[str]) -> Iterator[Problem]:
    for position, name in enumerate(given):
        if not kernel_module.is_name(name):
            right = "it must be the name of a kernel module, as lsmod shows it, one per entry"
            yield wrong(f"{variable}[{position}]", name, right)


def _options(options: Mapping[str, Any]) -> Iterator[Problem]:
    for module, parameters in options.items():
        if not kernel_module.is_name(str(module)):
            yield Problem(OPTIONS, f"has the key {module!r}, it must be the name of a kernel module")
        elif not isinstance(parameters, Mapping):
            right = "it must be a map of the module's parameters to their values"
            yield wrong(f"{OPTIONS}.{module}", parameters, right)
        else:
            for name, value in parameters.items():
                if not kernel_module.is_parameter(str(name)):
                    yield Problem(f"{OPTIONS}.{module}", f"has the key {name!r}, it must be a parameter of the module")
                elif not isinstance(value, (str, int, float)) or not kernel_module.is_parameter_value(str(value)):
                    right = "it must be a number or text without quotes, # and line breaks (an array is '1,2')"
                    yield wrong(f"{OPTIONS}.{module}.{name}", value, right)


def _contradictions(options: Mapping[str, Any], netns_mode: Any) -> Iterator[Problem]:
    known: Dict[str, Any] = {}
    for module, parameters in options.items():
        for name, value in parameters.items() if isinstance(parameters, Mapping) else ():
            variable = f"{OPTIONS}.{module}.{name}"
            key = kernel_module.canonical(f"{module}.{name}")
            other = known.setdefault(key, value)
            if str(other) != str(value):
                yield wrong(variable, value, f"but {key} is also {shown(other)}: leave one of them out")
            if key == "ib_core.netns_mode" and netns_mode is not None:
                yield wrong(variable, value, f"but {NETNS_MODE} is set as well: leave it out")


def of_kernel(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a host's converted ``rdma_kernel_*`` variables."""
    modules, blacklist = values.get(MODULES) or [], values.get(BLACKLIST) or []
    yield from _module_names(MODULES, modules)
    yield from _module_names(BLACKLIST, blacklist)
    for name in blacklist:
        if kernel_module.canonical(name) in map(kernel_module.canonical, modules):
            yield Problem(BLACKLIST, f"has {name}, which {MODULES} loads: remove it from one of them")
    options = values.get(OPTIONS) or {}
    yield from _options(options)
    yield from _contradictions(options, values.get(NETNS_MODE))


def _memlock(values: Mapping[str, Any], variable: str, unit: int) -> Iterator[Problem]:
    value = str(values.get(variable, ""))
    if value:
        yield from refused(variable, value, lambda text: memlock.limit(text, unit), more=", or '' for no change")


def of_rules(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a host's converted variables that have a rule each, and with limits of locked memory."""
    yield from _memlock(values, "rdma_runtime_memlock", 1)
    yield from _memlock(values, "rdma_kernel_user_memlock", 1024)
    for variable, rule in _RULES.items():
        value = values.get(variable)
        if value is not None:
            yield from refused(variable, value, rule)


def of_exporter(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a host's converted ``rdma_exporter_*`` variables."""
    written, address = values.get(EXPORTER_DIRECTORY) or "", values.get(EXPORTER_LISTEN) or ""
    if written:
        yield from refused(EXPORTER_DIRECTORY, written, directory.below_root)
    if address:
        try:
            exporter.address(address)
        except exporter.ConfigurationError:
            yield wrong(EXPORTER_LISTEN, address, f"it must be {exporter.ADDRESS}")
    if values.get("rdma_exporter_enabled") and bool(written) == bool(address):
        if written:
            yield wrong(EXPORTER_LISTEN, address, f"but {EXPORTER_DIRECTORY} is set as well: leave one of them out")
        else:
            right = "to the directory of node_exporter's textfile collector, or set " + EXPORTER_LISTEN
            yield Problem(EXPORTER_DIRECTORY, f"is not set, but rdma_exporter_enabled is true: set it {right}")


def of_facts(values: Mapping[str, Any], facts: Facts) -> Iterator[Problem]:
    """What does not go with what the node has."""
    blacklist = {kernel_module.canonical(name): name for name in values.get(BLACKLIST) or []}
    excluded = {
        (entry.hca, entry.port)
        for entry in facts.excluded
        if any(reason.code not in PASSING for reason in entry.reasons)
    }
    for hca in facts.hcas:
        name = blacklist.get(kernel_module.canonical(hca.driver or ""))
        if name and any((hca.name, port.number) not in excluded for port in hca.ports):
            yield Problem(BLACKLIST, f"has {name}, the driver of this node's {hca.name}: remove it")
            return


GPU_RESOURCES = "rdma_gpu_resources"
SERIAL = "rdma_serial"
SERIAL_MAX = "rdma_serial_max"
POD_NODES, POD_QPS = "rdma_verify_pod_nodes", "rdma_verify_pod_qps"
# perftest's MAX_QP_NUM.
_MOST_QPS = 16384
_RIGHT = "it must be a number of hosts from 1, a percentage such as '25%', or a list of these"


def _is_batch(value: Any) -> bool:
    """Whether a play's ``serial`` takes the value (Ansible would read 0, and what is no number, as all hosts)."""
    found = re.fullmatch(r"([0-9]{1,9})(%?)", "" if isinstance(value, bool) else str(value))
    return found is not None and 1 <= int(found[1]) <= (100 if found[2] else 10**9)


def of_leaves(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the converted variables by which schedulers are told of leaves."""
    label, topology = (values.get(name) or "" for name in (LEAF_LABEL, TOPOLOGY))
    # Those of Kubernetes itself have a meaning of their own, and ours are of groups.
    reserved = f".{label.partition('/')[0]}".endswith((".kubernetes.io", ".k8s.io"))
    if label and (reserved or not names.is_label_key(label)):
        why = "it must be the key of a label, with a domain that is not of Kubernetes, like fabric.topograph.run/tier-0"
        yield wrong(LEAF_LABEL, label, why)
    if topology and not names.is_subdomain(topology):
        yield wrong(TOPOLOGY, topology, "it must be the name of an object, of lower-case letters, digits, - and .")
    if topology and not label:
        yield wrong(TOPOLOGY, topology, f"it needs {LEAF_LABEL}, the label of its upper level")


def of_playbooks(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the converted variables that playbooks read."""
    for position, name in enumerate(values.get(GPU_RESOURCES) or ()):
        if not names.is_extended_resource(f"{name}gpu" if name.endswith("/") else name):
            why = "it must be an extended resource, such as 'example.com/gpu', or a prefix that ends with '/'"
            yield wrong(f"{GPU_RESOURCES}[{position}]", name, why)
    serial = values.get(SERIAL)
    batches = serial if isinstance(serial, (list, tuple)) else [] if serial is None else [serial]
    if serial is not None and not batches:
        yield wrong(SERIAL, serial, _RIGHT)
    for position, batch in enumerate(batches):
        if not _is_batch(batch):
            yield wrong(SERIAL if batches is not serial else f"{SERIAL}[{position}]", batch, _RIGHT)
    at_most = values.get(SERIAL_MAX)
    if at_most is not None and not _is_batch(at_most):
        yield wrong(SERIAL_MAX, at_most, "it must be a number of hosts from 1, or a percentage such as '25%'")
    nodes = values.get(POD_NODES)
    if nodes is not None and nodes < 0:
        yield wrong(POD_NODES, nodes, "it must be a number of nodes of each group, or 0 for all")
    pairs = values.get(POD_QPS)
    if pairs is not None and not 1 <= pairs <= _MOST_QPS:
        yield wrong(POD_QPS, pairs, f"it must be a number of queue pairs from 1 to {_MOST_QPS}")
