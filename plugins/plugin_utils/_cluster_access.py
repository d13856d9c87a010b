# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which cluster a run is about, as options that mean the same to every module: ours, and those of kubernetes.core."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible import constants

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import fleet_wide
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import kubeconfigs, selection
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, messages
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._plan_files import write_file

# They mean another cluster or another user than a kubeconfig.
_OTHERS = ("host", "api_key", "username", "password", "client_cert", "client_key")
# Variables that say in which cluster a host is, with what counts without them.
_DEFAULTS = {"rdma_cluster": "kubernetes", "rdma_kubeconfig": None, "rdma_context": None}


def problems(hosts: Sequence[str], hostvars: _inventory.Hostvars) -> List[str]:
    """Why these hosts are not known to be in one cluster. Nobody else's variables matter, valid or not."""
    every: List[Tuple[str, Dict[str, Any]]] = []
    found: List[Tuple[str, Problem]] = []
    for host in hosts:
        own, broken = _inventory.of_host(hostvars[host], {}, _DEFAULTS.__contains__)
        values, wrong = plan_variables.converted(own, plan_variables.PLAYBOOKS)
        found += [(host, problem) for problem in (*broken, *wrong)]
        every.append((host, {name: value for name, value in values.items() if value != ""}))
    told = {problem.variable for _host, problem in found}
    for name in _DEFAULTS.keys() - told:
        found += fleet_wide.different(name, every, _DEFAULTS[name])
    return messages(found)


def found(options: Mapping[str, Any], environ: Mapping[str, str]) -> Dict[str, Any]:
    """The result of ``cluster_access_info``. Raises ValueError."""
    given = {name: options[name] or None for name in ("kubeconfig", "context")}
    option = selection.Options(given, environ)
    _refuse_others(given, option)
    try:
        selected = selection.select(given, environ)
    except ValueError as error:
        # In a pod, kubernetes.core would find another cluster without them.
        looked_for = os.pathsep.join(selection.paths(option("kubeconfig"), environ)) or os.devnull
        return {"access": _options(looked_for, option("context")), "text": str(error)}
    kubeconfig = str(selected.kubeconfig)
    if os.pathsep in kubeconfig:
        kubeconfig = _one_file(kubeconfig)
    return {
        "access": _options(kubeconfig, selected.context),
        "text": f"{selected.server} with {selected.credentials}",
    }


def _options(kubeconfig: Any, context: Any) -> Dict[str, str]:
    return {name: value for name, value in {"kubeconfig": kubeconfig, "context": context}.items() if value}


def _refuse_others(given: Mapping[str, Any], option: selection.Options) -> None:
    named = [f"rdma_{name} ({value})" for name, value in given.items() if value]
    others = [variable for name in _OTHERS for variable in option.variables(name)]
    if named and others:
        raise ValueError(
            f"Nothing was changed. {' and '.join(named)} and the environment variables {', '.join(others)} mean "
            "different clusters or users: unset one or the other."
        )


def _one_file(paths: str) -> str:
    """Helm's module reads one file only. Ansible removes it at the end of the run."""
    path = os.path.join(tempfile.mkdtemp(prefix="rdma-access-", dir=constants.DEFAULT_LOCAL_TMP), "kubeconfig")
    write_file(path, kubeconfigs.merged(paths.split(os.pathsep)))
    return path
