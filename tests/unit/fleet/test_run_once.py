# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Tasks that run once for all hosts give none of them facts.

In ansible-core 2.21 the facts of such a task become one dict that all hosts share: what a module then finds on one host
is what all have (``set_host_facts`` of ``ansible/vars/manager.py``). Such facts are those of ``set_fact``, cacheable or
not, and the interpreter that Ansible discovers for a module that runs on the host itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Tuple

import pytest
import yaml

_CHECKOUT = Path(__file__).resolve().parents[3]
_BUILTIN = "ansible.builtin."
# These run where Ansible runs, and return no facts.
_OURS = (
    "plan",
    "verify",
    "cabling",
    "health",
    "support_bundle",
    "report",
    "benchmark_plan",
    "workloads",
    "show",
    "cluster_access_info",
)
_HARMLESS = {"assert", "fail", "meta", *(f"zerocopy.rdma.{name}" for name in _OURS)}
_STATIC, _DYNAMIC = {"import_tasks", "import_role"}, {"include_tasks", "include_role"}

Task = Dict[str, Any]
# File and task, and whether the task gives facts of its own to all hosts.
Found = Tuple[Path, Task, bool]

_INHERITED = ("run_once", "delegate_to", "delegate_facts")


def _action(task: Task) -> str:
    # No keyword of Ansible has a dot, and every module has its full name.
    (action,) = [key for key in task if "." in key]
    return action[len(_BUILTIN) :] if action.startswith(_BUILTIN) else action


def _of_file(path: Path, inherited: Task, seen: Set[Path]) -> Iterator[Found]:
    seen.add(path)
    yield from _of_tasks(path, yaml.safe_load(path.read_text()) or [], inherited, seen)


def _of_tasks(path: Path, tasks: List[Task], inherited: Task, seen: Set[Path]) -> Iterator[Found]:
    for task in tasks:
        own = {**inherited, **{name: task[name] for name in _INHERITED if name in task}}
        if "block" in task:
            for part in ("block", "rescue", "always"):
                yield from _of_tasks(path, task.get(part, []), own, seen)
            continue
        action = _action(task)
        yield path, task, bool(own.get("run_once")) and _shares(action, own)
        if action in _STATIC | _DYNAMIC:
            arguments = task[_BUILTIN + action]
            # What is included inherits nothing but what `apply` says, and what the block around it has.
            passed = own if action in _STATIC else {**inherited, **arguments.get("apply", {})}
            for file in _named(path, arguments):
                yield from _of_file(file, passed, seen)


def _shares(action: str, own: Task) -> bool:
    if action in _HARMLESS | _STATIC | _DYNAMIC:
        return False
    # With delegate_facts they are those of localhost alone.
    return "delegate_to" not in own or (action == "set_fact" and not own.get("delegate_facts"))


def _named(path: Path, arguments: Any) -> List[Path]:
    if isinstance(arguments, str):
        return [path.parent / arguments]
    if "file" in arguments:
        return [path.parent / arguments["file"]]
    entry = f"tasks/{arguments.get('tasks_from', 'main')}.yml"
    # Which role it is, the plan says: any that has this entry point.
    if "{{" in arguments["name"]:
        return sorted((_CHECKOUT / "roles").glob(f"*/{entry}"))
    return [_CHECKOUT / "roles" / arguments["name"].rpartition(".")[2] / entry]


def _all() -> Tuple[List[Found], Set[Path]]:
    found: List[Found] = []
    seen: Set[Path] = set()
    for playbook in sorted((_CHECKOUT / "playbooks").glob("*.yml")):
        for play in yaml.safe_load(playbook.read_text()):
            found += _of_tasks(playbook, play.get("tasks", []), {}, seen)
    # Entry points that users import themselves.
    for entry in ("main", "absent"):
        for file in sorted((_CHECKOUT / "roles").glob(f"*/tasks/{entry}.yml")):
            found += _of_file(file, {}, seen)
    return found, seen


def _part(path: Path) -> str:
    return path.parent.name if path.parent.name == "playbooks" else path.parts[-3]


_FOUND, _SEEN = _all()


def test_every_file_of_tasks_is_looked_at() -> None:
    files = set((_CHECKOUT / "roles").glob("*/tasks/*.yml"))
    assert files
    assert files <= _SEEN


@pytest.mark.parametrize("part", sorted({_part(path) for path, *_rest in _FOUND}))
def test_what_runs_once_gives_no_facts(part: str) -> None:
    wrong = {f"{path.name}: {task['name']}" for path, task, shares in _FOUND if shares and _part(path) == part}
    assert not wrong
