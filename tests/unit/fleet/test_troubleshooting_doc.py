# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What docs/troubleshooting.md quotes is what the collection says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables

_ROOT = Path(__file__).resolve().parents[3]
_QUOTED = re.findall(r"`([^`\n]+)`", (_ROOT / "docs/troubleshooting.md").read_text("utf-8"))
_CODE = "\n".join(
    path.read_text("utf-8")
    for part, suffix in (("plugins", "py"), ("roles", "yml"), ("roles", "sh"), ("playbooks", "yml"))
    for path in sorted((_ROOT / part).rglob(f"*.{suffix}"))
)
_CHECKS = sorted({text for text in _QUOTED if re.fullmatch(r"(?:host|pod|cluster)\.[a-z_]+", text)})
# What others say, and commands.
_NOT_OURS = re.compile(
    r"cannot allocate all claims|Insufficient|NET/IB : |Using network |Call to ibv_|GPU Direct |--tags |[A-Za-z_]+: |"
    r"(?:ansible-playbook|site|lsns|kubectl|containerd|journalctl) "
)
_MESSAGES = sorted({text for text in _QUOTED if " " in text and not _NOT_OURS.match(text)})


@pytest.mark.parametrize("check", _CHECKS)
def test_checks_have_these_ids(check: str) -> None:
    ring, what = check.split(".")
    assert f'"{check}"' in _CODE or (ring != "cluster" and f'"{what}"' in _CODE)


@pytest.mark.parametrize("message", _MESSAGES)
def test_messages_have_these_words(message: str) -> None:
    assert all(part.strip() in _CODE for part in message.split("…"))


def test_variables_exist() -> None:
    names = {name for text in _QUOTED for name in re.findall(r"\brdma_[a-z_]+", text)}
    assert names
    assert names <= set(variables.options_of())
