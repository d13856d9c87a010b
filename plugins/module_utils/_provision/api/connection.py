# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The connection to the selected cluster, with the options of kubernetes.core, without a request.

``get_api_client`` of kubernetes.core has an order of its own, and sends requests that it does not repeat.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional
from urllib.parse import unquote, urlsplit

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import kubeconfigs
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import THREADS, Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.selection import (
    SELECTION,
    Options,
    Selected,
    select,
)

# Fields of the Python client's configuration, and the options that they are.
_FIELDS = {
    "host": "host",
    "username": "username",
    "password": "password",
    "verify_ssl": "validate_certs",
    "ssl_ca_cert": "ca_cert",
    "cert_file": "client_cert",
    "key_file": "client_key",
    "proxy": "proxy",
    "no_proxy": "no_proxy",
}
_PROXY_HEADERS = ("proxy_basic_auth", "basic_auth", "user_agent")


def connect(params: Mapping[str, Any], environ: Mapping[str, str]) -> Client:
    """A connection with these authentication options. Raises ClusterError."""
    from kubernetes.client import ApiClient

    try:
        selected = select(params, environ)
    except ValueError as error:
        raise ClusterError(str(error)) from error
    option = Options(params, environ)
    with _named(selected):
        configuration = _configuration(selected, option)
        client = ApiClient(configuration)
    defaults = {**client.default_headers, **_impersonation(option)}

    def headers() -> Any:
        from urllib3._collections import HTTPHeaderDict

        merged = HTTPHeaderDict()
        for name, value in defaults.items():
            for each in value if isinstance(value, list) else [value]:
                merged.add(name, each)
        with _named(selected):
            for auth in configuration.auth_settings().values():
                merged[auth["key"]] = auth["value"]
        return merged

    return Client(client.rest_client.pool_manager, configuration.host, headers, selected.credentials)


@contextlib.contextmanager
def _named(selected: Selected) -> Iterator[None]:
    """Raises ClusterError for what goes wrong with credentials in the block.

    If a plugin of a kubeconfig fails, the Python client only logs that, and goes on as nobody.
    """
    heard: List[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    except Exception as error:
        heard.append(str(error))
    finally:
        root.removeHandler(handler)
    if heard:
        reason = "; ".join(heard).rstrip(".")
        raise ClusterError(f"no connection to the cluster with {selected.credentials}: {reason}. {SELECTION}")


def _configuration(selected: Selected, option: Options) -> Any:
    from kubernetes import config
    from kubernetes.client import Configuration
    from urllib3.util import make_headers

    made = Configuration()
    made.connection_pool_maxsize = THREADS
    if selected.kubeconfig:
        _load(made, selected, bool(option("persist_config")))
    elif not option.enough:
        config.load_incluster_config(made)
    for field, name in _FIELDS.items():
        value = option(name)
        if value is not None:
            setattr(made, field, _flag(value) if name == "validate_certs" else value)
    made.host = made.host.rstrip("/")
    if option("api_key"):
        made.api_key = {"authorization": f"Bearer {option('api_key')}"}
    given = option("proxy_headers") or {}
    found = {name: given.get(name) or option(f"proxy_headers_{name}") for name in _PROXY_HEADERS}
    found["proxy_basic_auth"] = found["proxy_basic_auth"] or _user_of(made.proxy)
    if any(found.values()):
        made.proxy_headers = make_headers(**found)
    return made


def _user_of(proxy: Optional[str]) -> Optional[str]:
    """User and password in the URL of a proxy, which urllib3 leaves to its callers."""
    user, at, _place = urlsplit(proxy or "").netloc.rpartition("@")
    return unquote(user) if at else None


def _load(made: Any, selected: Selected, persist: bool) -> None:
    from kubernetes import config

    kubeconfig: Any = selected.kubeconfig
    if isinstance(kubeconfig, str) and os.pathsep in kubeconfig:
        kubeconfig = kubeconfigs.merged(kubeconfig.split(os.pathsep))
    if isinstance(kubeconfig, str):
        config.load_kube_config(kubeconfig, selected.context, made, persist)
    else:
        config.load_kube_config_from_dict(kubeconfig, selected.context, made, False)


def _impersonation(option: Options) -> Dict[str, Any]:
    user, groups = option("impersonate_user"), option("impersonate_groups") or []
    if isinstance(groups, str):
        groups = [group for group in groups.split(",") if group]
    found = {"Impersonate-User": user, "Impersonate-Group": groups}
    return {name: value for name, value in found.items() if value}


def _flag(value: Any) -> bool:
    return value.lower() not in ("0", "false", "no") if isinstance(value, str) else bool(value)
