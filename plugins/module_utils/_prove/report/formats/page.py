# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What all pages for a browser have in common: the look, the script, and the rule that nothing in them is believed.

Every value passes through Jinja's escaping, since a page holds whatever nodes and the API server say.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any, Callable, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import clean

_ROLES = Path(__file__).resolve().parents[5] / "roles"
_OWN = _ROLES / "rdma_verify" / "templates"
_TEMPLATES = (_OWN, *(_ROLES / role / "templates" for role in ("rdma_audit", "rdma_cabling", "rdma_health")))


def rendered(template: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """The whole page."""
    # Ansible brings it, so the controller has it.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: clean(value) if isinstance(value, str) and not hasattr(value, "__html__") else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    script = (_OWN / "page.js").read_text("utf-8")
    return environment.get_template(template).render(
        style=(_OWN / "page.css").read_text("utf-8"),
        script=script,
        # The browser runs only this script, even if a node has sent another one.
        script_digest=base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode(),
        **values,
    )
