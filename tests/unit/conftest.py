# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Make ``ansible_collections.zerocopy.rdma`` importable, wherever the checkout is, run its modules, record its fleet.

What is not there on each Python of nodes is imported by the fixtures that need it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable, Dict

import pytest
from ansible.module_utils import basic
from ansible.module_utils.common import warnings

_CHECKOUT = Path(__file__).resolve().parents[2]

# Installed, or under ansible-test, the parents already have the right names.
if _CHECKOUT.parts[-3:] == ("ansible_collections", "zerocopy", "rdma"):
    _COLLECTIONS = _CHECKOUT.parents[2]
else:
    _COLLECTIONS = _CHECKOUT / "build" / "collections"
    _LINK = _COLLECTIONS / "ansible_collections" / "zerocopy" / "rdma"
    if not _LINK.exists():
        _LINK.parent.mkdir(parents=True, exist_ok=True)
        _LINK.symlink_to(_CHECKOUT)

sys.path.insert(0, str(_COLLECTIONS))

# The recorded (synthesised) fleet.
FLEET = _CHECKOUT / "tests" / "fleet"
sys.path.insert(0, str(FLEET))


def pytest_configure(config: pytest.Config) -> None:
    """Keep ansible-test from forking for each test: that takes as long as the tests, and none of them needs it."""
    forked = config.pluginmanager.get_plugin("ansible_forked")
    if forked is not None:
        config.pluginmanager.unregister(forked)


@pytest.fixture
def run_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Dict[str, Any]]:
    """Runs a module with the given options and returns its result, also when it fails."""

    def call(module: Any, **options: Any) -> Dict[str, Any]:
        arguments = json.dumps({"ANSIBLE_MODULE_ARGS": options}).encode()
        monkeypatch.setattr(basic, "_ANSIBLE_ARGS", arguments)
        # ansible-core 2.19 keeps the serialization profile beside the arguments, 2.18 does not know it.
        monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        # A module has a process of its own, in which none has warned before, and nothing of the controller is loaded:
        # there, ansible-core 2.19 would print a warning instead of returning it.
        monkeypatch.setattr(warnings, "_global_warnings", type(warnings._global_warnings)())
        internal = sys.modules.get("ansible.module_utils._internal")
        if internal:
            monkeypatch.setattr(internal, "is_controller", False)
        with pytest.raises(SystemExit):
            module.main()
        result: Dict[str, Any] = json.loads(capsys.readouterr().out)
        return result

    return call


@pytest.fixture(scope="session")
def root_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Expands a described node once and gives its root directory."""
    import expand  # the recorded fleet is a tool, not a package

    base = tmp_path_factory.mktemp("fleet")

    def root(name: str) -> Path:
        target = base / name
        if not target.exists():
            expand.write(expand.load(FLEET / "nodes" / f"{name}.yml"), target)
        return target

    return root


@pytest.fixture(scope="session")
def facts_of(root_of: Callable[[str], Path]) -> Callable[..., Dict[str, Any]]:
    """Facts of a node, gathered once unless other options are asked for."""
    from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather

    known: Dict[str, Dict[str, Any]] = {}

    def facts(name: str, **options: Any) -> Dict[str, Any]:
        if options:
            return gather.gather(str(root_of(name)), gather.GatherOptions(**options))
        if name not in known:
            known[name] = gather.gather(str(root_of(name)))
        return known[name]

    return facts
