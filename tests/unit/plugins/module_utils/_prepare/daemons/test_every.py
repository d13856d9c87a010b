# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The daemons by their names, and what a node loads of those that it shall not have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Mapping

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import (
    absent,
    attributes,
    every,
    exporter,
    inject,
    lldpd,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

ALL = (inject, exporter, attributes, lldpd)
ROOM = "ansible_collections.zerocopy.rdma.plugins.module_utils._prepare"


def test_each_is_known_by_the_name_of_its_ledger() -> None:
    assert [module.DAEMON.concern for module in ALL] == list(every.DAEMONS)
    for module in ALL:
        kind = every.DAEMONS[module.DAEMON.concern]()
        assert (kind.spec, kind.converge) == (module.SPEC, module.converge)


@pytest.mark.parametrize("check", [True, False])
def test_a_node_that_shall_have_none_and_never_had_one_loads_none(tmp_path: Path, check: bool) -> None:
    options = {name: {"root": str(tmp_path), "state": "absent"} for name in every.DAEMONS}
    code = (
        f"import sys\nfrom {ROOM} import concerns\nfrom {ROOM}.daemons import every\n"
        f"options = {options!r}\n"
        "assert [set(every.spec(name, own)) for name, own in options.items()] == [{'root', 'state'}] * 4\n"
        f"found = concerns.change('daemons', options, {check})\n"
        "assert found == {'changed': False, 'changes': [], 'diff': [], 'warnings': []}, found\n"
        f"loaded = {{name.rpartition('.')[2] for name in sys.modules if name.startswith('{ROOM}.daemons.')}}\n"
        "assert loaded == {'absent', 'every'}, loaded\n"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("own", [{"state": "present"}, {}, {"state": "absent", "runtime": "auto"}])
def test_any_other_options_are_read_by_the_daemons_own_specification(own: Any) -> None:
    assert every.spec("exporter", own) is exporter.SPEC


@pytest.mark.parametrize("name", list(every.DAEMONS))
def test_what_says_that_it_was_there_is_not_passed_over(tmp_path: Path, name: str) -> None:
    """Of a ledger that cannot be read nobody knows what is to be removed."""
    ledger = tmp_path / f"var/lib/zerocopy-rdma/{name}/ledger.json"
    ledger.parent.mkdir(parents=True)
    ledger.write_text("{")
    with pytest.raises(HostError, match="Nothing was changed"):
        every.converge(name, {"root": str(tmp_path), "state": "absent"}, True)


def test_a_note_alone_leads_to_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = absent.ledger_of(Files(str(tmp_path)), "exporter")
    found.notes = {"pending": "restart"}
    found.save()
    asked: List[Mapping[str, Any]] = []

    def converge(options: Mapping[str, Any], check: bool) -> Dict[str, Any]:
        asked.append(options)
        return {"changed": True}

    monkeypatch.setattr(exporter, "converge", converge)
    options = {"root": str(tmp_path), "state": "absent"}
    assert every.converge("exporter", options, False) == {"changed": True}
    assert asked == [options]
