# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Something of a cluster that a test plays beside what it tests."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Optional, Type

_PAUSE = 0.2


class Played(ABC):
    """Goes round in a thread as long as its ``with`` block, whose end raises what has stopped it."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._failure: Optional[Exception] = None

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    @abstractmethod
    def round(self) -> None:
        """What is done again and again."""

    def _work(self) -> None:
        try:
            while not self._stop.wait(_PAUSE):
                self.round()
        except Exception as error:
            self._failure = error
