# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What people read of the results of actions, and what programs do."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _for_people
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import played

NASTY = "a\x1b[2J\u202eb\n"
SHOWN = "a\\u001b[2J\\u202eb\n"


def test_texts_are_shown_and_data_stays() -> None:
    data = {"ansible_facts": {"rdma": {"text": NASTY}}, "objects": [{"msg": NASTY}], "directory": NASTY}
    concern = {"error": NASTY, "warnings": [NASTY], "changes": [NASTY]}
    said = {
        "msg": NASTY,
        "problems": [NASTY],
        "unplanned": {"n1": NASTY},
        "concerns": {"runtime": concern, "links": None},
        "checks": [{"text": NASTY, "evidence": {"name": NASTY}}],
    }
    assert _for_people.cleaned({**data, **said}) == {
        **data,
        "msg": SHOWN,
        "problems": [SHOWN],
        "unplanned": {"n1": SHOWN},
        "concerns": {"runtime": {"error": SHOWN, "warnings": [SHOWN], "changes": [NASTY]}, "links": None},
        "checks": [{"text": SHOWN, "evidence": {"name": NASTY}}],
    }


def test_warnings_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _for_people.warn(NASTY)
    said = capsys.readouterr().err
    assert SHOWN.strip() in said.replace("\n", "")
    assert "\u202e" not in said


@pytest.mark.parametrize("old", [True, False])
def test_warnings_and_errors_of_modules_are_shown(old: bool, tmp_path: Path) -> None:
    if not old and not find_spec("ansible.module_utils._internal._messages"):
        pytest.skip("ansible-core before 2.19 has warnings as texts only")
    event = {"msg": f"event {NASTY}", "help_text": NASTY}
    cause = {"__ansible_type": "Event", "msg": f"cause {NASTY}"}
    chain = {"__ansible_type": "EventChain", "msg_reason": NASTY, "traceback_reason": NASTY, "event": cause}
    warning = {"__ansible_type": "WarningSummary", "event": {"__ansible_type": "Event", "chain": chain, **event}}
    answer = {
        "failed": True,
        "msg": f"message {NASTY}",
        "exception": NASTY,
        "warnings": [f"event {NASTY}" if old else warning],
        "deprecations": [{"msg": f"deprecation {NASTY}", "version": "9"}],
    }
    python = tmp_path / "python"
    # Whoever owns the node owns what answers there.
    python.write_text(f"#!/bin/sh\ncat <<'EOF'\n{json.dumps(answer)}\nEOF\n")
    python.chmod(0o755)
    tasks: list[dict[str, dict[str, str]]] = [{"zerocopy.rdma.rdma_support_info": {}}]
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "n1", "gather_facts": False, "tasks": tasks}]))
    reach = ["-i", "n1,", "-c", "local", "-e", f"ansible_python_interpreter={python}"]
    run = played(tmp_path, *reach, "play.yml", ANSIBLE_DEPRECATION_WARNINGS="true", ANSIBLE_NOCOLOR="true")
    said = run.stdout + run.stderr
    assert run.returncode == 2, said
    assert not {"\x1b", "\u202e"} & set(said), ascii(said)
    words = ["event", "message", "deprecation", *([] if old else ["cause"])]
    plain = "".join(said.split())
    assert [word for word in words if f"{word}a\\u001b[2J\\u202eb" not in plain] == []


def test_nothing_warns_but_there() -> None:
    plugins = variables.ROLES.parent / "plugins"
    found = [
        path
        for path in plugins.rglob("*.py")
        if re.search(r"isplay(\(\))?\.(warning|deprecated|error)", path.read_text("utf-8"))
    ]
    assert [path.name for path in found] == ["_for_people.py"]
