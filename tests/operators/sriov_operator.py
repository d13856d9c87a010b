# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The SR-IOV network operator 1.6.0 and its webhook as processes of this machine, with the manifests of the release.

Two things stand in. Nobody routes Services here, so the API server reaches the webhook by an address on loopback, with
the release's own rules. And the daemon of nodes needs NICs: what it would say of them is said by :meth:`Operator.says`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml
from control_plane import lifecycle
from vmlab import tools
from vmlab.golang import go
from vmlab.progress import await_condition, tail

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.operators import programs

GROUP = "sriovnetwork.openshift.io"
_MODULE = "github.com/k8snetworkplumbingwg/sriov-network-operator"
_PINS = "plugins/sriov_operator"
_OPERATOR = tools.Tool("sriov-network-operator", _PINS, _MODULE)
_WEBHOOK = tools.Tool("webhook", _PINS, f"{_MODULE}/cmd/webhook")
# By the names of the operator's environment those of the chart's values.
_IMAGES = {
    "SRIOV_CNI_IMAGE": "sriovCni",
    "SRIOV_INFINIBAND_CNI_IMAGE": "ibSriovCni",
    "OVS_CNI_IMAGE": "ovsCni",
    "RDMA_CNI_IMAGE": "rdmaCni",
    "SRIOV_DEVICE_PLUGIN_IMAGE": "sriovDevicePlugin",
    "SRIOV_NETWORK_CONFIG_DAEMON_IMAGE": "sriovConfigDaemon",
    "METRICS_EXPORTER_IMAGE": "metricsExporter",
    "METRICS_EXPORTER_KUBE_RBAC_PROXY_IMAGE": "metricsExporterKubeRbacProxy",
    "NETWORK_RESOURCES_INJECTOR_IMAGE": "resourcesInjector",
    "SRIOV_NETWORK_WEBHOOK_IMAGE": "webhook",
}


def source() -> Path:
    """The directory of the module, with the release's chart and manifests."""
    here = Path(tools.__file__).resolve().parents[1] / _PINS
    return Path(go(here, "list", "-m", "-f", "{{.Dir}}", _MODULE).strip())


def _chart() -> Path:
    return source() / "deployment" / "sriov-network-operator-chart"


def _plain(template: str) -> str:
    """A manifest without its lines of templates."""
    return re.sub(r"^.*\{\{.*\n", "", template, flags=re.MULTILINE)


class Operator:
    """One that runs in a namespace, for nodes of the control plane."""

    def __init__(self, cluster_set: ClusterSet, namespace: str, scratch: Path, plane: lifecycle.ControlPlane) -> None:
        self.namespace = namespace
        self._set, self._scratch, self._plane = cluster_set, scratch, plane

    def items(self, kind: str, *options: str) -> list[Object]:
        text = self._set.kubectl("get", kind, *(options or ("-n", self.namespace)), "-o", "json")
        found: list[Object] = json.loads(text)["items"]
        return found

    def get(self, kind: str, name: str, namespace: str = "") -> Object:
        text = self._set.kubectl("get", kind, name, "-n", namespace or self.namespace, "-o", "json")
        found: Object = json.loads(text)
        return found

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait for what the operator does, and tell the end of its log where it does not."""
        await_condition(what, holds, seconds=programs.SECONDS, note=lambda: tail(self.log))

    @property
    def log(self) -> Path:
        return self._scratch / "operator.log"

    def says(self, node: str, facts: Mapping[str, Any], vfs: int) -> None:
        """What the daemon of a node would write: its NICs by the facts, each with this number of VFs."""
        interfaces = [
            {
                "name": hca["ports"][0]["netdev"]["name"],
                "pciAddress": hca["pci"]["address"],
                "vendor": hca["pci"]["vendor_id"],
                "deviceID": hca["pci"]["device_id"],
                "driver": "mlx5_core",
                "linkType": "IB" if hca["ports"][0]["link_layer"] == "InfiniBand" else "ETH",
                "mtu": hca["ports"][0]["netdev"]["mtu"],
                "numVfs": vfs,
                "totalvfs": max(vfs, 8),
            }
            for hca in facts["hcas"]
        ]
        self.until(f"a SriovNetworkNodeState of {node}", lambda: node in self._states())
        change = {"status": {"interfaces": interfaces, "syncStatus": "Succeeded"}}
        where = ("sriovnetworknodestates", node, "-n", self.namespace, "--subresource=status", "--type=merge")
        self._set.kubectl("patch", *where, "-p", json.dumps(change))

    def _states(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.items("sriovnetworknodestates")]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Both programs, with the environment that the chart's Deployment gives the operator by default."""
        values = yaml.safe_load((_chart() / "values.yaml").read_text(encoding="utf-8"))
        of_chart = {
            "RESOURCE_PREFIX": values["operator"]["resourcePrefix"],
            "CLUSTER_TYPE": values["operator"]["clusterType"],
            "SRIOV_CNI_BIN_PATH": values["operator"]["cniBinPath"],
            **{name: values["images"][key] for name, key in _IMAGES.items()},
        }
        own = {"NAMESPACE": self.namespace, "KUBECONFIG": str(self._plane.kubeconfig)}
        flags = ["--metrics-bind-address=0", f"--health-probe-bind-address=127.0.0.1:{programs.port()}"]
        # It renders the manifests below its working directory.
        operator = ["env", "-C", str(source()), str(tools.build(_OPERATOR)), *flags]
        with ExitStack() as until_the_end:
            until_the_end.enter_context(programs.process(operator, self.log, {**of_chart, **own}))
            until_the_end.enter_context(self._webhook(own))
            yield

    @contextmanager
    def _webhook(self, environment: Mapping[str, str]) -> Iterator[None]:
        pair = lifecycle.authority(self._plane.name).issue("webhook", "sriov-webhook", addresses=["IP:127.0.0.1"])
        port, log = programs.port(), self._scratch / "webhook.log"
        files = [f"--tls-cert-file={pair.certificate}", f"--tls-private-key-file={pair.key}"]
        with programs.process([str(tools.build(_WEBHOOK)), "start", f"--port={port}", *files], log, environment):
            programs.await_server("the webhook", port, log)
            made = list(self._rules(port))
            self._set.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": made})
            try:
                yield
            finally:
                for item in made:
                    self._set.kubectl("delete", item["kind"], item["metadata"]["name"])

    def _rules(self, port: int) -> Iterator[Object]:
        """The release's webhooks, reached by another address."""
        text = (source() / "bindata/manifests/operator-webhook/003-webhook.yaml").read_text(encoding="utf-8")
        for item in yaml.safe_load_all(_plain(text)):
            item["metadata"] = {"name": f"{self.namespace}-webhook"}
            for one in item["webhooks"]:
                one["clientConfig"] = programs.client_config(self._plane, port, one["clientConfig"]["service"]["path"])
            yield item


@contextmanager
def installed(cluster_set: ClusterSet, plane: lifecycle.ControlPlane, scratch: Path) -> Iterator[Operator]:
    """The operator in a namespace of its own. The control plane ends with the session, and with it what is left."""
    namespace = f"{cluster_set.namespace}-sriov"
    cluster_set.kubectl("create", "namespace", namespace)
    for path in sorted((_chart() / "crds").iterdir()):
        cluster_set.kubectl("create", "-f", str(path))
    nics = yaml.safe_load(_plain((_chart() / "templates" / "configmap.yaml").read_text(encoding="utf-8")))
    config = {"apiVersion": f"{GROUP}/v1", "kind": "SriovOperatorConfig", "metadata": {"name": "default"}}
    # As the chart has it where nobody asks for more.
    spec = {"enableInjector": False, "enableOperatorWebhook": False, "logLevel": 2, "configurationMode": "daemon"}
    cluster_set.kubectl("wait", "crd", f"sriovoperatorconfigs.{GROUP}", "--for=condition=Established", "--timeout=60s")
    for item in (nics, {**config, "spec": spec}):
        cluster_set.kubectl("create", "-n", namespace, "-f", "-", stdin=item)
    found = Operator(cluster_set, namespace, scratch, plane)
    with found.running():
        yield found
