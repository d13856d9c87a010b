# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Make the cluster have a set of objects, or remove the set.

The parent names the kinds and namespaces of its members before the first one is written, and forgets those without
members after the last one was deleted. So a run that is killed anywhere leaves nothing that the next one does not find.
See :mod:`live_parent` for runs at the same time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, Iterable, List, NoReturn, Optional, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import (
    Object,
    ObjectKey,
    metadata,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import CLAIM
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.intake import DEFINITION
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.live_parent import (
    LiveParent,
    OvertakenError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.order import rank
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.outcome import Changes, outcome
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.parent import Parent, Scope
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.plan import (
    REJECTED,
    ApplysetPlan,
    ApplysetRequest,
    ApplyStep,
    plan,
    refused,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.usage import SetMember, Usage
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.write import write
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout import daemon_sets, wait
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

# Of runs that begin at the same moment one gets through at each attempt.
_ATTEMPTS = 10


def converge(client: Client, request: ApplysetRequest) -> Dict[str, Any]:
    """Do what is asked for and return the module's result. In check mode only say what would be done.

    A run that meets another one of the same set before its first change waits for that one and plans again. Raises
    ClusterError.
    """
    return Convergence(client, request).finish()


class Convergence:
    """Making the cluster have a set, in two stages: what may be wrong is found before anything is changed."""

    def __init__(
        self, client: Client, request: ApplysetRequest, objects: Optional[Callable[[], List[Object]]] = None
    ) -> None:
        """Plan it, with a dry run of every object that differs. Raises ClusterError.

        ``objects`` are asked for again whenever it is planned, after the parent was read: what they are made from is
        then as it was when no other run had changed the set since. Without any, the set is removed.
        """
        self._client = client
        self._request = request
        self._objects = objects
        self._identity = Parent(request.name, request.namespace)
        self._identity.check()
        self._patient = True
        self._planned = self._plan()

    def _plan(self) -> Tuple[ApplysetPlan, Api]:
        for _attempt in range(_ATTEMPTS):
            parent = LiveParent(self._client, self._identity)
            try:
                if self._objects is not None:
                    objects = self._objects()
                    self._request = replace(self._request, objects=objects, present=bool(objects))
                return plan(self._client, self._request, parent)
            except OvertakenError:
                self._patient = parent.wait_until_idle()
        raise self._overtaken()

    def _overtaken(self) -> ClusterError:
        return ClusterError(
            f"Secret {self._request.namespace}/{self._request.name}: other runs of this set kept changing it, nothing "
            f"was changed by this one; run again"
        )

    def predicted(self) -> Dict[str, Any]:
        """The result that :meth:`finish` would have in check mode. Raises ClusterError."""
        planned, api = self._planned
        steps = [replace(step) for step in planned.steps]
        request = replace(self._request, check=True)
        return _ApplysetRun(self._client, request, replace(planned, steps=steps), api, self._patient).result()

    @property
    def rejected(self) -> bool:
        """Whether admission has rejected an object, which it may accept after a change of something else."""
        return any(step.action == REJECTED for step in self._planned[0].steps)

    def finish(self) -> Dict[str, Any]:
        """Do it, and return the module's result. Raises ClusterError."""
        for _attempt in range(_ATTEMPTS):
            planned, api = self._planned
            try:
                return _ApplysetRun(self._client, self._request, planned, api, self._patient).result()
            except OvertakenError:
                self._patient = planned.parent.wait_until_idle()
                self._planned = self._plan()
        raise self._overtaken()


class _ApplysetRun:
    def __init__(
        self, client: Client, request: ApplysetRequest, planned: ApplysetPlan, api: Api, patient: bool
    ) -> None:
        """``patient``: a run of the same set that seems to be under way is waited for (see OvertakenError)."""
        self._client = client
        self._request = request
        self._plan = planned
        self._api = api
        self._patient = patient
        self._set = Parent(request.name, request.namespace)
        self._parent = planned.parent
        # What the parent says, in check mode what it would say.
        self._stated = planned.stated
        self._begun = False
        self._done = Changes()

    def result(self) -> Dict[str, Any]:
        """Do it, and return the module's result. Raises ClusterError, and OvertakenError when nothing was changed."""
        try:
            if self._request.present:
                self._apply()
            self._prune()
            self._finish()
        except ClusterError as error:
            if not self._parent.is_open:
                raise
            self._secure(error)
        return outcome(self._request, self._plan, self._done)

    def _secure(self, error: ClusterError) -> NoReturn:
        """Have the parent name whatever this run made, and raise the error."""
        try:
            self._parent.secure(self._widened())
        except ClusterError as other:
            raise ClusterError(f"{error}\n{other}") from error
        if isinstance(error, OvertakenError):
            raise ClusterError(
                f"{error}. Objects of both runs may be in the cluster, all of them members of the set: when the other "
                f"run has ended, run again"
            ) from error
        raise error

    def _widened(self) -> Scope:
        """Where members may be while the set is being changed."""
        wanted = self._scope(step.wanted.key for step in self._plan.steps)
        return wanted | (self._plan.stated or wanted)

    def _begin(self) -> None:
        """Write the parent before the first change. Raises ClusterError, OvertakenError."""
        if self._begun:
            return
        if self._patient and self._parent.is_busy and not self._request.check:
            raise OvertakenError("")
        self._state(self._widened(), self._parent.open)
        self._begun = True

    def _apply(self) -> None:
        accepted = [step for step in self._plan.steps if step.action != REJECTED]
        todo = [step for step in accepted if step.action != "unchanged"]
        self._report_rejected()
        if todo or self._stated is None:
            self._begin()
        for step in todo if self._request.check else []:
            step.action = step.action or ("configured" if step.before else "created")
        if not self._request.check:
            self._make([step for step in todo if step.unknown])
            for number in sorted({rank(step.wanted.key.group_kind) for step in todo}):
                of_rank = [step for step in todo if rank(step.wanted.key.group_kind) == number]
                self._write([step for step in of_rank if not step.unknown])
            if self._request.wait:
                self._wait(accepted)

    def _make(self, steps: List[ApplyStep]) -> None:
        """Create all of these objects, to which nothing refers yet, or none of them."""
        failures = write(self._client, self._request, steps)
        if not failures.lines:
            return
        if not failures.known:
            # What may be there is not to be forgotten by the parent.
            raise failures.error()
        rest = "nothing was applied"
        try:
            made = [step for step in steps if step.action == "created"]
            self._delete([SetMember(step.wanted.key, step.wanted.resource, step.after or {}) for step in made])
            if self._plan.stated is None:
                self._parent.remove(check=False)
            else:
                self._state(self._plan.stated, self._parent.close)
        except ClusterError as error:
            rest = f"and what was created could not be removed ({error}), so the next run prunes it"
        raise refused(self._request, failures.lines, rest)

    def _write(self, steps: List[ApplyStep]) -> None:
        failures = write(self._client, self._request, steps)
        if failures.lines:
            raise failures.error()
        self._wait([step for step in steps if step.wanted.key.group_kind == DEFINITION])

    def _wait(self, steps: List[ApplyStep]) -> None:
        pending = [
            (step.wanted.key, step.wanted.resource)
            for step in steps
            if not wait.ready(step.wanted.key, step.after or step.before).ready and not self._for_no_node(step)
        ]
        if not pending:
            return
        try:
            wait.until(self._client, pending, self._request.wait_timeout, wait.ready)
        except wait.LateError as error:
            self._report_nodes(error)

    def _for_no_node(self, step: ApplyStep) -> bool:
        """Whether there is nothing to wait for, because the object is for nodes that the cluster does not have."""
        return self._request.report_nodes and daemon_sets.selects_no_node(
            self._client, step.wanted.key, step.wanted.body
        )

    def _report_rejected(self) -> None:
        """Note the nodes for which rejected objects are."""
        for step in self._plan.steps:
            if step.action == REJECTED and (step.wanted.body.get("spec") or {}).get("nodeSelector"):
                for node in daemon_sets.selected(self._client, step.wanted.body):
                    self._done.unready.setdefault(node, []).append(f"{step.wanted.key}: {step.reason}")

    def _report_nodes(self, error: wait.LateError) -> None:
        """Note on which nodes DaemonSets do not work. Raises the error where that is not what it is about."""
        found = {key: daemon_sets.unready(self._client, key, resource) for key, resource in error.objects}
        if not self._request.report_nodes or None in found.values():
            raise error
        for key, nodes in found.items():
            for node, trouble in (nodes or {}).items():
                self._done.unready.setdefault(node, []).append(f"{key}: {trouble}")

    def _prune(self) -> None:
        leftovers = self._plan.leftovers
        if self._request.present and not self._request.prune:
            self._done.kept = {member.key: "prune is off" for member in leftovers}
            return
        going: Set[ObjectKey] = {member.key for member in leftovers}
        usage = Usage(self._client, self._api, going)
        for number in sorted({rank(member.key.group_kind) for member in leftovers}, reverse=True):
            members = [member for member in leftovers if rank(member.key.group_kind) == number]
            for member in members:
                reason = usage.reason(member)
                if reason:
                    self._done.kept[member.key] = reason
                    going.discard(member.key)
            self._delete([member for member in members if member.key not in self._done.kept])
        self._await_end(self._plan.ending)

    def _delete(self, members: List[SetMember]) -> None:
        if members:
            self._begin()
        policy = "Foreground" if self._request.wait else "Background"

        def delete(member: SetMember) -> Optional[str]:
            meta = metadata(member.live)
            preconditions = {"uid": meta["uid"]}
            if member.key.group_kind == CLAIM:
                # A reservation since the claim was read changes this, and then the claim stays.
                preconditions["resourceVersion"] = meta["resourceVersion"]
            options: Object = {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": preconditions,
                "propagationPolicy": policy,
            }
            if self._request.check:
                options["dryRun"] = ["All"]
            path = member.resource.path(member.key.namespace, member.key.name)
            try:
                self._client.delete(path, options)
            except ApiError as error:
                if error.status == 409:
                    live = self._client.find(path) if error.repeated else member.live
                    # The first of the requests had been carried out, and only its answer was lost.
                    if live is None or (error.repeated and "deletionTimestamp" in metadata(live)):
                        return None
                    return "changed at the same moment"
                raise ClusterError(f"{member.key} could not be pruned: {error}") from error
            return None

        for member, reason in zip(members, self._client.all(delete, members)):
            if reason:
                self._done.kept[member.key] = reason
            else:
                self._done.pruned.append(member)
        self._await_end([member for member in members if member.key not in self._done.kept])

    def _await_end(self, members: List[SetMember]) -> None:
        """Wait until they are gone, but not for a node that is down: its pods may never end."""
        if not self._request.wait or self._request.check:
            return
        ending = [(member.key, member.resource) for member in members]
        try:
            wait.until(self._client, ending, self._request.wait_timeout, wait.gone)
        except wait.LateError as error:
            held = {key: daemon_sets.held_by(self._client, key, resource) for key, resource in error.objects}
            if not all(held.values()):
                raise
            self._done.held.update({key: joined(nodes, 10) for key, nodes in held.items()})

    def _finish(self) -> None:
        """Bring the parent up to date, or remove it when nothing is left."""
        left = [*self._done.kept, *self._done.held]
        if self._request.present or left:
            scope = self._scope([*(step.wanted.key for step in self._plan.steps), *left])
            if self._begun or scope != self._stated:
                self._state(scope, self._parent.close)
        elif self._parent.exists:
            self._parent.remove(self._request.check)
            self._done.parent = "pruned"

    def _scope(self, keys: Iterable[ObjectKey]) -> Scope:
        known = list(keys)
        return self._set.scope((key.group_kind for key in known), (key.namespace for key in known))

    def _state(self, scope: Scope, write: Callable[[Scope], None]) -> None:
        """Have the parent say this."""
        if not self._request.check:
            write(scope)
        if scope != self._stated:
            self._done.parent = "created" if self._plan.stated is None else "configured"
        self._stated = scope
