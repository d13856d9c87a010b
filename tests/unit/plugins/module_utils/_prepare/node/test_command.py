# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import (
    NOBODY,
    as_nobody,
    within_reach,
)


@pytest.mark.parametrize("path", [None, "", ":/usr/bin", "/usr/bin:", ".:bin:/usr/bin", "/usr/bin::"])
def test_no_program_of_the_directory_where_a_run_happens_to_be(
    monkeypatch: pytest.MonkeyPatch, path: Optional[str]
) -> None:
    """The directory is a local user's, who has put programs there: root's run happens to be in it."""
    with within_reach() as top:
        theirs = top / "home"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)

        def attack() -> None:
            for name in ("zerocopy-tool", "bin/zerocopy-tool", "true", "bin/true"):
                tool = theirs / name
                tool.parent.mkdir(exist_ok=True)
                tool.write_text("#!/bin/sh\nid -u\n")
                tool.chmod(0o755)

        assert as_nobody(attack) is None
        monkeypatch.chdir(theirs)
        if path is None:
            monkeypatch.delenv("PATH", raising=False)
        else:
            monkeypatch.setenv("PATH", path)
        assert command.run(["zerocopy-tool"]).rc == command.NOT_INSTALLED
        assert command.find("zerocopy-tool") == ""
        done = command.run(["true"])
        assert (done.rc, done.out) == (0, "")
        assert os.path.isabs(command.find("true"))
        monkeypatch.chdir("/")


def test_a_directory_of_the_caller_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "true"
    tool.write_text("#!/bin/sh\necho own\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command.run(["true"]).out == "own\n"
