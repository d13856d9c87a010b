# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import redact

CONFIG = """version = 2  # plain
[plugins."io.containerd.grpc.v1.cri".registry.configs."r.example".auth]
  username = "hidden-user"
  password = 'hidden-1'
  identitytoken = "hidden-2"
[plugins."io.containerd.grpc.v1.cri".registry.configs.other]
  auth = {username = "hidden-3", password = "hidden-4"}
[plugins."io.containerd.grpc.v1.cri".registry.headers]
  X-Any = [
    "hidden-5",
    "hidden-6",
  ]
[plugins.own]
  api_key = \"\"\"
hidden-7
\"\"\"
  endpoint = "https://user:hidden-8@plain.example/"
  nested = [{token = "hidden-9"}]
  environment = ["REGISTRY_TOKEN=hidden-10", "PLAIN=1"]
[[proxies]]
  password = "hidden-11"
  plain = 1
"""


def test_credentials_are_taken_out_and_nothing_else() -> None:
    hidden = redact.text(CONFIG)
    assert "hidden" not in hidden
    assert hidden.count("\n") == CONFIG.count("\n")
    kept = [line for line in CONFIG.split("\n") if "hidden" not in line and line.strip(' "],')]
    assert [line for line in kept if line not in hidden and "X-Any" not in line and "api_key" not in line] == []
    for part in ("plain.example", '"PLAIN=1"', "X-Any = ", "api_key = "):
        assert part in hidden


def test_what_cannot_be_read_is_redacted_too() -> None:
    assert "hidden" not in redact.text("[broken\npassword = 'hidden'\n")
    assert redact.text('{"process": {"env": ["A_TOKEN=hidden", "B=1"]}}') == (
        '{"process": {"env": ["A_TOKEN=REDACTED", "B=1"]}}'
    )


def test_values_in_messages() -> None:
    assert redact.value(("plugins", "x", "auth", "username"), "me") == "REDACTED"
    assert redact.value(("plugins", "x"), {"password": 1}) == "REDACTED"
    assert redact.value(("plugins", "x"), ["a"]) == ["a"]


@pytest.mark.parametrize("diff", [False, True])
def test_a_diff_is_returned_when_it_is_asked_for(run_part: Callable[..., Any], tmp_path: Path, diff: bool) -> None:
    main = tmp_path / "etc/containerd/config.toml"
    main.parent.mkdir(parents=True)
    (tmp_path / "var/lib").mkdir(parents=True)
    main.write_text(CONFIG)
    done: Dict[str, Any] = run_part("runtime", root=str(tmp_path), _ansible_diff=diff)
    assert done["changed"] is True
    assert ("diff" in done) is diff
    assert "hidden" not in str(done)
    assert "hidden-1" in main.read_text()
