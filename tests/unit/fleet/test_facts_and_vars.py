# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A fact or registered result beats ``vars`` of tasks and blocks (Ansible's variable precedence), also much later.

So a task whose ``vars`` has the name of a fact that some other task sets reads that fact, and says nothing of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterator, Set, Tuple

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
TREES = ("roles", "playbooks", "extensions/molecule")
SETS_FACTS = ("ansible.builtin.set_fact", "set_fact")
# Their ``vars`` are parameters of what they include, and beat facts.
INCLUDES = ("ansible.builtin.include_tasks", "ansible.builtin.include_role")


def _tasks(value: Any) -> Iterator[Dict[str, Any]]:
    """Every task, block and play of a document."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield item
                for part in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
                    yield from _tasks(item.get(part))


def _names(path: Path) -> Tuple[Set[str], Set[str]]:
    """Names of facts and results, and names in ``vars`` of tasks and blocks."""
    facts: Set[str] = set()
    variables: Set[str] = set()
    for task in _tasks(yaml.safe_load(path.read_text())):
        facts.update(name for action in SETS_FACTS for name in task.get(action) or () if name != "cacheable")
        if "register" in task:
            facts.add(task["register"])
        if "hosts" not in task and not any(action in task for action in INCLUDES):
            variables.update(task.get("vars") or ())
    return facts, variables


@pytest.mark.parametrize("tree", TREES)
def test_no_task_has_a_variable_with_the_name_of_a_fact(tree: str) -> None:
    facts: Dict[str, Path] = {}
    variables: Dict[str, Path] = {}
    for path in sorted((CHECKOUT / tree).rglob("*.yml")):
        of_file = _names(path)
        facts.update(dict.fromkeys(of_file[0], path.relative_to(CHECKOUT)))
        variables.update(dict.fromkeys(of_file[1], path.relative_to(CHECKOUT)))
    assert facts
    assert variables
    assert {name: (str(facts[name]), str(variables[name])) for name in facts.keys() & variables.keys()} == {}
