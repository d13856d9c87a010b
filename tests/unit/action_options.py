# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What an action on the controller has: its options, and the variables of its task; and what it returns with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.dataloader import DataLoader


def play(hostvars: Mapping[str, Mapping[str, Any]], **variables: Any) -> dict[str, Any]:
    """The variables of a task on the first of these hosts."""
    names = list(hostvars)
    return {
        "hostvars": hostvars,
        "ansible_play_hosts_all": names,
        "ansible_play_hosts": names,
        "inventory_hostname": names[0] if names else "localhost",
        **variables,
    }


def acted(
    action: Any, variables: dict[str, Any], modules: Callable[..., Any] | None = None, /, **arguments: Any
) -> dict[str, Any]:
    """What an action returns for a task with these variables and arguments; ``modules`` stands for those it calls."""
    made = action.ActionModule.__new__(action.ActionModule)
    check = variables.get("ansible_check_mode", False)
    made._task = SimpleNamespace(args=arguments, check_mode=check, diff=False, async_val=0)
    made._loader, made._execute_module = DataLoader(), modules
    made._connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=None))
    found: dict[str, Any] = made.run(None, variables)
    return found


def options(module: ModuleType, **given: Any) -> dict[str, Any]:
    """Options of the module with this documentation: those that are given, checked, and defaults."""
    checked = ArgumentSpecValidator(yaml.safe_load(module.DOCUMENTATION)["options"]).validate(given)
    assert not checked.error_messages
    found: dict[str, Any] = checked.validated_parameters
    return found
