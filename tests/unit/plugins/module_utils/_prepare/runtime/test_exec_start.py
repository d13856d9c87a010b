# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What ``systemctl show`` says of a unit that is not running."""

from __future__ import annotations

from typing import Any, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed, Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import exec_start
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import RUNTIMES

LAYOUT = RUNTIMES["containerd"].layout("containerd.service")
_END = "ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }\n"


def shown(argv: str, path: str = "") -> str:
    return f"ExecStart={{ path={path or argv.split(' ')[0]} ; argv[]={argv} ; {_END}"


def says(text: str) -> Runner:
    def run(argv: Sequence[str], timeout: float = 60, stdin: Any = None) -> Completed:
        assert list(argv) == ["systemctl", "show", "--property=ExecStart", "containerd.service"]
        return Completed(0, text, "")

    return run


@pytest.mark.parametrize(
    ("argv", "changed"),
    [
        ("/usr/bin/containerd", "/usr/bin/containerd --config /x"),
        (
            "/opt/bin/containerd --config /etc/site.toml --root /mnt/containerd --state=/run/c -a /run/c.sock",
            "/opt/bin/containerd --config /x --root /mnt/containerd --state=/run/c -a /run/c.sock",
        ),
        ("/usr/bin/containerd -log-level debug -c=/a -config /b", "/usr/bin/containerd --config /x -log-level debug"),
    ],
)
def test_only_the_configuration_is_changed(argv: str, changed: str) -> None:
    words = exec_start.command(LAYOUT, says(shown(argv)))
    assert words == tuple(argv.split(" "))
    assert exec_start.with_config(words, "/x") == changed


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("ExecStart=\n", "must be a single command"),
        ("", "must be a single command, not none"),
        (shown("/usr/bin/containerd") + shown("/usr/bin/containerd"), "must be a single command"),
        (shown("/usr/local/bin/start --config /x"), "must start containerd itself, not '/usr/local/bin/start "),
        (shown("containerd --config /x", "/opt/wrapper"), "must start containerd itself"),
        (shown("/usr/bin/containerd $OPTIONS"), r"because of '\$OPTIONS'"),
        (shown('/usr/bin/containerd --root "/mnt/my disk"'), """because of '"/mnt/my'"""),
        (shown("/usr/bin/containerd --root /mnt/a\\x20b"), "cannot be read exactly"),
        (shown("/usr/bin/containerd --root /mnt/50%"), "cannot be read exactly"),
        (shown("/usr/bin/containerd --root  /mnt"), "because of ''"),
    ],
)
def test_what_cannot_be_read_exactly_is_refused(said: str, reason: str) -> None:
    with pytest.raises(HostError, match=rf"^containerd\.service: .*{reason}"):
        exec_start.command(LAYOUT, says(said))
    assert exec_start.configured(LAYOUT, says(said)) == LAYOUT


def test_where_a_stopped_runtime_has_its_files() -> None:
    argv = "/usr/bin/containerd --config /etc/site.toml --address=/run/site.sock --root /r --state /s"
    found = exec_start.configured(LAYOUT, says(shown(argv)))
    assert (found.main, found.socket, found.placed) == ("/etc/site.toml", "/run/site.sock", True)


def test_options_of_k3s_are_not_those_of_its_containerd() -> None:
    layout = RUNTIMES["k3s"].layout("containerd.service")
    assert exec_start.configured(layout, says(shown("/usr/local/bin/k3s server --config /etc/k3s.yaml"))) == layout
