# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The common end of the modules of this room."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Mapping, Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError


def answer(module: AnsibleModule, call: Callable[[], Dict[str, Any]]) -> None:
    """Exit with what ``call`` returns, its ``warnings`` as Ansible's; fail with the text of a :class:`HostError`.

    The ``diff`` is returned only with ``--diff``, because Ansible would print it at ``-vvv`` as well.
    """
    # The node's tools make files too, with the modes that they have when the system starts them.
    before = os.umask(0o022)
    try:
        result = call()
    except HostError as error:
        module.fail_json(msg=str(error))
    finally:
        os.umask(before)
    if not module._diff:
        result.pop("diff", None)
    for warning in result.pop("warnings", []):
        module.warn(warning)
    module.exit_json(**result)


def read(spec: Mapping[str, Any], options: Mapping[str, Any], required_if: Sequence[Any] = ()) -> Dict[str, Any]:
    """Options of one concern, in the types and with the defaults of their specification.

    :raises HostError: one of them is unknown, missing or of the wrong type.
    """
    result = ArgumentSpecValidator(dict(spec), required_if=list(required_if)).validate(dict(options))
    if result.error_messages:
        raise HostError("; ".join(result.error_messages))
    found: Dict[str, Any] = result.validated_parameters
    return found
