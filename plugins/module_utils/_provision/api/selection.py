# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which cluster is meant, in kubectl's order, so that every program that a run calls is told the same one.

kubernetes.core and helm have orders of their own: inside a pod, kubernetes.core takes the pod's service account before
``KUBECONFIG``; of several files, the Python client takes the last current-context, and kubectl the first.

Sources: kubernetes/client-go, tools/clientcmd/loader.go and client_config.go; kubernetes.core,
plugins/module_utils/k8s/client.py.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import kubeconfigs

# What to look at when the API server cannot be used, by the names that users of the playbooks know.
SELECTION = "rdma_kubeconfig and rdma_context select the cluster"
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/token"
_KUBECTL_DEFAULT = "~/.kube/config"
# With the option host, kubernetes.core takes these and reads no kubeconfig.
_ENOUGH = (("username", "password"), ("api_key",), ("client_cert", "client_key"))
_OTHER_NAMES = {
    "ca_cert": "ssl_ca_cert",
    "client_cert": "cert_file",
    "client_key": "key_file",
    "validate_certs": "verify_ssl",
}


class Options:
    """The authentication options of a module, or the environment variables that kubernetes.core takes instead."""

    def __init__(self, params: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        self._params, self._environ = params, environ

    def __call__(self, name: str) -> Any:
        given = self._params.get(name)
        return given if given is not None else next(iter(self.variables(name).values()), None)

    def variables(self, name: str) -> Dict[str, str]:
        """The environment variables of an option that are set."""
        names = [f"K8S_AUTH_{each.upper()}" for each in (name, _OTHER_NAMES.get(name)) if each]
        return {each: self._environ[each] for each in names if self._environ.get(each)}

    @property
    def enough(self) -> Tuple[str, ...]:
        """The options that, with the option host, need no kubeconfig; none if they are not there."""
        found = (names for names in _ENOUGH if all(self(name) for name in names))
        return next(found, ()) if self("host") else ()


@dataclass(frozen=True)
class Selected:
    """A cluster: its server, whose credentials are used (in words), and what to hand to every call.

    ``kubeconfig`` are absolute paths as in ``KUBECONFIG``, or its content. It is empty if options are enough, or if the
    service account of a pod is used.
    """

    server: str
    credentials: str
    kubeconfig: Union[str, Dict[str, Any]] = ""
    context: str = ""


def in_pod(environ: Mapping[str, str]) -> bool:
    """Whether this is a pod with a service account."""
    there = all(environ.get(f"KUBERNETES_SERVICE_{part}") for part in ("HOST", "PORT"))
    return there and os.path.isfile(SERVICE_ACCOUNT)


def _text(kubeconfig: Optional[str], environ: Mapping[str, str]) -> str:
    return kubeconfig or environ.get("KUBECONFIG") or _KUBECTL_DEFAULT


def paths(kubeconfig: Optional[str], environ: Mapping[str, str]) -> List[str]:
    """The files to read, absolute, in kubectl's order; there may be none (``KUBECONFIG=:``)."""
    text = _text(kubeconfig, environ)
    return [os.path.abspath(os.path.expanduser(path)) for path in text.split(os.pathsep) if path]


def select(params: Mapping[str, Any], environ: Mapping[str, str]) -> Selected:
    """The cluster that these options and the environment mean. Raises ValueError."""
    option = Options(params, environ)
    host, kubeconfig, context = str(option("host") or "").rstrip("/"), option("kubeconfig"), option("context")
    if option.enough:
        return Selected(host, " and ".join(f"option {name}" for name in option.enough))
    given = isinstance(kubeconfig, dict)
    files = [] if given else paths(kubeconfig, environ)
    where = f"kubeconfig {os.pathsep.join(files)}" if files else "the kubeconfig given as a map"
    if not files and not given:
        where = f"kubeconfig {_text(kubeconfig, environ)!r}"
    # Somebody has named a file or a context: no other cluster may be taken for it.
    named = bool(kubeconfig or context or environ.get("KUBECONFIG"))
    try:
        config = kubeconfig if given else kubeconfigs.merged(files)
        if not named and kubeconfigs.empty(config) and in_pod(environ):
            return Selected(host or _of_pod(environ), "the pod's service account")
        if files and not any(map(os.path.exists, files)):
            # A container lacks what its host has.
            raise ValueError(f"no such file on {socket.gethostname()} ({_source(files, environ)})")
        chosen = kubeconfigs.chosen(config, context)
    except ValueError as error:
        raise ValueError(f"no connection to the cluster with {where}: {error}. {SELECTION}") from error
    there = os.pathsep.join(path for path in files if os.path.exists(path))
    user = f"user {chosen.user} (context {chosen.context}) of {where}"
    return Selected(host or chosen.server, user, there or kubeconfig, chosen.context)


def _source(files: List[str], environ: Mapping[str, str]) -> str:
    """What names these kubeconfigs. Playbooks hand on what they have found in the environment of ansible-playbook."""
    variables = {**Options({}, environ).variables("kubeconfig"), "KUBECONFIG": environ.get("KUBECONFIG") or ""}
    named = {name: paths(value, environ) for name, value in variables.items() if value}
    found = [name for name, own in named.items() if own == files]
    if found:
        return f"named by the environment variable {found[0]}"
    if files == paths(_KUBECTL_DEFAULT, environ):
        return "the default"
    # A relative path in the environment means another file where a module runs.
    return " or ".join(["named by rdma_kubeconfig", *named])


def _of_pod(environ: Mapping[str, str]) -> str:
    host = environ["KUBERNETES_SERVICE_HOST"]
    return f"https://{f'[{host}]' if ':' in host else host}:{environ['KUBERNETES_SERVICE_PORT']}"
