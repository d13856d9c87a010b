# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plan of a run as files that only the user can read: one for each host, and one for each other part.

Ansible removes them with its other temporary files at the end of the run. As a variable, the plan would be looked
through for templates again for each host and task.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable, Dict, Mapping, Optional

from ansible import constants
from ansible.errors import AnsibleError

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.document import HostPlan, RunPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.host_file import host_file
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain


def path_of(directory: str, host: str) -> str:
    """The file of a host, whatever its name has in it; two names never have one file."""
    return os.path.join(directory, f"host-{host_file(host)}.json")


def write_file(path: str, content: Any) -> None:
    """A new file that only the user can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)


# The cluster's part, and a mark that it was used.
_CLUSTER, _TAKEN = "cluster", "cluster.taken"


def _path(directory: str, name: str) -> str:
    """The file of a part that is not of one host."""
    return os.path.join(directory, f"{name}.json")


def write(plan: RunPlan) -> str:
    """The new directory of this plan."""
    directory = tempfile.mkdtemp(prefix="rdma-plan-", dir=constants.DEFAULT_LOCAL_TMP)
    for host, planned in plan.hosts.items():
        write_file(path_of(directory, host), planned.as_dict())
    parts = plan.others if plan.cluster is None else {**plan.others, _CLUSTER: plan.cluster}
    for name, content in parts.items():
        write_file(_path(directory, name), plain(content))
    return directory


def host_plan(directory: str, host: str) -> HostPlan:
    """The plan of one host. Raises AnsibleError where this run has planned nothing for it."""
    try:
        with open(path_of(directory, host), encoding="utf-8") as file:
            return document.host_plan(json.load(file))
    except (OSError, ValueError) as error:
        raise AnsibleError(f"{host}: {directory} has no plan for this host: {error}") from error


def part(directory: str, name: str) -> Dict[str, Any]:
    """A part that is not of one host. Raises AnsibleError where this run has planned nothing for it."""
    try:
        with open(_path(directory, name), encoding="utf-8") as file:
            found: Dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        raise AnsibleError(f"plan is {directory!r}, which has no plan of this run for the {name}: {error}") from error
    return found


def cluster_plan(directory: str) -> Dict[str, Any]:
    """The cluster's part. Raises AnsibleError where this run has planned nothing for it."""
    return part(directory, _CLUSTER)


def cluster_plan_if_any(directory: str) -> Optional[Dict[str, Any]]:
    return cluster_plan(directory) if os.path.isfile(_path(directory, _CLUSTER)) else None


def taken(directory: str, usable: Callable[[Mapping[str, Any]], bool]) -> Optional[Dict[str, Any]]:
    """The cluster's part for the first who asks for it, if it is ``usable``; afterwards the cluster may be another."""
    found = None if os.path.exists(os.path.join(directory, _TAKEN)) else cluster_plan_if_any(directory)
    if found is None or not usable(found):
        return None
    write_file(os.path.join(directory, _TAKEN), True)
    return found
