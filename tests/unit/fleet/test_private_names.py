# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a role or a playbook keeps to itself: variables whose names begin with two underscores, and files of tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
ROLES = sorted(path for path in (CHECKOUT / "roles").iterdir() if path.is_dir())
PLAYBOOKS = sorted((CHECKOUT / "playbooks").glob("*.yml"))

_READ = re.compile(r"(?<!\w)__[a-z]\w*")
_SET = re.compile(r"^[\s-]*(?:(?:register|loop_var|index_var): (__\w+)|(__\w+):)", re.MULTILINE)
_FILES = re.compile(r"vars_files: \[(.*)\]|import_tasks: (\S+)|include_tasks: (\S+)")


def foreign(texts: Iterable[str]) -> set[str]:
    """Private names that these files read and none of them sets."""
    together = "\n".join(re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE) for text in texts)
    return set(_READ.findall(together)) - {name for pair in _SET.findall(together) for name in pair}


def with_its_files(playbook: Path) -> list[Path]:
    """A playbook, its variables and its files of tasks."""
    named = [name for found in _FILES.findall(playbook.read_text("utf-8")) for part in found for name in part.split()]
    return [playbook, *(playbook.parent / name.strip(",") for name in named)]


@pytest.mark.parametrize("role", ROLES, ids=[role.name for role in ROLES])
def test_a_role_reads_only_its_own(role: Path) -> None:
    files = [path for ending in ("yml", "j2") for path in role.rglob(f"*.{ending}")]
    assert foreign(path.read_text("utf-8") for path in files) == set()


@pytest.mark.parametrize("role", ROLES, ids=[role.name for role in ROLES])
def test_a_role_imports_no_file_from_elsewhere(role: Path) -> None:
    """What roles share has a name: a filter, a module, or an entry point of a role (`tasks_from`)."""
    assert [path.name for path in (role / "tasks").glob("*.yml") if "../" in path.read_text("utf-8")] == []


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=[playbook.stem for playbook in PLAYBOOKS])
def test_a_playbook_reads_only_its_own(playbook: Path) -> None:
    assert foreign(path.read_text("utf-8") for path in with_its_files(playbook)) == set()


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=[playbook.stem for playbook in PLAYBOOKS])
def test_a_playbook_sets_no_private_variable_of_a_role(playbook: Path) -> None:
    texts = "".join(path.read_text("utf-8") for path in with_its_files(playbook))
    assert [name for name in _READ.findall(texts) if name.startswith(tuple(f"__{role.name}_" for role in ROLES))] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("  vars:\n    __own: 1\n  msg: '{{ __own }}'", set()),
        ("  register: __own\n  when: __own.changed and __other is defined", {"__other"}),
        ('  loop_control:\n    loop_var: __own\n  msg: "{{ x | map(attribute=__own) + __other }}"', {"__other"}),
        ("# __other\n- assert: {that: true}", set()),
    ],
)
def test_what_counts_as_foreign(text: str, names: set[str]) -> None:
    assert foreign([text]) == names
