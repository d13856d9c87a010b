# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""When the controller comes back to confirm; that a node goes back if it does not is proven in the lab."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins.connection.local import Connection
from ansible.template import Templar

from ansible_collections.zerocopy.rdma.plugins.action import node

CHECKPOINT = "/org/freedesktop/NetworkManager/Checkpoint/1"
CHANGED = {"changed": True, "checkpoint": CHECKPOINT, "rollback_seconds": 60}


class Recorded(node.ActionModule):
    """Answers instead of a node; keeps with which options the module was called."""

    def _execute_module(self, module_name: str, module_args: Dict[str, Any], task_vars: Any = None) -> Dict[str, Any]:
        assert module_name == "zerocopy.rdma.node"
        self.calls.append(module_args["links"])
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)


class Persistent(Connection):  # type: ignore[misc]  # ansible-core has no types here
    """A connection that stays open between calls, as that of ssh does."""

    def reset(self) -> None:
        self.calls.append("reset")


def action(options: Dict[str, Any], *answers: Any, connection: type = Connection) -> Recorded:
    task = Task()
    task.action, task.args, task.async_val, task.check_mode, task.diff = (
        "zerocopy.rdma.node",
        {"links": options},
        0,
        False,
        False,
    )
    context, loader = PlayContext(), DataLoader()
    made = Recorded(task, connection(context), context, loader, Templar(loader=loader), None)
    made.calls, made.answers = [], list(answers)
    made._connection.calls = made.calls
    return made


@pytest.mark.parametrize(
    ("options", "answers", "calls", "result"),
    [
        ({"links": []}, [CHANGED, {"changed": False}], 2, {"changed": True}),
        ({"confirm": "auto", "links": []}, [CHANGED, {"changed": False}], 2, {"changed": True}),
        ({"confirm": "auto"}, [{"changed": False}], 1, {"changed": False}),
        ({"confirm": "auto"}, [{"failed": True, "msg": "no"}], 1, {"failed": True, "msg": "no"}),
        ({"confirm": "manual"}, [CHANGED], 1, CHANGED),
        ({"confirm": CHECKPOINT}, [{"changed": False}], 1, {"changed": False}),
        (
            {"confirm": "auto"},
            [CHANGED, {"failed": True, "msg": "rolled back"}],
            2,
            {"changed": True, "failed": True, "msg": "rolled back"},
        ),
    ],
)
def test_only_what_can_be_rolled_back_is_confirmed(
    options: Dict[str, Any], answers: List[Any], calls: int, result: Dict[str, Any]
) -> None:
    made = action(options, *answers)
    assert made.run(task_vars={"inventory_hostname": "n1"}) == result
    assert len(made.calls) == calls
    assert made.calls[0].get("confirm") in (None, CHECKPOINT)
    if calls == 2:
        assert made.calls[1] == {"confirm": CHECKPOINT}


def test_a_node_that_is_not_reached_again_is_unreachable() -> None:
    made = action({"confirm": "auto"}, CHANGED, AnsibleConnectionFailure("No route to host"))
    with pytest.raises(AnsibleConnectionFailure, match="rolls them back within 60 s: No route to host"):
        made.run(task_vars={"inventory_hostname": "n1"})


def test_a_change_is_confirmed_over_a_new_connection() -> None:
    made = action({"confirm": "auto", "links": []}, CHANGED, {"changed": False}, connection=Persistent)
    assert made.run(task_vars={"inventory_hostname": "n1"}) == {"changed": True}
    assert made.calls == [{"links": []}, "reset", {"confirm": CHECKPOINT}]


def test_a_connection_is_kept_where_there_is_nothing_to_confirm() -> None:
    made = action({"confirm": "auto"}, {"changed": False}, connection=Persistent)
    made.run(task_vars={"inventory_hostname": "n1"})
    assert made.calls == [{}]
