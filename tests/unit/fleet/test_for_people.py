# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What people read of the results of actions, and what programs do."""

from __future__ import annotations

import re

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _for_people

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


def test_nothing_warns_but_there() -> None:
    plugins = variables.ROLES.parent / "plugins"
    found = [
        path
        for path in plugins.rglob("*.py")
        if re.search(r"isplay(\(\))?\.(warning|deprecated|error)", path.read_text("utf-8"))
    ]
    assert [path.name for path in found] == ["_for_people.py"]
