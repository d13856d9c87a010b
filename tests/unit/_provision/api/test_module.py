# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Modules that talk to a cluster, where the collection that they need is missing."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import module
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import packages
from ansible_collections.zerocopy.rdma.plugins.modules import cluster_info


@pytest.mark.parametrize("check", [False, True])
def test_a_missing_collection_is_told_in_check_mode_as_well(
    run_module: Callable[..., Dict[str, Any]], monkeypatch: pytest.MonkeyPatch, check: bool
) -> None:
    monkeypatch.setattr(module, "HAS_KUBERNETES_CORE", False)
    # Those of kubernetes.core, if it is there after all, have other types.
    monkeypatch.setattr(module, "AUTH_ARG_SPEC", {"kubeconfig": {"type": "raw"}, "context": {"type": "str"}})
    result = run_module(cluster_info, kubeconfig="config", _ansible_check_mode=check)
    assert result["failed"]
    assert result["msg"].startswith("the collection kubernetes.core is missing where Ansible runs: ansible-galaxy")


@pytest.mark.parametrize("check", [False, True])
def test_all_missing_packages_are_told_at_once(
    run_module: Callable[..., Dict[str, Any]], monkeypatch: pytest.MonkeyPatch, check: bool
) -> None:
    monkeypatch.setattr(module, "HAS_KUBERNETES_CORE", True)
    for name in packages.PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(module, "AUTH_ARG_SPEC", {"kubeconfig": {"type": "raw"}, "context": {"type": "str"}})
    result = run_module(cluster_info, kubeconfig="config", _ansible_check_mode=check)
    names = "cel-expr-python, jmespath, kubernetes, netaddr"
    install = f"{sys.executable} -m pip install {names.replace(',', '')}"
    assert result["msg"] == f"Python packages are missing where Ansible runs: {names}. Run {install}"
