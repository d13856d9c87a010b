# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Configurations that nobody should write: a clear message, and nothing is changed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd import oci_spec
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_files import (
    call,
    make,
    tree,
)
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import as_nobody, within_reach

MAIN = "etc/containerd/config.toml"
CRIO = "etc/crio/crio.conf"
OWN = "/etc/own.json"
HANDLER = "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.{}]\n"


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        (MAIN, "version = 2\ndisabled_plugins = 7\n", "disabled_plugins must be a list of plugins, not 7"),
        (MAIN, "version = 2\ndisabled_plugins = [7]\n", r"disabled_plugins must be a list of plugins, not \[7\]"),
        (MAIN, "version = '2'\n", "version must be a number such as 2, not '2'"),
        (CRIO, "crio = 3\n", "crio must be a table, not 3"),
        (CRIO, "[crio]\nnri = 3\n", "crio.nri must be a table, not 3"),
        (CRIO, "[crio]\nruntime = []\n", r"crio.runtime must be a table, not \[\]"),
        (
            CRIO,
            "[crio.runtime]\ndefault_ulimits = 'nofile=1:2'\n",
            "a list .*, not 'nofile=1:2'",
        ),
        (CRIO, "[crio.runtime]\ndefault_ulimits = [1]\n", r"default_ulimits must be a list .*, not \[1\]"),
    ],
)
def test_values_of_another_type(tmp_path: Path, path: str, text: str, said: str) -> None:
    root = make(tmp_path, {path: text})
    before = tree(root)
    with pytest.raises(HostError, match=f"/{path}: .*{said}"):
        call(root)
    assert tree(root) == before


@pytest.mark.parametrize(
    "rlimits",
    [
        7,
        {},
        [7],
        [{"hard": 1, "soft": 1}],
        [{"type": "RLIMIT_MEMLOCK", "hard": "unlimited", "soft": 1}],
        [{"type": "RLIMIT_MEMLOCK", "hard": -1, "soft": 1}],
        [{"type": "RLIMIT_MEMLOCK", "hard": 1.5, "soft": 1}],
        [{"type": "RLIMIT_MEMLOCK", "hard": 2**64, "soft": 1}],
        [{"type": "RLIMIT_MEMLOCK", "hard": True, "soft": 1}],
    ],
)
def test_odd_limits_in_a_base_specification(tmp_path: Path, rlimits: Any) -> None:
    text = "version = 2\n" + HANDLER.format("own") + f"base_runtime_spec = '{OWN}'\n"
    root = make(tmp_path, {MAIN: text, OWN[1:]: json.dumps({"process": {"rlimits": rlimits}})})
    with pytest.raises(HostError, match=f"{OWN}: process.rlimits must be a list of limits"):
        call(root)


@pytest.mark.parametrize("text", ["[]", "7", '{"process": 7}', '{"process": {}, "linux": 7}', "[" * 100000, "\udce4"])
def test_no_base_specification(text: str) -> None:
    with pytest.raises(HostError, match=r"own\.json is not an OCI runtime specification"):
        oci_spec.parse(text, OWN)


def test_a_limit_in_half(tmp_path: Path) -> None:
    spec = oci_spec.parse('{"process": {"rlimits": [{"type": "RLIMIT_MEMLOCK", "hard": 99999}]}}', OWN)
    assert oci_spec.with_memlock(spec, 70000)["process"]["rlimits"] == [
        {"type": "RLIMIT_MEMLOCK", "hard": 99999, "soft": 70000}
    ]


@pytest.mark.parametrize(
    ("main", "fifo"),
    [
        ("", MAIN),
        ("version = 2\nimports = ['conf.d/*.toml']\n", "etc/containerd/conf.d/10-pipe.toml"),
        ("version = 2\n" + HANDLER.format("own") + f"base_runtime_spec = '{OWN}'\n", OWN[1:]),
    ],
)
def test_a_fifo_is_not_waited_for(tmp_path: Path, main: str, fifo: str) -> None:
    root = make(tmp_path, {MAIN: main} if main else {"etc/containerd/other": ""})
    path = tmp_path / fifo
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    with pytest.raises(HostError, match=f"/{fifo} is not a regular file"):
        call(root)


def test_a_file_masked_by_dev_null_is_empty(tmp_path: Path) -> None:
    root = make(tmp_path, {CRIO: ""})
    (tmp_path / "etc/crio/crio.conf.d").mkdir()
    (tmp_path / "dev").mkdir()
    (tmp_path / "etc/crio/crio.conf.d/10-default.conf").symlink_to("/dev/null")
    (tmp_path / "dev/null").write_bytes(b"")
    assert call(root).facts["runtime"] == "crio"


@pytest.mark.parametrize("path", [MAIN, CRIO])
def test_latin_1_is_refused(tmp_path: Path, path: str) -> None:
    root = make(tmp_path, {path: ""})
    (tmp_path / path).write_bytes("version = 2\n# f\xfcr alle\n".encode("latin-1"))
    before = tree(root)
    with pytest.raises(HostError, match=f"/{path}, line 2: the text is not UTF-8"):
        call(root)
    assert tree(root) == before


def test_line_ends_of_unicode_are_none_of_toml(tmp_path: Path) -> None:
    text = (
        "# one \x85 two \u2028 three \u2029\nversion = 2\n" + HANDLER.format("runc") + "runtime_type = 'x'  # \u2028\n"
    )
    root = make(tmp_path, {MAIN: text})
    call(root)
    lines = (tmp_path / MAIN).read_text().split("\n")
    assert [line for line in text.split("\n") if line not in lines] == []
    assert lines[2].startswith("imports = ")
    call(root, state="absent")
    assert (tmp_path / MAIN).read_text() == text


def test_many_handlers_take_time_in_proportion(tmp_path: Path) -> None:
    def seconds(number: int) -> float:
        text = "".join(HANDLER.format(f"h{index}") + "runtime_type = 'x'\n" for index in range(number))
        root = make(tmp_path / str(number), {MAIN: f"version = 2\n{text}"})
        start = time.process_time()
        assert len(call(root).facts["handlers"]) == number + 1
        return time.process_time() - start

    seconds(1)
    # Quadratic would be 64 times as long.
    assert seconds(400) < 24 * seconds(50)


@pytest.mark.parametrize(("mode", "ours"), [(0o600, 0o600), (0o640, 0o640), (0o644, 0o644), (0o755, 0o644)])
def test_a_copy_of_a_base_specification_is_as_private(mode: int, ours: int) -> None:
    """A local user looks for the secret in whatever can be read."""
    text = "version = 2\n" + HANDLER.format("own") + f"base_runtime_spec = '{OWN}'\n"
    secret = json.dumps({"process": {"env": ["TOKEN=secret"]}})
    with within_reach() as top:
        root = make(top, {MAIN: text, OWN[1:]: secret})
        (top / OWN[1:]).chmod(0o644)
        call(root, memlock="65536")
        (top / OWN[1:]).chmod(mode)
        # One that an earlier run made with another mode, too.
        call(root, memlock="unlimited")
        (copy,) = (path for path in top.rglob("*.json") if path.name.startswith("zerocopy-rdma-base-spec-"))
        assert "TOKEN=secret" in copy.read_text()
        assert copy.stat().st_mode & 0o777 == ours

        def look() -> List[str]:
            paths = [Path(directory, name) for directory, _below, names in os.walk(root) for name in names]
            return [path.name for path in paths if os.access(path, os.R_OK) and "TOKEN=secret" in path.read_text()]

        # Both, or neither.
        assert sorted(as_nobody(look)) == (sorted([copy.name, OWN[5:]]) if mode & 0o004 else [])
        assert call(root, memlock="unlimited").changes == []
