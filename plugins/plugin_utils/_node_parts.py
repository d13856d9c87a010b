# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The part of ``node`` that only the controller can do: read the plan, and what the concerns need of the controller."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.node_options import NodeOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.concerns import CONCERNS
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import answers
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _archive,
    _for_people,
    _node,
    _node_plan,
    _plan_files,
    _program,
)
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._run_variables import HostVariables

MODULE = "zerocopy.rdma.node"
Answer = Dict[str, Any]


class NodeParts(_node.NodeAction):
    """Calls of the module for one host."""

    def wanted(self, options: Mapping[str, Any], task_vars: Mapping[str, Any]) -> Dict[str, Any]:
        """The options of each concern that the task is about: its own ones, or else those of the plan.

        Raises AnsibleActionFail.
        """
        found = {name: options[name] for name in CONCERNS if options[name] is not None}
        if not found:
            if options["plan"]:
                plan = _plan_files.host_plan(options["plan"], str(task_vars["inventory_hostname"]))
            else:
                plan = _node_plan.of_host(HostVariables(task_vars, self._loader), options["state"])
                for warning in plan.warnings:
                    _for_people.warn(f"{plan.host}: {warning}")
            # Where only links cannot be planned, the other parts are.
            if plan.problem and (plan.node == NodeOptions() or "links" in (options["parts"] or CONCERNS)):
                raise AnsibleActionFail(visible(plan.problem))
            found = {name: value for name, value in vars(plan.node).items() if value is not None}
        parts = options["parts"]
        return {name: value for name, value in found.items() if parts is None or name in parts}

    def call(self, arguments: Mapping[str, Any], task_vars: Mapping[str, Any]) -> Answer:
        answer: Answer = self._execute_module(MODULE, module_args=dict(arguments), task_vars=task_vars)
        # To people it is only a long text.
        for daemon in ((answer.get("invocation") or {}).get("module_args", {}).get("daemons") or {}).values():
            daemon.pop("program", None)
        return _for_people.of_host(str(task_vars["inventory_hostname"]), answer)

    def compared(self, wanted: Mapping[str, Any], state: str, task_vars: Mapping[str, Any]) -> Answer:
        arguments = {**wanted, "compare": True, "state": state}
        if "images" in wanted:
            arguments["images"] = _with_ids(wanted["images"])
        if "daemons" in wanted and state == "present":
            arguments["daemons"] = _program.with_digests(wanted["daemons"])
        answer = self.call(arguments, task_vars)
        wrong = answers.fault_of_comparison(answer)
        # Nothing of the answer is kept: hosts are compared with each other by it.
        return (
            {"failed": True, "msg": visible(f"The result of comparing this node with its plan cannot be used: {wrong}")}
            if wrong
            else answer
        )

    def changed(self, concern: str, options: Any, state: str, task_vars: Mapping[str, Any]) -> Answer:
        """What the change of one concern returns. Raises AnsibleConnectionFailure."""
        if state == "present":
            if concern == "images":
                return self._images(options, task_vars)
            if concern == "daemons":
                options = (_program.with_digests if self._task.check_mode else _program.with_programs)(options)
            if concern == "links" and options.get("confirm", "auto") in ("auto", "manual"):
                return self._links(dict(options), task_vars)
        return self.call({concern: options, "state": state}, task_vars)

    def _links(self, options: Dict[str, Any], task_vars: Mapping[str, Any]) -> Answer:
        """Come back over a new connection to confirm a change of links.

        In the same task, since a later one would begin only when all other hosts of the batch have ended this one, and
        by then NetworkManager may have rolled back.
        """
        comes_back = options.pop("confirm", "auto") == "auto"
        answer = self.call({"links": options}, task_vars)
        if comes_back and answer.get("checkpoint") and not answer.get("failed"):
            answer.update(self._confirmed(answer.pop("checkpoint"), answer.pop("rollback_seconds"), task_vars))
        return answer

    def _confirmed(self, checkpoint: str, seconds: int, task_vars: Mapping[str, Any]) -> Answer:
        """What of the result is different for it. Raises AnsibleConnectionFailure."""
        # The old connection might survive what no new one does.
        if type(self._connection).reset is not ConnectionBase.reset:
            self._connection.reset()
        try:
            answer = self.call({"links": {"confirm": checkpoint}}, task_vars)
        except AnsibleConnectionFailure as error:
            text = f"the node cannot be reached since its links were changed; it rolls them back within {seconds} s"
            raise AnsibleConnectionFailure(f"{text}: {error}") from error
        return {"failed": True, "msg": answer["msg"]} if answer.get("failed") else {}

    def _images(self, images: List[Dict[str, Any]], task_vars: Mapping[str, Any]) -> Answer:
        """Send the archives of the images that the node lacks, and only those."""
        known = _with_ids(images)
        answer = self.call({"images": known}, task_vars)
        missing = {change["name"] for change in answer.get("changes") or []}
        if not missing or answer.get("failed") or self._task.check_mode:
            return answer
        archives = {image["name"]: image["archive"] for image in images if image["name"] in missing}
        sent = [
            {**image, "archive": self._sent(str(archives[image["name"]]), number)}
            for number, image in enumerate(known)
            if image["name"] in missing
        ]
        return self.call({"images": sent}, task_vars)

    def _sent(self, archive: str, number: int) -> str:
        """Where the archive is on the node, until the task ends."""
        directory = self._connection._shell.tmpdir or self._make_tmp_path()
        path: str = self._connection._shell.join_path(directory, f"image-{number}.tar")
        self._transfer_file(archive, path)
        self._fixup_perms2((directory, path))
        return path


def _with_ids(images: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Raises AnsibleActionFail for an archive that is none, or has another image."""
    try:
        return [_archive.with_ids(image) for image in images]
    except _archive.UnusableError as error:
        raise AnsibleActionFail(f"images: {error}") from error
