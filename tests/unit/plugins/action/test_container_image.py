# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which nodes get the archive; what the module does with it is tested beside the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins.connection.local import Connection
from ansible.template import Templar

from ansible_collections.zerocopy.rdma.plugins.action import container_image, node_drift
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.driver import image_archive

NAME = "registry.k8s.io/networking/dranet:v1.4.0"


class Recorded(container_image.ActionModule):
    """Answers instead of a node; keeps with which options the module was called, and what was sent."""

    def _execute_module(self, module_name: str, module_args: Dict[str, Any], task_vars: Any = None) -> Dict[str, Any]:
        assert module_name == "zerocopy.rdma.container_image"
        self.calls.append(dict(module_args))
        if "archive" in module_args:
            self.sent = Path(module_args["archive"]).read_bytes()
        return dict(self.answers.pop(0))


def action(options: Dict[str, Any], *answers: Dict[str, Any], check: bool = False) -> Recorded:
    task = Task()
    task.action, task.args, task.async_val, task.check_mode, task.diff = "container_image", options, 0, check, False
    context, loader = PlayContext(), DataLoader()
    connection = Connection(context)
    connection._load_name = "local"
    connection.set_options(direct={})
    made = Recorded(task, connection, context, loader, Templar(loader=loader), None)
    made.calls, made.answers, made.sent = [], list(answers), b""
    return made


@pytest.mark.parametrize(
    ("answers", "check", "sent"),
    [
        ([{"changed": False}], False, False),
        ([{"changed": True}], True, False),
        ([{"failed": True, "changed": True, "msg": "no"}], False, False),
        ([{"changed": True}, {"changed": True, "id": "sha256:1"}], False, True),
        ([{"changed": True}, {"failed": True, "msg": "no"}], False, True),
    ],
)
def test_sent_only_where_it_is_missing(tmp_path: Path, answers: Any, check: bool, sent: bool) -> None:
    archive = tmp_path / "image.tar"
    identity = image_archive.oci(archive, NAME)
    made = action({"name": NAME, "archive": str(archive), "runtime": "k3s"}, *answers, check=check)
    result = made.run(task_vars={})
    asked = {"name": NAME, "runtime": "k3s", "ids": {"amd64": identity}}
    assert made.calls[0] == asked
    assert made.answers == []
    assert made.sent == (archive.read_bytes() if sent else b"")
    assert {key: result[key] for key in answers[-1]} == answers[-1]
    made.cleanup()
    assert all(not Path(call["archive"]).exists() for call in made.calls[1:])


def test_what_is_taken_back_needs_no_archive() -> None:
    made = action({"state": "absent"}, {"changed": True})
    assert made.run(task_vars={})["changed"] is True
    assert made.calls == [{"state": "absent"}]


def test_an_archive_that_cannot_be(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    for said in (f"archive is '{archive}', which cannot be read", f"which contains localhost/other:1, not {NAME}"):
        refused = action({"name": NAME, "archive": str(archive)}).run(task_vars={})
        assert refused["failed"] is True
        assert said in refused["msg"]
        image_archive.oci(archive, "localhost/other:1")


class RecordedDrift(node_drift.ActionModule):
    def _execute_module(self, module_name: str, module_args: Dict[str, Any], task_vars: Any = None) -> Dict[str, Any]:
        assert module_name == "zerocopy.rdma.node_drift"
        return {"asked": module_args}


def test_drift_compares_every_image_with_its_archive(tmp_path: Path) -> None:
    names = ("localhost/plugin:1", "localhost/cni:1")
    identities = [image_archive.oci(tmp_path / f"{place}.tar", name) for place, name in enumerate(names)]
    wanted = [{"name": name, "archive": str(tmp_path / f"{place}.tar")} for place, name in enumerate(names)]
    plain = action({"images": wanted})
    task = (plain._task, plain._connection, plain._play_context, plain._loader, plain._templar, None)
    asked = RecordedDrift(*task).run(task_vars={})["asked"]
    assert [one["ids"] for one in asked["images"]] == [{"amd64": identity} for identity in identities]
    wanted[1]["archive"] = wanted[0]["archive"]
    refused = RecordedDrift(*task).run(task_vars={})
    assert refused["failed"] is True
    assert refused["msg"].endswith(f"which contains {names[0]}, not {names[1]}")
