# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A certificate authority per control plane, by openssl."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from vmlab.progress import run

_DAYS = "30"
_EXTENSIONS = """
[req]
distinguished_name = subject
[subject]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
authorityKeyIdentifier = keyid
{alternative}
"""


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Issues the certificates of one control plane into a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.ca = self.pair("ca")

    def create(self) -> None:
        """Make the authority's own certificate."""
        self._directory.mkdir(mode=0o700)
        self._request(self.ca, "ca", "/CN=zerocopy-rdma-lab")

    def pair(self, name: str) -> KeyPair:
        """A certificate that is issued under this name, or will be."""
        return KeyPair(self._directory / f"{name}.crt", self._directory / f"{name}.key")

    def issue(self, name: str, user: str, groups: Sequence[str] = (), addresses: Sequence[str] = ()) -> KeyPair:
        """Make a certificate for a user in groups, or a server at addresses (``IP:127.0.0.1``, ``DNS:localhost``)."""
        pair = self.pair(name)
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={user}"
        signed = ["-CA", str(self.ca.certificate), "-CAkey", str(self.ca.key)]
        self._request(pair, "leaf", subject, *signed, alternative=addresses)
        return pair

    def kubeconfig(self, path: Path, server: str, user: KeyPair) -> Path:
        """Write a kubeconfig that carries all it needs, so it can be used from anywhere."""
        cluster = {"server": server, "certificate-authority-data": _encoded(self.ca.certificate)}
        credentials = {
            "client-certificate-data": _encoded(user.certificate),
            "client-key-data": _encoded(user.key),
        }
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": "lab", "user": credentials}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
            "current-context": "lab",
        }
        path.touch(mode=0o600)
        path.write_text(json.dumps(content, indent=1))
        return path

    def _request(
        self, pair: KeyPair, section: str, subject: str, *signed: str, alternative: Sequence[str] = ()
    ) -> None:
        names = f"subjectAltName = {', '.join(alternative)}" if alternative else ""
        argv = ["openssl", "req", "-x509", "-config", "/dev/stdin", "-extensions", section, "-days", _DAYS]
        argv += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"]
        argv += ["-subj", subject, "-keyout", str(pair.key), "-out", str(pair.certificate), *signed]
        run(argv, stdin=_EXTENSIONS.format(alternative=names))


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
