# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Lines of YAML that say nothing else stay as somebody wrote them, in layouts that no library writes by itself."""

from __future__ import annotations

import copy
import difflib

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import yaml_text, yaml_values

# Ordinary, but with two indentations of maps and three of lists. ruamel.yaml 0.19.1, with the best settings for this
# text, writes 26 of its 36 lines differently, although nothing was changed.
TEXT = """\
apiVersion:   apps/v1
kind: Deployment
metadata: { name: decode,  labels: {app: llama} }
spec:
    template:
      spec:
        hostNetwork: true
        # About the account.
        serviceAccountName: llm
        tolerations: [
          {key: gpu, operator: Exists},
          {key: rdma, operator: Exists}
        ]
        affinity: {
          nodeAffinity: {}
        }
        containers:
          - name: vllm
            command: ["a",
                      "b"]
            env:
            - name: A
              value: ~
            - {name: B, value: Null}
            -   name: C
                value: 0x1F
            args:
                - --one
                -   - nested
            image: "a\\
              b"
            workingDir: a plain text
              over two lines
            resources:
              limits: {rdma/ib: 1}
              requests: {rdma/ib: 1, cpu: 1}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_lines_that_say_something_else_are_others(newline: str) -> None:
    text = TEXT.replace("\n", newline)
    (old,) = yaml_values.read(text)
    new = copy.deepcopy(old)
    spec = new["spec"]["template"]["spec"]
    del spec["hostNetwork"]
    spec["containers"][0]["resources"] = {"requests": {"cpu": 1}, "claims": [{"name": "rdma"}]}
    found = yaml_text.changed(text, [old], [new])
    lines = list(difflib.ndiff(text.splitlines(), found.splitlines()))
    assert [line for line in lines if line[0] in "+-"] == [
        "-         hostNetwork: true",
        "-               limits: {rdma/ib: 1}",
        "-               requests: {rdma/ib: 1, cpu: 1}",
        "+               requests: {cpu: 1}",
        "+               claims:",
        "+               - name: rdma",
    ]
    assert found.count(newline) == found.count("\n")
