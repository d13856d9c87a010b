# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One look at the cluster that is enough for the plan: what is asked, and what the plan takes of the answer.

``Ask`` calls a module with options, and returns what it answers.
"""

from __future__ import annotations

import os
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Callable, Dict, List, Mapping, Sequence

import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _leaf_labels, _manifest_files, _strategy_inventory
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._fleet import Fleet

Ask = Callable[[str, Mapping[str, Any]], Dict[str, Any]]

CLUSTER, USES = "zerocopy.rdma.cluster_info", "zerocopy.rdma.node_move_info"
_PUBLISHED, _RIGHTS = "zerocopy.rdma.resource_slice_info", "zerocopy.rdma.cluster_rights_info"
# Where nodes or drivers may have been changed before, and where not.
NOTHING_CHANGED, NOTHING_MORE = "Nothing was changed.", "Nothing more was changed."


class ForbiddenError(ValueError):
    """The user may not read what is asked for; the message is about the first right that is missing."""


def everything(question: Mapping[str, Any], ask: Ask, kept: str = NOTHING_CHANGED) -> Dict[str, Any]:
    """All that steps depend on (:func:`question`). Raises ValueError without an answer, also ForbiddenError.

    ``kept`` is the sentence about what the run has changed until now.
    """
    answer = ask(CLUSTER, question)
    if answer.get("status") == HTTPStatus.FORBIDDEN:
        raise ForbiddenError(f"{kept} {_why(CLUSTER, answer)}")
    if answer.get("failed") or "kubernetes" not in answer:
        why = _why(CLUSTER, answer).rstrip(".")
        raise ValueError(f"{kept} {why}. With rdma_cluster=none, manifests are written instead.")
    return answer


def answer(module: str, question: Mapping[str, Any], ask: Ask) -> Dict[str, Any]:
    """What this module answers. Raises ValueError without an answer."""
    found = ask(module, question)
    if found.get("failed"):
        raise ValueError(_why(module, found))
    return found


def _why(module: str, answer: Mapping[str, Any]) -> str:
    """Why there is no answer. Since ansible-core 2.19, a module that has crashed returns no message of its own."""
    if answer.get("msg"):
        return str(answer["msg"])
    crash = answer.get("exception")
    if not crash:
        return "The API server gave no answer"
    return f"{module} has crashed: {getattr(getattr(crash, 'event', None), 'msg', crash)}"


def reach(fleet: Fleet, ask: Ask) -> None:
    """Raises ValueError if the API server cannot be used, or lacks an API that a strategy needs."""
    if fleet.with_cluster:
        everything({"resource_api": fleet.resource_api, "api_only": True}, ask)


def denied(steps: Sequence[Mapping[str, Any]], ask: Ask, look: Mapping[str, Any], kept: str) -> List[str]:
    """The rights that these steps and this look need, and the user does not have. Raises ValueError."""
    answer = ask(_RIGHTS, {"steps": steps, "look": dict(look)})
    if answer.get("failed"):
        raise ValueError(f"{kept} {_why(_RIGHTS, answer)}")
    return list(answer.get("denied") or [])


def published(fleet: Fleet, ask: Ask) -> Dict[str, Any]:
    """What DRA drivers publish, where a strategy needs it. Raises ValueError without an answer."""
    if not fleet.with_cluster or not fleet.resource_api:
        return {}
    found = answer(_PUBLISHED, {"gather_subset": ["slices"]}, ask)
    if "slices" not in found:
        raise ValueError(_why(_PUBLISHED, found))
    return found


def question(fleet: Fleet, resource_api: bool, with_slices: bool, wait: bool, unready: Sequence[str]) -> Dict[str, Any]:
    """The options of ``cluster_info`` for one look at the cluster that is enough for the plan."""
    slices = {
        "expected": {host: {**each, "wait": []} if host in unready else each for host, each in fleet.expected.items()},
        "wait": wait,
        "wait_timeout": registry.publish_timeout(fleet.values),
    }
    leaves = _leaf_labels.look(fleet)
    return {
        "resource_api": resource_api,
        "kinds": [*registry.kinds(), *leaves["kinds"]],
        "objects": registry.cluster_queries(fleet.hosts),
        "sets": [*registry.sets(fleet.hosts, fleet.known), *leaves["sets"]],
        **({"published": slices} if with_slices else {}),
    }


def state(answer: Mapping[str, Any], with_classes: bool) -> ClusterState:
    """What the plan takes of :func:`everything`; ``with_classes``: no further DeviceClasses will come."""
    found = answer.get("published") or {}
    return replace(
        state_of_published(found, with_classes),
        kinds=answer["kinds"],
        objects=answer["objects"],
        labels=answer["nodes"],
        daemon_sets=plain(answer["daemon_sets"]),
        kueue_classes=found.get("kueue_classes"),
        held=answer["held"],
        parents=[(each["namespace"], each["name"]) for each in answer["parents"]],
        extended_resources=answer["extended_resources"],
        counted=answer["counted"],
        leaf_labelled=answer["leaf_labelled"],
    )


def state_of_published(answer: Mapping[str, Any], with_classes: bool) -> ClusterState:
    """What the plan takes of :func:`published`."""
    classes = answer.get("device_classes") if with_classes else None
    return _strategy_inventory.cluster(answer.get("slices"), answer.get("kubernetes"), classes)


def late(fleet: Fleet, answer: Mapping[str, Any]) -> bool:
    """Whether drivers are still to publish what claims are planned for."""
    found = answer.get("published") or {}
    if "slices" not in found:
        return False
    serving = model.serving(model.devices(found["slices"]))
    awaited = {
        (driver, name)
        for name, each in fleet.expected.items()
        for driver in each["wait"]
        if found["nodes"].get(name, {}).get("exists")
    }
    return not awaited <= serving


def state_of_manifests(fleet: Fleet) -> ClusterState:
    """What the manifests of an earlier run say of the cluster: which NICs a driver leaves out."""
    found: List[Dict[str, Any]] = []
    directory = _manifest_files.directory(fleet.context)
    for strategy in registry.STRATEGIES.values():
        path = os.path.join(directory, strategy.manifests.objects)
        if strategy.driver and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                found += [item for item in yaml.safe_load_all(file) if item and item.get("kind") == "DaemonSet"]
    return ClusterState(daemon_sets=found)
