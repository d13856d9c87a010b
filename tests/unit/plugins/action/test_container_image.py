# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which nodes get the archive; what the module does with it is tested beside the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import pytest
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins.connection.local import Connection
from ansible.template import Templar

from ansible_collections.zerocopy.rdma.plugins.action import container_image, node
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


class RecordedNode(node.ActionModule):
    def _execute_module(self, module_name: str, module_args: Dict[str, Any], task_vars: Any = None) -> Dict[str, Any]:
        assert module_name == "zerocopy.rdma.node"
        self.calls.append(module_args)
        archives = [image["archive"] for image in module_args["images"] if "archive" in image]
        self.sent += [Path(archive).read_bytes() for archive in archives]
        return {"changed": True, "changes": [{"name": "localhost/cni:1"}]}


def node_action(options: Dict[str, Any], check: bool = False) -> RecordedNode:
    plain = action(options, check=check)
    made = RecordedNode(plain._task, plain._connection, plain._play_context, plain._loader, plain._templar, None)
    made.calls, made.sent = [], []
    return made


def test_every_image_is_compared_with_its_archive(tmp_path: Path) -> None:
    names = ("localhost/plugin:1", "localhost/cni:1")
    identities = [image_archive.oci(tmp_path / f"{place}.tar", name) for place, name in enumerate(names)]
    wanted = [{"name": name, "archive": str(tmp_path / f"{place}.tar")} for place, name in enumerate(names)]
    for options, check in ({"compare": True}, False), ({}, True):
        made = node_action({"images": wanted, **options}, check)
        made.run(task_vars={"inventory_hostname": "n1"})
        (asked,) = made.calls
        assert [image["ids"] for image in asked["images"]] == [{"amd64": identity} for identity in identities]
        assert made.sent == []
    # Only the archive of the image that is missing is sent.
    made = node_action({"images": wanted})
    made.run(task_vars={"inventory_hostname": "n1"})
    (image,) = made.calls[1]["images"]
    assert (image["name"], image["ids"]) == (names[1], {"amd64": identities[1]})
    assert made.sent == [(tmp_path / "1.tar").read_bytes()]
    made.cleanup()
    assert not Path(image["archive"]).exists()
    wanted[1]["archive"] = wanted[0]["archive"]
    with pytest.raises(AnsibleActionFail, match=f"which contains {names[0]}, not {names[1]}"):
        node_action({"images": wanted}).run(task_vars={})
