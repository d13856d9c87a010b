# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A node whose facts nothing could use fails by itself, with one message of bounded size."""

from __future__ import annotations

from typing import Any, Dict

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins.connection.local import Connection
from ansible.template import Templar

from ansible_collections.zerocopy.rdma.plugins.action import rdma_facts

WARNING = {"code": "port_down", "subject": "mlx5_0/1", "text": "mlx5_0/1 is DOWN"}


class Answering(rdma_facts.ActionModule):
    """Answers instead of a node."""

    def _execute_module(self, module_name: str, module_args: Dict[str, Any], task_vars: Any = None) -> Dict[str, Any]:
        assert (module_name, module_args) == ("zerocopy.rdma.rdma_facts", {"root": "/"})
        return dict(self.answer)


def answered(answer: Dict[str, Any]) -> Dict[str, Any]:
    task = Task()
    task.action, task.args, task.async_val, task.check_mode, task.diff = "rdma_facts", {"root": "/"}, 0, False, False
    context, loader = PlayContext(), DataLoader()
    connection = Connection(context)
    connection._load_name = "local"
    connection.set_options(direct={})
    made = Answering(task, connection, context, loader, Templar(loader=loader), None)
    made.answer = answer
    result: Dict[str, Any] = made.run(task_vars={})
    return result


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"rdma": {"warnings": [{"code": "x", "text": "y"}]}}, "warnings[0].subject is missing, it must be a string"),
        ({"rdma": {"warnings": [{**WARNING, "text": "x" * 2000}] * 25000}}, "warnings has 25000 entries"),
        ({"rdma": []}, "is [], it must be a map"),
        ({}, "is None, it must be a map"),
    ],
)
def test_malformed_facts_fail_the_node(answer: Dict[str, Any], message: str) -> None:
    result = answered({"changed": False, "ansible_facts": answer})
    assert result["failed"] is True
    assert message in result["msg"]
    assert "ansible_facts" not in result
    assert len(str(result)) < 1000


@pytest.mark.parametrize(
    "answer",
    [
        {"changed": False, "ansible_facts": {"rdma": {"signature": "0", "warnings": [WARNING]}}},
        {"failed": True, "msg": "gather_subset: 'x' is not one of"},
    ],
)
def test_any_other_answer_is_passed_on(answer: Dict[str, Any]) -> None:
    assert {key: answered(answer)[key] for key in answer} == answer
