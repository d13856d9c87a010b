# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Kueue 0.19.0 as a process of this machine, with the definitions and the webhooks of the release.

Jobs are the only workloads that it looks at. It wants a certificate for its metrics in /etc/kueue, which it finds in an
/etc of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from control_plane import lifecycle
from vmlab import tools
from vmlab.progress import await_condition, tail

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.operators import programs

GROUP = "kueue.x-k8s.io"
QUEUE = "queue"
RESOURCE = "example.org/gpu"
_API = f"{GROUP}/v1beta2"
_MODULE = "sigs.k8s.io/kueue"
_KUEUE = tools.Tool("kueue", "plugins/kueue", f"{_MODULE}/cmd/kueue")
_METRICS = "/etc/kueue/metrics/certs"
_IN_ITS_ETC = f"""
mount -t tmpfs tmpfs /etc && mkdir -p {_METRICS} && cp "$1/tls.crt" "$1/tls.key" {_METRICS}/ && shift && exec "$@"
"""


class Kueue:
    """One that runs, for the nodes of the control plane."""

    def __init__(self, cluster_set: ClusterSet, scratch: Path, plane: lifecycle.ControlPlane) -> None:
        self._set, self._scratch, self._plane = cluster_set, scratch, plane
        self._config = tools.source_directory(_KUEUE, _MODULE) / "config" / "components"

    def create(self, *items: Object) -> None:
        self._set.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": list(items)})

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait for what Kueue does, and tell the end of its log where it does not."""
        await_condition(what, holds, seconds=programs.SECONDS, note=lambda: tail(self._log))

    def items(self, kind: str, *options: str) -> list[Object]:
        text = self._set.kubectl("get", kind, "-n", self._set.namespace, *options, "-o", "json")
        found: list[Object] = json.loads(text)["items"]
        return found

    def queue(self, topology: str) -> None:
        """A queue with as much of RESOURCE as anybody could want, on nodes of this Topology."""
        flavor = {"nodeLabels": {"kubernetes.io/os": "linux"}, "topologyName": topology}
        quota = {"name": QUEUE, "resources": [{"name": RESOURCE, "nominalQuota": 1000}]}
        groups = [{"coveredResources": [RESOURCE], "flavors": [quota]}]
        spec = {"namespaceSelector": {}, "resourceGroups": groups}
        self.create(
            {"apiVersion": _API, "kind": "ResourceFlavor", "metadata": {"name": QUEUE}, "spec": flavor},
            {"apiVersion": _API, "kind": "ClusterQueue", "metadata": {"name": QUEUE}, "spec": spec},
            {
                "apiVersion": _API,
                "kind": "LocalQueue",
                "metadata": {"name": QUEUE, "namespace": self._set.namespace},
                "spec": {"clusterQueue": QUEUE},
            },
        )

    def gang(self, name: str, pods: int, label: str) -> None:
        """A Job whose pods take a node each, all under one value of the label."""
        container = {"name": "main", "image": "example.org/none:v1", "resources": {"limits": {RESOURCE: 8}}}
        pod = {
            "metadata": {"annotations": {f"{GROUP}/podset-required-topology": label}, "labels": {"gang": name}},
            "spec": {"containers": [container], "restartPolicy": "Never"},
        }
        meta = {"name": name, "namespace": self._set.namespace, "labels": {f"{GROUP}/queue-name": QUEUE}}
        spec = {"parallelism": pods, "completions": pods, "template": pod}
        self.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})

    def nodes(self, name: str) -> list[str]:
        """Where the scheduler has put the pods of a gang."""
        pods = self.items("pods", "-l", f"gang={name}")
        return sorted(pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName"))

    def condition(self, name: str, kind: str) -> Object:
        """A condition of the workload of a gang, empty as long as there is none."""
        for item in self.items(f"workloads.{GROUP}"):
            if item["metadata"]["ownerReferences"][0]["name"] == name:
                conditions = item.get("status", {}).get("conditions", [])
                return next((each for each in conditions if each["type"] == kind), {})
        return {}

    @property
    def _log(self) -> Path:
        return self._scratch / "kueue.log"

    def define(self) -> None:
        """The definitions of its kinds. The control plane ends with the session, and with it what is left."""
        bases = ("-f", str(self._config / "crd" / "bases"))
        self._set.kubectl("apply", "--server-side", *bases)
        self._set.kubectl("wait", *bases, "--for=condition=Established", "--timeout=60s")

    @contextmanager
    def running(self) -> Iterator[None]:
        """The manager, with the definitions of its kinds and its webhooks."""
        self.define()
        pair = lifecycle.authority(self._plane.name).issue("kueue", "kueue", addresses=["IP:127.0.0.1"])
        certificates = self._scratch / "certificates"
        certificates.mkdir()
        (certificates / "tls.crt").write_bytes(pair.certificate.read_bytes())
        (certificates / "tls.key").write_bytes(pair.key.read_bytes())
        number = programs.port()
        path = self._scratch / "kueue.yaml"
        path.write_text(json.dumps(self._settings(number, certificates)))
        # In a mount namespace of its own.
        own = ["unshare", "--map-root-user", "--mount", "sh", "-c", _IN_ITS_ETC, "sh", str(certificates)]
        kueue = [*own, str(tools.build(_KUEUE)), f"--config={path}"]
        with programs.process(kueue, self._log, {"KUBECONFIG": str(self._plane.kubeconfig)}):
            programs.await_server("Kueue", number, self._log)
            rules = list(self._rules(number))
            self.create(*rules)
            try:
                yield
            finally:
                for item in rules:
                    self._set.kubectl("delete", item["kind"], item["metadata"]["name"])

    def _settings(self, number: int, certificates: Path) -> Object:
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            # Jobs of its own namespace are none of its business.
            "namespace": "kueue-system",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{programs.port()}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"host": "127.0.0.1", "port": number, "certDir": str(certificates)},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            "integrations": {"frameworks": ["batch/job"]},
            # It would listen on a port that cannot be chosen.
            "featureGates": {"VisibilityOnDemand": False},
        }

    def _rules(self, number: int) -> Iterator[Object]:
        """The release's webhooks for its own kinds and for Jobs, reached by another address."""
        for item in yaml.safe_load_all((self._config / "webhook" / "manifests.yaml").read_text(encoding="utf-8")):
            item["metadata"] = {"name": f"kueue-{item['metadata']['name']}"}
            item["webhooks"] = [one for one in item["webhooks"] if self._served(one)]
            for one in item["webhooks"]:
                path = one["clientConfig"]["service"]["path"]
                one["clientConfig"] = programs.client_config(self._plane, number, path)
            yield item

    @staticmethod
    def _served(webhook: dict[str, Any]) -> bool:
        return {group for rule in webhook["rules"] for group in rule["apiGroups"]} <= {GROUP, "batch"}
