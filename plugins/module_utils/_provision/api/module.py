# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The frame of the modules that talk to a cluster: options and failures are those of kubernetes.core."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, Callable, Dict

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
    from ansible_collections.kubernetes.core.plugins.module_utils.k8s.core import AnsibleK8SModule

    HAS_KUBERNETES_CORE = True
except ImportError:
    # What the playbooks pass, so that what is missing is told and not that these are unknown.
    AUTH_ARG_SPEC = {"kubeconfig": {"type": "raw"}, "context": {"type": "str"}}
    HAS_KUBERNETES_CORE = False

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.connection import connect
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import packages
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible, visible_in


def run(argument_spec: Dict[str, Any], call: Callable[[Any, Client], Dict[str, Any]]) -> None:
    """A module with these options and those of authentication.

    ``call`` gets the module (its ``params``, ``check_mode`` and ``_diff``) and the connection, and returns the result.
    The text of a ClusterError becomes the module's failure.
    """
    options = {**AUTH_ARG_SPEC, **argument_spec}
    if not HAS_KUBERNETES_CORE:
        way = "ansible-galaxy collection install kubernetes.core"
        msg = f"the collection kubernetes.core is missing where Ansible runs: {way}"
        # With check mode, or that it is missing would not be said.
        AnsibleModule(argument_spec=options, supports_check_mode=True).fail_json(msg=msg)
    if find_spec("kubernetes") is None:
        msg = f"Python packages are {packages.missing('kubernetes')}"
        AnsibleModule(argument_spec=options, supports_check_mode=True).fail_json(msg=msg)
    module = AnsibleK8SModule(module_class=AnsibleModule, argument_spec=options, supports_check_mode=True)
    # Not the lists and maps: objects may be Secrets, and those of a large set would cost more on their way back than to
    # be applied.
    arguments = {name: value for name, value in module.params.items() if not isinstance(value, (dict, list))}
    invocation = {"module_args": arguments}
    try:
        result = call(module, _connected(module))
    except ClusterError as error:
        # Of the API server's answer, if it was one that has led to the error.
        status = next((each.status for each in (error, error.__cause__) if isinstance(each, ApiError)), None)
        module.fail_json(msg=visible(str(error)), status=status, invocation=invocation)
    for warning in result.pop("warnings", []):
        module.warn(visible(warning))
    if "diff" in result:
        result["diff"] = visible_in(result["diff"])
    module.exit_json(**result, invocation=invocation)


def _connected(module: Any) -> Client:
    """A connection with the authentication options of the module. Raises ClusterError."""
    kubeconfig = module.params.get("kubeconfig")
    if isinstance(kubeconfig, str):
        # Ansible would mask it, since the option may also hold the content. A path is no secret.
        module._module.no_log_values.discard(kubeconfig)
    return connect(module.params, os.environ)
