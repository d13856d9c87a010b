# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Container images of single static programs, as archives: what somebody without a registry brings to the nodes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from guest import container_image
from vmlab import cache, tools

from . import node_programs

# The name by which the role rdma_driver asks for it, so that what is proved is the default.
DRANET = "registry.k8s.io/networking/dranet:v1.4.0"


def dranet() -> Path:
    """Return the archive with the image of DRANET, under the name that it has in its registry."""
    program = tools.build(node_programs.DRANET)

    def pack(scratch: Path) -> None:
        layer = container_image.layer({"dranet": program.read_bytes()})
        container_image.archive(scratch / "image.tar", [DRANET], layer, ["/dranet"])

    recipe = hashlib.sha256(Path(container_image.__file__).read_bytes() + DRANET.encode())
    key = f"image-{program.parent.name}-{recipe.hexdigest()[:12]}"
    return cache.entry(key, pack) / "image.tar"
