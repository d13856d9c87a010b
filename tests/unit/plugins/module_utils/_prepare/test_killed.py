# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A first run that is killed at any step on the file system leaves nothing that the way back does not remove."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import inject
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import converge as kernel
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.request import intent
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_files import (
    NODES,
    call,
    make,
    tree,
)

PROGRAM = b"#!/usr/bin/env python3\n"


class Killed(BaseException):
    """What SIGKILL is to the code: nothing after it runs."""


def _kernel(root: str, wanted: bool) -> None:
    asked = intent(modules=["rdma_cm"], options={"ib_core": {"netns_mode": 0}}, user_memlock="unlimited")
    kernel.carry_out(Files(root), asked if wanted else intent(), False)


def _inject(root: str, wanted: bool) -> None:
    options: Dict[str, Any] = {name: option.get("default") for name, option in inject.SPEC.items()}
    options.update(program=base64.b64encode(PROGRAM).decode(), digest=hashlib.sha256(PROGRAM).hexdigest())
    options.update(root=root, interpreter="/usr/bin/python3", state="present" if wanted else "absent")
    inject.carry_out(Files(root), inject.request(options), False)


def _runtime(root: str, wanted: bool) -> None:
    call(root, state="present" if wanted else "absent")


CASES: List[Any] = [pytest.param(_kernel, {"etc/hosts": ""}, id="kernel"), pytest.param(_inject, {}, id="inject")]
CASES += [pytest.param(_runtime, NODES[name], id=name) for name in ("no configuration", "k3s", "rke2", "crio")]


def _killed_at(moment: int, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> bool:
    steps = [0]

    def counted(real: Any) -> Any:
        def step(*arguments: Any, **keywords: Any) -> Any:
            steps[0] += 1
            if steps[0] == moment:
                raise Killed
            return real(*arguments, **keywords)

        return step

    with monkeypatch.context() as patch:
        for name in ("rename", "unlink", "mkdir", "rmdir", "symlink", "fsync"):
            patch.setattr(os, name, counted(getattr(os, name)))
        try:
            act()
        except Killed:
            return True
    return False


@pytest.mark.parametrize(("act", "files"), CASES)
def test_a_killed_first_run_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[str, bool], None], files: Dict[str, str]
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    moment, killed = 0, True
    while killed:
        moment += 1
        root = make(tmp_path / str(moment), files)
        before = tree(root)
        killed = _killed_at(moment, lambda root=root: act(root, True), monkeypatch)  # type: ignore[misc]
        act(root, False)
        assert tree(root) == before, moment
    assert moment > 10
