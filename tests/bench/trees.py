# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Checkouts whose playbooks are compared: BASE, in a git worktree below build/, and the one that this file is in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
_COLLECTION = Path("build/collections/ansible_collections/zerocopy/rdma")
# With the first, Python compiles the kubernetes library anew in each run; with the second, modules start slowly. Both
# as in the Makefile. The last one would choose another Python for the recorded nodes.
_DROPPED = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "RDMA_FLEET_PYTHON")


class TreeError(Exception):
    """What keeps two trees from being compared."""


@dataclass(frozen=True)
class Tree:
    """A checkout. ``commit`` is empty for the working tree."""

    path: Path
    commit: str = ""

    def play(self, name: str, inventories: Sequence[Path], variables: Mapping[str, str]) -> str:
        """Run a public playbook; returns its output, and raises :class:`TreeError` with the end of it.

        :arg variables: of the environment.
        """
        environment = {key: value for key, value in os.environ.items() if key not in _DROPPED}
        environment.update(
            ANSIBLE_CONFIG=str(self.path / "ansible.cfg"), ANSIBLE_NOCOLOR="1", LC_ALL="C.UTF-8", **variables
        )
        command = [
            str(Path(sys.executable).with_name("ansible-playbook")),
            *(f"--inventory={path}" for path in inventories),
            str(self.path / "playbooks" / f"{name}.yml"),
        ]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode:
            raise TreeError(f"{name} of {self.commit or 'the working tree'} failed:\n{done.stdout[-4000:]}")
        return done.stdout


def commit_of(name: str) -> str:
    """The full hash of a commit; :class:`TreeError` where there is none of that name."""
    done = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = done.stdout.strip()
    if not re.fullmatch("[0-9a-f]{40,64}", found):
        raise TreeError(f"{name!r} is no commit of this repository")
    return found


def checkout(commit: str) -> Tree:
    """The tree of a commit, checked out below build/, as clean as git makes it."""
    path = CHECKOUT / "build" / "trees" / commit[:12]
    if not (path / ".git").exists():
        # What `make clean` removed is still registered.
        _git(CHECKOUT, "worktree", "prune")
        _git(CHECKOUT, "worktree", "add", "--quiet", "--force", "--detach", str(path), commit)
    _git(path, "reset", "--quiet", "--hard", commit)
    link = path / _COLLECTION
    if not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("../../../..")
    return Tree(path, commit)


def _git(directory: Path, *arguments: str) -> None:
    done = subprocess.run(["git", *arguments], cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TreeError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
