# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which credentials the authentication options stand for, in words for an error message.

The order is that of kubernetes.core (``plugins/module_utils/k8s/client.py``): options, their environment variables, the
service account of the pod, and last the kubeconfig of kubectl.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

# What to look at when the API server cannot be used, by the names that users of the playbooks know.
SELECTION = "rdma_kubeconfig and rdma_context select the cluster"
_KUBECTL_DEFAULT = "~/.kube/config"
_ENOUGH = (("username", "password"), ("api_key",), ("client_cert", "client_key"))


def described(params: Mapping[str, Any]) -> str:
    """The user and where the credentials come from, such as ``user admin (context lab) of kubeconfig /root/lab``."""

    def option(name: str) -> Any:
        return params.get(name) or os.environ.get(f"K8S_AUTH_{name.upper()}")

    if option("host"):
        for names in _ENOUGH:
            if all(option(name) for name in names):
                return " and ".join(f"option {name}" for name in names)
    kubeconfig, context = option("kubeconfig"), option("context")
    if not kubeconfig and not context and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "the pod's service account"
    path = kubeconfig or os.environ.get("KUBECONFIG") or _KUBECTL_DEFAULT
    where = f"kubeconfig {path}" if isinstance(path, str) else "the kubeconfig given as a map"
    return f"{_user(path, context)}{where}"


def _user(kubeconfig: Any, context: Any) -> str:
    """The user of a context to precede the kubeconfig, ``""`` where it cannot be told."""
    from kubernetes.config import ConfigException
    from kubernetes.config.kube_config import KubeConfigMerger
    from yaml import YAMLError

    try:
        config = KubeConfigMerger(kubeconfig).config.value if isinstance(kubeconfig, str) else kubeconfig
        chosen = context or config["current-context"]
        users = {context["name"]: context["context"]["user"] for context in config["contexts"]}
        return f"user {users[chosen]} (context {chosen}) of "
    except (AttributeError, ConfigException, KeyError, OSError, TypeError, YAMLError):
        return ""
