# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Who asks for RDMA devices, which GPUs a container has, and the configuration."""

from __future__ import annotations

import json

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import annotations as wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import configuration, gpus
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import (
    ConfigurationError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.hardware import GpuPlace
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import Container, Pod

OURS = "rdma.zerocopy.io/nics"
# An unbound GPU between others: nvidia-smi does not count it. Minors in another order than addresses.
GPUS = [
    GpuPlace("0000:01:00.0", 0, 1, "GPU-aaaa1111-0000-0000-0000-000000000000", ["mlx5_0"]),
    GpuPlace("0000:02:00.0", None, None, "", []),
    GpuPlace("0000:03:00.0", 1, 0, "GPU-bbbb2222-0000-0000-0000-000000000000", ["mlx5_1"]),
]


def asked(annotations, name="main", policy="annotated", namespaces=(), has_gpus=True):
    pod = Pod("p", "llm", annotations)
    return wish.of_container(pod, Container(name), policy, namespaces, has_gpus)


def test_who_asks():
    assert asked({}) is None
    assert asked({OURS: "nearest"}).nearest
    assert asked({OURS: "nearest\n"}).nearest
    assert asked({OURS: "nearest", f"{OURS}.main": "none"}) is None
    assert asked({f"{OURS}.other": "nearest"}) is None
    # For a container of its own it is no matter of sidecars.
    assert asked({OURS: "nearest"}).everyone
    assert not asked({f"{OURS}.main": "nearest"}).everyone
    assert asked({OURS: "mlx5_0, mlx5_1"}).hcas == ["mlx5_0", "mlx5_1"]
    assert asked({}, policy="gpu_containers").nearest
    assert asked({}, policy="gpu_containers", has_gpus=False) is None
    assert asked({}, namespaces=["llm"]).nearest
    assert asked({}, namespaces=["llm"], has_gpus=False) is None
    assert asked({}, namespaces=["other"]) is None
    # Who asks by an annotation does so without a GPU as well.
    assert asked({OURS: "mlx5_0"}, has_gpus=False).hcas == ["mlx5_0"]


@pytest.mark.parametrize("value", ["", "mlx5\n_0", "../x", "mlx5 0", "Nearest!"])
def test_an_annotation_that_says_nothing_is_wrong_not_ignored(value):
    assert "is not nearest, none, or names" in asked({OURS: value}).wrong


YAML = """\
- path: /dev/infiniband/uverbs0
  type: c
  major: 231
  minor: 192
- path: "/dev/nvme0"
-   path: '/dev/infiniband/rdma_cm'
"""


@pytest.mark.parametrize("prefix", ["devices.noderesource.dev", "devices.nri.io"])
@pytest.mark.parametrize("value", [YAML, json.dumps([{"path": p} for p in ("/dev/infiniband/uverbs0", "/dev/x")])])
def test_devices_by_the_annotations_of_nri(prefix, value):
    found = asked({f"{prefix}/container.main": value})
    assert found.paths[0] == "/dev/infiniband/uverbs0"
    assert all(path.startswith("/dev/infiniband/") for path in found.paths)
    assert asked({f"{prefix}/pod": value}).paths == found.paths
    assert asked({f"{prefix}/container.other": value}) is None


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        # The order of NRI's device-injector: the most specific one, whatever its prefix.
        (["devices.noderesource.dev/pod", "devices.nri.io/container.main"], "devices.nri.io/container.main"),
        (["devices.nri.io/pod", "devices.noderesource.dev"], "devices.nri.io/pod"),
        ([OURS, "devices.nri.io/container.main"], "devices.nri.io/container.main"),
        ([OURS, "devices.noderesource.dev/pod"], OURS),
        ([f"{OURS}.main", "devices.noderesource.dev/container.main"], f"{OURS}.main"),
    ],
)
def test_the_most_specific_annotation_counts(annotations, said):
    value = "- path: /dev/infiniband/uverbs0"
    assert asked({key: "nearest" if key.startswith(OURS) else value for key in annotations}).said == said


def test_devices_of_others_leave_the_rest_as_it_is():
    others = {"devices.noderesource.dev/container.main": "- path: /dev/fuse"}
    assert asked(others, namespaces=["llm"]).said == "namespace llm"
    assert asked(others, policy="gpu_containers").said == "policy gpu_containers"
    assert asked({**others, OURS: "nearest"}).said == OURS
    # For this container NRI does not look at the list of the pod either.
    assert asked({**others, "devices.noderesource.dev/pod": "- path: /dev/infiniband/uverbs0"}) is None


@pytest.mark.parametrize(
    "value",
    [
        "- {path: /dev/infiniband/uverbs0, type: c}",
        '- "path": /dev/infiniband/uverbs0',
        "- path: /dev/infiniband/uverbs1\n- path:\n    /dev/infiniband/uverbs0",
        '{"path": "/dev/infiniband/uverbs0"}',
    ],
)
def test_devices_that_cannot_be_read_are_wrong_not_ignored(value):
    assert "not all devices can be read" in asked({"devices.noderesource.dev/pod": value}).wrong


def test_comments_and_repetitions_in_a_list_of_devices():
    lines = ["# - path: /dev/infiniband/uverbs1", *["- path: /dev/infiniband/uverbs0  # of mlx5_0"] * 2]
    value = "\n".join(lines)
    assert asked({"devices.noderesource.dev/pod": value}).paths == ["/dev/infiniband/uverbs0"]


def test_devices_of_others_are_not_ours_to_refuse():
    assert asked({"devices.noderesource.dev/pod": "- path: /dev/nvme0"}) is None
    for value in ("7", "{}", "[1]", "[" * 100000, '[{"path": 3}]', "- path", "\0"):
        assert asked({"devices.noderesource.dev/pod": value}) is None
    assert asked({"devices.noderesource.dev/pod": "- path: /dev/infiniband/../sda"}).wrong


@pytest.mark.parametrize(
    ("container", "places"),
    [
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "0"}), [0]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "1,0"}), [2, 0]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "all"}), [0, 1, 2]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "GPU-bbbb2222-0000-0000-0000-000000000000"}), [2]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "GPU-bbbb"}), [2]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "1:0,1:1"}), [2]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "MIG-GPU-bbbb2222-0000-0000-0000-000000000000/1/0"}), [2]),
        (Container("c", cdi=["nvidia.com/gpu=0"]), [0]),
        (Container("c", cdi=["nvidia.com/gpu=all"]), [0, 1, 2]),
        (Container("c", cdi=["nvidia.com/mig=1:0"]), [2]),
        (Container("c", cdi=["k8s.gpu.nvidia.com/claim=1b2c-gpu-0"]), [2]),
        (Container("c", devices=["/dev/nvidiactl", "/dev/nvidia0"]), [2]),
        # What it is given counts, not what its image says.
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "all"}, devices=["/dev/nvidia1"]), [0]),
        (Container("c", mounts=["/var/run/nvidia-container-devices/GPU-aaaa1111-0000"]), [0]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "void"}), []),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "none"}), []),
        (Container("c", cdi=["vendor.com/nic=0"]), []),
        (Container("c", cdi=["k8s.device-plugin.nvidia.com/gpu=GPU-bbbb2222-0000-0000-0000-000000000000"]), [2]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "k8s.device-plugin.nvidia.com/gpu=GPU-aaaa"}), [0]),
        # A MIG device by its own name, of which the runtime has made the device nodes.
        (Container("c", devices=["/dev/nvidia0"], cdi=["nvidia.com/gpu=MIG-0d3c5a1e-1111"]), [2]),
        (Container("c", cdi=["management.nvidia.com/gpu=all"]), []),
        (Container("c", cdi=["k8s.compute-domain.nvidia.com/claim=1"]), []),
        (Container("c", cdi=["nvidia.com/imex-channel=0"]), []),
        (Container("c", cdi=["nvidia.com/gpu=none"]), []),
        # As NVIDIA's runtime, which takes them in any case.
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "GPU-BBBB2222-0000-0000-0000-000000000000"}), [2]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "ALL"}), [0, 1, 2]),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "0,void"}), []),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "none,0"}), []),
        (Container("c", mounts=["/var/run/nvidia-container-devices/cdi/nvidia.com/gpu/1"]), [2]),
        (Container("c", mounts=["/var/run/nvidia-container-devices/cdi/nvidia.com/gpu=1"]), [2]),
        (Container("c", mounts=["/var/run/nvidia-container-devices/cdi/vendor.com/nic/0"]), []),
        (Container("c", {"NVIDIA_VISIBLE_DEVICES": "1"}, mounts=["/var/run/nvidia-container-devices/imex/0"]), [2]),
    ],
)
def test_which_gpus_a_container_has(container, places):
    found = gpus.held(container, GPUS)
    assert (found.gpus, found.unknown) == ([GPUS[place] for place in places], [])
    assert gpus.named(container) == bool(places)


@pytest.mark.parametrize("name", ["MIG-0d3c5a1e-1111-2222-3333-444455556666", "7", "GPU-cccc", "0x1"])
def test_what_tells_no_gpu_is_unknown_not_nothing(name):
    found = gpus.held(Container("c", {"NVIDIA_VISIBLE_DEVICES": name}), GPUS)
    assert (found.gpus, found.unknown, found.some) == ([], [name], True)


def test_the_command_line_comes_before_the_environment_before_the_file():
    text = json.dumps({"index": "20", "missing": "start", "memlock": 65536, "exclude": ["mlx5_9", "3B:00.0"]})
    found = configuration.read(text, {"RDMA_INJECT_INDEX": "30", "RDMA_INJECT_UMAD": "true", "HOME": "/"}, {})
    assert (found.index, found.missing, found.memlock, found.umad, found.exclude) == (
        "30",
        "start",
        65536,
        True,
        ("mlx5_9", "0000:3b:00.0"),
    )
    given = {"index": "40", "namespaces": "a, b"}
    found = configuration.read(text, {"RDMA_INJECT_INDEX": "30"}, given)
    assert (found.index, found.namespaces) == ("40", ("a", "b"))
    assert configuration.read("", {}, {}) == configuration.Configuration()
    assert configuration.read(text, {"RDMA_INJECT_MEMLOCK": "unlimited"}, {}).memlock == configuration.UNLIMITED


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[" * 200000, "not JSON"),
        ("[]", "not a JSON object"),
        ('{"polizy": 1}', "'polizy' is not one of"),
        ('{"policy": "all"}', "one of annotated, gpu_containers"),
        ('{"index": "10\\n"}', "two digits"),
        ('{"name": "a b"}', "letters, digits"),
        ('{"memlock": -2}', "unlimited or a number of bytes"),
        ('{"memlock": true}', "unlimited or a number of bytes"),
        ('{"umad": "yes"}', "true or false"),
        ('{"exclude": [1]}', "a list of text"),
        ('{"exclude": ["3b:00.9"]}', "must be a PCI address"),
        ('{"metrics": "here"}', "an absolute path"),
        ('{"gpu_vendors": ["10de0"]}', "4 hexadecimal digits"),
        ('{"socket": 7}', "not text"),
    ],
)
def test_wrong_values_are_named(text, said):
    with pytest.raises(ConfigurationError, match=said):
        configuration.read(text, {}, {})
