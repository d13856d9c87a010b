# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Sources in a zip file, each compiled once.

Python looks for a module's file name before it loads the module, and for a zip file it compiles the whole source to
find it out. A third of what the modules cost a node in which nothing is to be changed was this.
"""

from __future__ import annotations

import os
import sys
import zipimport


class _Sources(zipimport.zipimporter):
    """For a zip file without compiled modules, as Ansible makes it."""

    def get_filename(self, fullname: str) -> str:
        name = self.prefix + fullname.rpartition(".")[2]
        file = os.path.join(name, "__init__.py") if self.is_package(fullname) else f"{name}.py"
        return os.path.join(self.archive, file)


def compile_once() -> None:
    """For what is imported afterwards from the zip file that has this file, if one has it."""
    loader = __spec__.loader if __spec__ else None
    if not isinstance(loader, zipimport.zipimporter):
        return
    archive = loader.archive

    def of_archive(path: str) -> _Sources:
        if not path.startswith(archive):
            raise ImportError(f"{path} is not in {archive}")
        return _Sources(path)

    sys.path_hooks.insert(0, of_archive)
