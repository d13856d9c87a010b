# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
from typing import Any, Callable, Dict

import pytest
from ansible.module_utils import basic


@pytest.fixture
def run_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Callable[..., Dict[str, Any]]:
    """Runs a module with the given options and returns its result, also when it fails."""

    def call(module: Any, **options: Any) -> Dict[str, Any]:
        arguments = json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode()
        monkeypatch.setattr(basic, "_ANSIBLE_ARGS", arguments)
        # ansible-core 2.19 keeps the serialization profile beside the arguments, 2.18 does not know it.
        monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        with pytest.raises(SystemExit):
            module.main()
        result: Dict[str, Any] = json.loads(capsys.readouterr().out)
        return result

    return call
