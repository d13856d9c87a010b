# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the variables of the playbooks may be, beyond their types."""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong

GPU_RESOURCES = "rdma_gpu_resources"
SERIAL = "rdma_serial"
SERIAL_MAX = "rdma_serial_max"
POD_NODES = "rdma_verify_pod_nodes"
_RIGHT = "it must be a number of hosts from 1, a percentage such as '25%', or a list of these"


def _is_batch(value: Any) -> bool:
    """Whether a play's ``serial`` takes the value (Ansible would read 0, and what is no number, as all hosts)."""
    found = re.fullmatch(r"([0-9]{1,9})(%?)", "" if isinstance(value, bool) else str(value))
    return found is not None and 1 <= int(found[1]) <= (100 if found[2] else 10**9)


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
