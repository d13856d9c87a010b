# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A CRI-O whose command line or environment names its files: ours go where it reads them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import List, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import Installation
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import RuntimePlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import (
    RUNTIMES,
    configured,
    daemon,
    detect,
)
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_plan import PARTS

LIMITS = '[crio.runtime]\ndefault_ulimits = ["nofile={0}:{0}"]\n'
OURS = ["/srv/crio/own.d/90-zerocopy-rdma-nri.conf", "/srv/crio/own.d/90-zerocopy-rdma-memlock.conf"]


@pytest.fixture(name="files")
def make_files(tmp_path: Path) -> Files:
    """The usual files would be read otherwise: one is broken."""
    for path, text in {
        "etc/crio/crio.conf": "=",
        "etc/crio/crio.conf.d/10-crio.conf": LIMITS.format(1),
        "srv/crio/own.conf": LIMITS.format(7),
        "srv/crio/own.d/99": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return Files(str(tmp_path))


def planned(files: Files, *arguments: str) -> RuntimePlan:
    """The plan for a CRI-O that runs with these arguments, as /proc shows them."""
    runtime = RUNTIMES["crio"]
    layout = runtime.configured(detect(files, "crio"), ["/usr/bin/crio", *arguments, ""])
    return runtime.plan(Installation(files, layout, "", run), PARTS, {})


@pytest.mark.parametrize(
    "arguments",
    [
        # As systemd makes them of $CRIO_CONFIG_OPTIONS in an EnvironmentFile.
        ["--config", "/srv/crio/own.conf", "--config-dir", "/srv/crio/own.d", "--log-level=debug"],
        [
            "-c=/srv/crio/own.conf",
            "--cgroup-manager",
            "systemd",
            "-d",
            "/srv/crio/own.d",
            "--conmon",
            "/usr/bin/conmon",
        ],
        ["--container-attach-socket-dir=/run/c", "--config=/srv/crio/own.conf", "--config-dir=/srv/crio/own.d"],
    ],
)
def test_files_of_the_command_line(files: Files, arguments: List[str]) -> None:
    plan = planned(files, *arguments)
    wanted = {file.path: file.content for file in plan.wanted}
    assert [path for path in wanted if "/crio/" in path] == OURS
    assert '["nofile=7:7", "memlock=-1:-1"]' in (wanted[OURS[1]] or "")
    assert {"/srv/crio/own.conf", "/srv/crio/own.d/99"} <= {*plan.files}
    assert "/srv/crio/own.d/*" in plan.globs


def test_the_socket_of_the_command_line(files: Files) -> None:
    layout = detect(files, "crio")
    found = RUNTIMES["crio"].configured(layout, ["crio", "--listen", "/run/own.sock", "-l", "info", "--"])
    assert found == replace(layout, socket="/run/own.sock")


@pytest.mark.parametrize(
    ("environment", "arguments", "found"),
    [
        ("", "", ("/etc/crio/crio.conf", "/etc/crio/crio.conf.d", "/var/run/crio/crio.sock")),
        (
            "PATH=/bin\0CONTAINER_CONFIG=/srv/a=b.conf\0CONTAINER_CONFIG_DIR=/srv/c.d\0CONTAINER_LISTEN=/run/own.sock\0",
            "",
            ("/srv/a=b.conf", "/srv/c.d", "/run/own.sock"),
        ),
        # The command line comes first, and what is empty is set.
        (
            "CONTAINER_CONFIG=\0CONTAINER_CONFIG_DIR=/srv/c.d\0",
            "-d\0/srv/own.d\0",
            ("", "/srv/own.d", "/var/run/crio/crio.sock"),
        ),
    ],
)
def test_files_of_the_environment(
    files: Files, tmp_path: Path, environment: str, arguments: str, found: Tuple[str, str, str]
) -> None:
    for path, text in {
        "sys/fs/cgroup/system.slice/crio.service/cgroup.procs": "415\n",
        "proc/415/comm": "crio\n",
        "proc/415/stat": "415 (crio) S 1 415 415 0 -1 4194560" + " 0" * 12 + " 4200 1\n",
        "proc/415/cmdline": f"/usr/bin/crio\0{arguments}",
        "proc/415/environ": environment,
        "proc/sys/kernel/random/boot_id": "b00t\n",
        "proc/stat": "btime 1700000000\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    layout = detect(files, "crio")
    running = daemon(files, layout)
    assert running is not None
    layout = configured(layout, running)
    assert (layout.main, layout.dropins, layout.socket) == found


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--config-dir", ""],
            "CRI-O runs with --config-dir '' (or CONTAINER_CONFIG_DIR in its environment): it must be",
        ),
        (["-d=conf.d"], "CRI-O runs with --config-dir 'conf.d'"),
        (["--config="], "CRI-O runs with --config ''"),
    ],
)
def test_without_a_place_for_our_files(files: Files, arguments: List[str], told: str) -> None:
    with pytest.raises(HostError, match=re.escape(told)):
        planned(files, *arguments)


@pytest.mark.parametrize("name", ["10-theirs.conf", "99-theirs.conf"])
def test_a_longer_timeout_is_kept(tmp_path: Path, name: str) -> None:
    """In a file before ours or after it, where a shorter one would be refused."""
    theirs = tmp_path / "etc/crio/crio.conf.d" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text('[crio.nri]\nnri_plugin_request_timeout = "300s"\n')
    plan = planned(Files(str(tmp_path)))
    nri = next(file.content or "" for file in plan.wanted if file.path.endswith("nri.conf"))
    assert ("request_timeout" in nri, "registration_timeout" in nri) == (False, True)
    assert plan.effective.get("nri", ("plugin_request_timeout",)) == "300s"


def test_connections_that_are_closed_are_opened(tmp_path: Path) -> None:
    theirs = tmp_path / "etc/crio/crio.conf.d/10-theirs.conf"
    theirs.parent.mkdir(parents=True)
    for text, opened in (("", False), ("nri_disable_connections = true\n", True)):
        theirs.write_text(f"[crio.nri]\n{text}")
        plan = planned(Files(str(tmp_path)))
        nri = next(file.content or "" for file in plan.wanted if file.path.endswith("nri.conf"))
        assert ("nri_disable_connections = false\n" in nri, plan.effective.nri_enabled) == (opened, True)
        assert plan.before.nri_enabled is not opened
    theirs.rename(theirs.with_name("99-theirs.conf"))
    with pytest.raises(
        HostError, match=r"99-theirs\.conf is read after .* and sets crio\.nri\.nri_disable_connections to"
    ):
        planned(Files(str(tmp_path)))
