# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Pods of DaemonSets, which tests run on this machine for a node that is an object and a directory."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Any, Dict, Mapping

import yaml
from kubernetes import dynamic

Object = Dict[str, Any]
SECONDS = 60


def pod_on(cluster: dynamic.DynamicClient, namespace: str, node: str, image: str) -> Object:
    """The pod that a DaemonSet with this image has made for a node."""
    pods = cluster.resources.get(api_version="v1", kind="Pod")
    for event in pods.watch(namespace=namespace, timeout=SECONDS):
        pod: Object = event["raw_object"]
        # Of what was deployed before, one may be on its way out.
        if pod["spec"].get("nodeName") == node and pod["spec"]["containers"][0]["image"] == image:
            return pod
    raise AssertionError(f"no DaemonSet has made a pod with {image} for {node} within {SECONDS} s")


def _server(plane: Any) -> Object:
    found: Object = yaml.safe_load(plane.kubeconfig.read_text())["clusters"][0]["cluster"]
    return found


def environment(plane: Any) -> Dict[str, str]:
    """Where pods find the API server of a ``lifecycle.ControlPlane``."""
    host, port = _server(plane)["server"].rpartition("/")[2].split(":")
    return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}


def account(plane: Any, pod: Mapping[str, Any], directory: Path) -> Path:
    """What the kubelet mounts for the pod's account; its token is of that pod on that node."""
    meta, name = pod["metadata"], pod["spec"]["serviceAccountName"]
    bound = ["--bound-object-kind=Pod", f"--bound-object-name={meta['name']}", f"--bound-object-uid={meta['uid']}"]
    argv = [str(plane.kubectl), f"--kubeconfig={plane.kubeconfig}", f"--namespace={meta['namespace']}"]
    token = subprocess.run([*argv, "create", "token", name, *bound], capture_output=True, text=True, check=True)
    directory.mkdir()
    (directory / "token").write_text(token.stdout.strip())
    (directory / "namespace").write_text(meta["namespace"])
    (directory / "ca.crt").write_bytes(base64.b64decode(_server(plane)["certificate-authority-data"]))
    return directory
