# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Sphinx's settings for the site (``build.py``). Nothing is fetched: no intersphinx, no fonts, no scripts of others."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

project = "zerocopy.rdma"
project_copyright = "the zerocopy.rdma authors"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
root_doc = "docs/README"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# These are there to be linked, file by file.
exclude_patterns = ["extensions/**", "inventory/**", "playbooks/**", "plugins/**", "roles/**", "tests/**"]
# Anchors as GitHub makes them, of all headings down to this level.
myst_heading_anchors = 4
language = "en"
html_theme = "furo"
html_title = "zerocopy.rdma"
html_show_sourcelink = False
html_copy_source = False
pygments_style = "default"

# The labels of Ansible's own documentation that the generated reference uses.
_ANSIBLE = "https://docs.ansible.com/ansible/latest"
_PAGES = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "common_return_values": "reference_appendices/common_return_values.html",
}
_PLUGIN = re.compile(r"ansible_collections\.(?!zerocopy\.rdma\.)(\w+)\.(\w+)\.(\w+_[a-z]+)")


def elsewhere(
    _app: Sphinx, _env: BuildEnvironment, node: pending_xref, contents: nodes.TextElement
) -> nodes.reference | None:
    """A link to Ansible's documentation, by its address, since its index would have to be fetched."""
    target = node["reftarget"]
    page = _PAGES.get(target)
    if match := _PLUGIN.fullmatch(target):
        page = "collections/{}/{}/{}.html".format(*match.groups())
    return nodes.reference("", "", contents, refuri=f"{_ANSIBLE}/{page}", internal=False) if page else None


def setup(app: Sphinx) -> None:
    app.connect("missing-reference", elsewhere)
