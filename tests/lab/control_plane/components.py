# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The command lines of a control plane's programs."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from .certificates import Authority, KeyPair

_LOOPBACK = "127.0.0.1"
_SERVICE_NETWORK = "10.96.0.0/16"
_SERVER_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost")

# Versions of resource.k8s.io that exist somewhere between Kubernetes 1.32 and 1.36; "off" serves none.
API_VERSIONS = ("v1", "v1beta2", "v1beta1")
APIS = (*API_VERSIONS, "off")

# Scheduler, controllers and node authorizer know v1 of DRA only, and wait for it for ever where it is not served. Since
# 1.35 no feature gate turns DRA off, but in 1.33 it was off by default.
_WITHOUT_DRA = "--emulated-version=1.33"

# Nobody plays the kubelet of nodes that are objects only.
_GRACE = "8760h"
# Of the Service `kubernetes`, which has the first address of the service network.
SERVICE_ADDRESS = "10.96.0.1"
SERVICE_PORT = 443
# The name of the certificate of who may do everything.
ADMIN = "admin"
# The client side limits of production would make a fleet full of pods take minutes.
_CLIENT_RATE = ("--kube-api-qps=2000", "--kube-api-burst=4000")

# What people and tests do, not what the control plane does by itself.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "None",
            "users": ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"],
        },
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Metadata"},
    ],
}


@dataclass(frozen=True)
class Ports:
    """TCP ports on loopback."""

    etcd: int
    etcd_peer: int
    apiserver: int
    scheduler: int
    controller_manager: int


@contextmanager
def free_ports() -> Iterator[Ports]:
    """Ports that stay ours while the servers start: they, too, are told to share them (SO_REUSEPORT)."""
    with ExitStack() as held:
        numbers = []
        for _server in range(5):
            holder = held.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            holder.bind((_LOOPBACK, 0))
            numbers.append(holder.getsockname()[1])
        yield Ports(*numbers)


class Components:
    """Command lines for one instance, with the certificates and files they name.

    With the ``address`` of this machine that nodes use, kubelets reach the API server and it reaches them.
    """

    def __init__(self, directory: Path, programs: dict[str, Path], ports: Ports, address: Optional[str] = None) -> None:
        self._directory = directory
        self._programs = programs
        # The port that pods are told, so that nobody has to translate it.
        self._ports = replace(ports, apiserver=SERVICE_PORT) if address else ports
        self._address = address
        self._authority = Authority(directory / "pki")
        self._authority.create()
        served = [_LOOPBACK, SERVICE_ADDRESS, *([address] if address else [])]
        names = [*(f"IP:{one}" for one in served), *(f"DNS:{name}" for name in _SERVER_NAMES)]
        self._server = self._authority.issue("server", "kubernetes", addresses=names)
        self._tokens = self._authority.issue("tokens", "service-account-tokens")
        self.ca = self._authority.ca.certificate
        self.url = f"https://{_LOOPBACK}:{self._ports.apiserver}"
        self.admin = self._authority.issue(ADMIN, "lab-admin", groups=["system:masters"])

    def kubeconfig(self, path: Path, user: KeyPair) -> Path:
        """Write the kubeconfig of a user."""
        return self._authority.kubeconfig(path, self.url, user)

    def etcd(self) -> list[str]:
        """The store. What is in it need not survive, so it does not wait for the disk."""
        client = f"https://{_LOOPBACK}:{self._ports.etcd}"
        peer = f"https://{_LOOPBACK}:{self._ports.etcd_peer}"
        return [
            str(self._programs["etcd"]),
            f"--data-dir={self._directory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            f"--trusted-ca-file={self.ca}",
            f"--cert-file={self._server.certificate}",
            f"--key-file={self._server.key}",
            "--client-cert-auth",
            f"--peer-trusted-ca-file={self.ca}",
            f"--peer-cert-file={self._server.certificate}",
            f"--peer-key-file={self._server.key}",
            "--peer-client-cert-auth",
            "--socket-reuse-port",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def apiserver(self, api: str, audit: Optional[Path]) -> list[str]:
        """The API server, with one version of resource.k8s.io or none."""
        served = ",".join(f"resource.k8s.io/{version}={str(version == api).lower()}" for version in API_VERSIONS)
        return [
            str(self._programs["kube-apiserver"]),
            f"--etcd-servers=https://{_LOOPBACK}:{self._ports.etcd}",
            f"--etcd-cafile={self.ca}",
            f"--etcd-certfile={self._server.certificate}",
            f"--etcd-keyfile={self._server.key}",
            *self._serving(self._ports.apiserver, "0.0.0.0" if self._address else _LOOPBACK),
            f"--client-ca-file={self.ca}",
            f"--service-cluster-ip-range={_SERVICE_NETWORK}",
            *self._nodes(),
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={self._tokens.key}",
            f"--service-account-key-file={self._tokens.certificate}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged",
            f"--runtime-config={served}",
            *_emulated(api),
            *self._audit(audit),
        ]

    def scheduler(self, api: str) -> list[str]:
        """The scheduler, which allocates claims if it can."""
        return [
            str(self._programs["kube-scheduler"]),
            *self._client("kube-scheduler", api),
            *self._serving(self._ports.scheduler),
        ]

    def controller_manager(self, api: str) -> list[str]:
        """The controllers, which make service accounts of namespaces and, if they can, claims of templates."""
        return [
            str(self._programs["kube-controller-manager"]),
            *self._client("kube-controller-manager", api),
            *self._serving(self._ports.controller_manager),
            f"--root-ca-file={self.ca}",
            f"--service-account-private-key-file={self._tokens.key}",
            "--use-service-account-credentials",
            *([] if self._address else [f"--node-{which}-grace-period={_GRACE}" for which in ("monitor", "startup")]),
        ]

    def health(self) -> dict[str, list[str]]:
        """Map the programs to the addresses that answer 200 once they do their work."""
        scheduler = f"https://{_LOOPBACK}:{self._ports.scheduler}"
        return {
            "kube-apiserver": [f"{self.url}/readyz"],
            "kube-scheduler": [f"{scheduler}/healthz", f"{scheduler}/readyz"],
            "kube-controller-manager": [f"https://{_LOOPBACK}:{self._ports.controller_manager}/healthz"],
        }

    def _client(self, name: str, api: str) -> list[str]:
        user = self._authority.issue(name, f"system:{name}")
        kubeconfig = self.kubeconfig(self._directory / f"{name}.kubeconfig", user)
        return [f"--kubeconfig={kubeconfig}", "--leader-elect=false", *_CLIENT_RATE, *_emulated(api)]

    def _nodes(self) -> list[str]:
        if self._address is None:
            # An endpoint of the Service `kubernetes` may not be on loopback.
            return ["--endpoint-reconciler-type=none"]
        return [
            f"--advertise-address={self._address}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-certificate-authority={self.ca}",
            f"--kubelet-client-certificate={self.admin.certificate}",
            f"--kubelet-client-key={self.admin.key}",
        ]

    def _serving(self, port: int, address: str = _LOOPBACK) -> list[str]:
        return [
            f"--bind-address={address}",
            f"--secure-port={port}",
            "--permit-port-sharing",
            f"--tls-cert-file={self._server.certificate}",
            f"--tls-private-key-file={self._server.key}",
        ]

    def _audit(self, path: Optional[Path]) -> list[str]:
        if path is None:
            return []
        policy = self._directory / "audit-policy.json"
        policy.write_text(json.dumps(_AUDIT_POLICY))
        return [f"--audit-policy-file={policy}", f"--audit-log-path={path}"]


def _emulated(api: str) -> list[str]:
    return [] if api == "v1" else [_WITHOUT_DRA]
