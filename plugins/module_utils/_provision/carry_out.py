# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Carries out the cluster's part of the plan, in one process and over one connection.

Everything that may refuse its step does so before the first change: objects are tried by a dry run, fields are compared
with those of others, pods are looked for that hold what is to go.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import steps as plan_steps
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import (
    AnyStep,
    CountersStep,
    FieldsStep,
    HeldCheck,
    LabelsStep,
    LeafLabelsStep,
    LeftoversStep,
    ObjectsStep,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import (
    counters,
    extended_resources,
    leaf_labels,
    nodes,
    object_fields,
    pools,
    restart,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import foreign
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.converge import Convergence
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import ApplysetRequest

# The kubelet writes the resources of a plugin that has ended again for five minutes.
_GONE_SECONDS = 400
_DEFINITION = "CustomResourceDefinition"


def carry_out(client: Client, steps: Sequence[AnyStep], check: bool, diff: bool) -> Dict[str, Any]:
    """Do these steps in their order and return the module's result. Raises ClusterError.

    Claims are planned for drivers as they are. If a step of the drivers changes something, the result is ``late`` and
    no claim is applied: they have to be planned again, when the drivers have published what they find then.
    """
    run = _Run(client, check, diff)
    for step in steps:
        run.prepare(step)
    for step in steps:
        run.do(step)
    return run.result()


class _Run:
    def __init__(self, client: Client, check: bool, diff: bool) -> None:
        self._client, self._check, self._diff = client, check, diff
        self._sets: Dict[int, Convergence] = {}
        self._done: List[Dict[str, Any]] = []
        self._applied: Set[Tuple[str, str]] = set()
        self._labelled: Set[str] = set()
        self._broken: Dict[str, str] = {}
        self._missing: List[str] = []
        self._unready: Dict[str, List[str]] = {}
        self._warnings: List[str] = []
        self._drivers_changed = self._redeployed = self.late = False

    def prepare(self, step: AnyStep) -> None:
        """Find out whether a step can be done. Raises ClusterError."""
        if isinstance(step, HeldCheck):
            extended_resources.remove(self._client, step.nodes, 0, check=True)
        elif isinstance(step, ObjectsStep) and not step.first:
            found = Convergence(self._client, self._request(step))
            self._sets[id(step)] = found
            predicted = found.predicted() if step.kept or step.pools else {"objects": []}
            _refuse_used(step, predicted["objects"])
        elif isinstance(step, FieldsStep):
            object_fields.converge(self._client, self._fields(step, check=True))
        elif isinstance(step, CountersStep):
            found_counters = counters.keep(self._client, step.nodes, True, step.keep_used)
            if found_counters["broken"] and not step.keep_used:
                raise ClusterError("\n".join(found_counters["broken"].values()))

    def do(self, step: AnyStep) -> None:
        """Do a step, after all have been prepared. Raises ClusterError."""
        if self._drivers_changed and step.part == plan_steps.CLAIMS and isinstance(step, ObjectsStep) and step.objects:
            self.late = True
            return
        done = self._result_of(step)
        if done is None:
            return
        self._warnings += done.pop("warnings", [])
        self._done.append({"title": step.title, "part": step.part, **done})
        changed = bool(done["changed"]) and step.part == plan_steps.DRIVER and not self._check
        self._drivers_changed |= changed
        self._redeployed |= changed and isinstance(step, (ObjectsStep, FieldsStep))

    def _result_of(self, step: AnyStep) -> Any:
        if isinstance(step, HeldCheck) or (self._check and getattr(step, "first", False)):
            return None
        if isinstance(step, ObjectsStep):
            return self._objects(step)
        if isinstance(step, LabelsStep):
            return self._labels(step)
        if isinstance(step, LeafLabelsStep):
            return leaf_labels.converge(self._client, step, self._check)
        if isinstance(step, FieldsStep):
            return object_fields.converge(self._client, self._fields(step, self._check))
        if isinstance(step, CountersStep):
            found = counters.keep(self._client, step.nodes, self._check, step.keep_used)
            self._broken.update(found["broken"])
            return found
        if isinstance(step, LeftoversStep):
            return self._leftovers(step)
        return restart.restart(self._client, step, self._check)

    def _request(self, step: ObjectsStep) -> ApplysetRequest:
        return ApplysetRequest(
            name=step.name,
            namespace=step.namespace,
            objects=list(step.objects),
            force_conflicts="members",
            prune=step.prune,
            rejectable=step.rejectable,
            wait=step.wait,
            report_nodes=bool(step.objects),
            # Without objects, a set of which nothing may go stays as it is.
            present=bool(step.objects) or not step.prune,
            check=self._check,
            diff=self._diff,
        )

    def _objects(self, step: ObjectsStep) -> Dict[str, Any]:
        # What was tried before is out of date where other steps have changed what counts.
        prepared = self._sets.get(id(step))
        if prepared is None or prepared.rejected or self._stale(step) or self._emptied(step, prepared):
            prepared = Convergence(self._client, self._request(step))
        self._applied.add((step.namespace, step.name))
        done = prepared.finish()
        for node, lines in done.pop("unready").items():
            self._unready.setdefault(node, []).extend(lines)
        return {**done, "set": step.name}

    def _stale(self, step: ObjectsStep) -> bool:
        """Whether a step before has applied the same set."""
        return (step.namespace, step.name) in self._applied

    def _emptied(self, step: ObjectsStep, prepared: Convergence) -> bool:
        """Whether address pools were removed that would hold a definition which is to go."""
        if not step.pools or not step.prune or self._check:
            return False
        going = [each for each in prepared.predicted()["objects"] if each["kind"] == _DEFINITION]
        if not any(each["action"] in ("kept", "pruned") for each in going):
            return False
        pools.remove(self._client, step.pools)
        return True

    def _labels(self, step: LabelsStep) -> Dict[str, Any]:
        broken = self._broken if step.after_counters else {}
        wanted = {node: labels for node, labels in step.nodes.items() if node not in broken}
        found = nodes.converge(self._client, wanted, self._check)
        self._labelled.update(found["nodes"])
        self._missing += found["missing"]
        return found

    def _fields(self, step: FieldsStep, check: bool) -> object_fields.FieldsRequest:
        present = "spec" in step.object
        return object_fields.FieldsRequest(step.object, step.manager, present, step.without, check, self._diff)

    def _leftovers(self, step: LeftoversStep) -> Dict[str, Any]:
        awaited = {*self._labelled, *(step.served if self._redeployed else ())} if step.keep_used else None
        label = "" if step.keep_used else step.label
        return extended_resources.remove(
            self._client, step.nodes, _GONE_SECONDS, self._check, step.keep_used, label, awaited
        )

    def result(self) -> Dict[str, Any]:
        """The result of the module."""
        diffs = [entry for done in self._done for entry in done.pop("diff", None) or []]
        return {
            "changed": any(done["changed"] for done in self._done),
            "steps": self._done,
            "late": self.late,
            "missing": list(dict.fromkeys(self._missing)),
            "unready": self._unready,
            "broken": self._broken,
            "warnings": self._warnings,
            **({"diff": diffs} if self._diff else {}),
        }


def _refuse_used(step: ObjectsStep, objects: Sequence[Mapping[str, Any]]) -> None:
    """:raises ClusterError: pods or workloads use objects that are to go."""
    if not step.prune:
        return
    used = [
        f"{each['kind']} {'/'.join(filter(None, (each['namespace'], each['name'])))} {each.get('reason', '')}"
        for each in objects
        if each["action"] == "kept" and each["kind"] in step.kept and not each["reason"].startswith(foreign.MANAGED)
    ]
    if used:
        told = "; ".join(used)
        # Nodes or drivers may have been changed before this.
        raise ClusterError(f"Delete the pods and workloads that use these objects first: {told}")
