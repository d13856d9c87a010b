# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A node whose Python is too old fails in one line, whatever module of ours meets it first.

The recorded answers are those of Python 3.6 and 3.7 with ansible-core 2.18, 2.19 and 2.21. Where such a Python is
installed, tests/unit/fleet/test_old_python_real.py starts modules with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase
from ansible.plugins.connection.local import Connection
from ansible.template import Templar

from ansible_collections.zerocopy.rdma.plugins.action import (
    container_image,
    driver_watch,
    node,
    rdma_bandwidth,
    rdma_exporter_info,
    rdma_facts,
    rdma_neighbours_info,
    rdma_reachability,
    rdma_support_info,
)

CHECKOUT = Path(__file__).resolve().parents[4]
ACTIONS = {
    "container_image": container_image,
    "driver_watch": driver_watch,
    "node": node,
    "rdma_bandwidth": rdma_bandwidth,
    "rdma_exporter_info": rdma_exporter_info,
    "rdma_facts": rdma_facts,
    "rdma_neighbours_info": rdma_neighbours_info,
    "rdma_reachability": rdma_reachability,
    "rdma_support_info": rdma_support_info,
}
TRACEBACK = 'File "<stdin>", line 3\nSyntaxError: future feature annotations is not defined'
RECORDED = {
    "2.18": {"failed": True, "msg": "MODULE FAILURE: No start of json char found", "module_stderr": TRACEBACK, "rc": 1},
    "2.19": {"failed": True, "msg": "Module result deserialization failed", "module_stderr": TRACEBACK, "rc": 1},
    "2.21": {
        "failed": True,
        "msg": "Module result deserialization failed: No start of json char found",
        "module_stderr": "SyntaxError: invalid syntax",
        "exception": "(traceback unavailable)",
        "rc": 1,
    },
}


def action_of(name: str, arguments: Dict[str, Any]) -> Any:
    task = Task()
    task.action, task.args, task.async_val = f"zerocopy.rdma.{name}", arguments, 0
    task.check_mode, task.diff = True, False
    context, loader = PlayContext(), DataLoader()
    connection = Connection(context)
    connection._load_name = "local"
    connection.set_options(direct={})
    return ACTIONS[name].ActionModule(task, connection, context, loader, Templar(loader=loader), None)


def asked(
    monkeypatch: pytest.MonkeyPatch, answer: Dict[str, Any], version: str, name: str = "driver_watch"
) -> List[str]:
    """What it says for a module that answers so, on a node whose Python says it is this version; and what it asked."""
    commands: List[str] = []

    def execute(self: Any, *_arguments: Any, **_options: Any) -> Dict[str, Any]:
        self._used_interpreter = "#!/usr/libexec/platform-python"
        return dict(answer)

    def command(_self: Any, text: str, **_options: Any) -> Dict[str, Any]:
        commands.append(text)
        return {"stdout": version, "stderr": "", "rc": 0}

    monkeypatch.setattr(ActionBase, "_execute_module", execute)
    monkeypatch.setattr(ActionBase, "_low_level_execute_command", command)
    result = action_of(name, {"links": {}} if name == "node" else {}).run(task_vars={"inventory_hostname": "n1"})
    return [result["msg"], *commands]


@pytest.mark.parametrize("version", RECORDED)
@pytest.mark.parametrize("name", ACTIONS)
def test_it_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, version: str, name: str) -> None:
    message, command = asked(monkeypatch, RECORDED[version], "Welcome to node 7\n3 6\r\n", name)
    assert message.startswith("/usr/libexec/platform-python is Python 3.6, modules need Python 3.")
    assert "\n" not in message
    assert "ansible_python_interpreter" in message
    assert command.startswith("/usr/libexec/platform-python -c ")


@pytest.mark.parametrize("version", ["3 12\n", "", "sh: no such file\n"])
def test_another_failure_is_passed_on(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    message, _command = asked(monkeypatch, RECORDED["2.19"], version)
    assert message == RECORDED["2.19"]["msg"]


@pytest.mark.parametrize("answer", [{"failed": True, "msg": "no"}, {"changed": False, "msg": "fine"}])
def test_what_a_module_said_costs_no_question(monkeypatch: pytest.MonkeyPatch, answer: Dict[str, Any]) -> None:
    assert asked(monkeypatch, answer, "3 6\n") == [answer["msg"]]


def test_every_module_of_nodes_has_such_an_action() -> None:
    runs = yaml.safe_load((CHECKOUT / "meta" / "runtime.yml").read_text())["action_groups"]["k8s"]
    modules = {path.stem for path in (CHECKOUT / "plugins" / "modules").glob("*.py")} - {"__init__"}
    cluster = {one for one in runs if isinstance(one, str)}
    # These read or write files of the controller, and need no cluster either.
    controller = {
        "workload_manifests",
        "cabling",
        "health",
        "support_bundle",
        "verify",
        "report",
        "benchmark_plan",
        "workloads",
        "show",
        "cluster_access_info",
    }
    assert set(ACTIONS) == modules - cluster - controller
