# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""HTTP requests to the API server: raw JSON, a few at a time, repeated where that is right.

Every request may be sent twice: to read, to apply, to delete an object of a given uid, and to create or change an
object on a condition that holds once. So whatever is expected to go away by itself is tried again: a full queue (429),
an etcd election, an API server or load balancer that restarts, a webhook whose pods restart.
"""

from __future__ import annotations

import json
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, Callable, Dict, Generator, List, Mapping, NamedTuple, Optional, Sequence, TypeVar, Union
from urllib.parse import urlencode

try:
    from urllib3.exceptions import HTTPError
except ImportError:
    # It comes with the kubernetes library, whose absence is reported elsewhere.
    HTTPError = OSError  # type: ignore[misc, assignment]

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.answers import decoded
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import (
    ApiError,
    ClusterError,
    GivenUpError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.selection import SELECTION

THREADS = 8
# Seconds for which one request is repeated: a kube-apiserver of kubeadm restarts in about half of it.
PATIENCE = 60.0
_CONNECT_SECONDS = 10.0
_READ_SECONDS = 70.0
_WATCH_SECONDS = 60
# Shortest time of a watch that ends by itself: a load balancer that ends each one at once must not keep callers busy.
_PACE_SECONDS = 0.5
_FIRST_DELAY, _LONGEST_DELAY = 0.1, 5.0

# Bytes of a page of a list, so that tenants cannot fill the memory. An object has at most 3 MiB, as any request.
LARGEST_PAGE = 1 << 25

JSON = "application/json"
# Answers without spec and status, which spares the API server and us most of the work with them.
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# Under which the API server remembers which fields of an object are ours.
FIELD_MANAGER = "zerocopy.rdma"

Query = Mapping[str, Union[str, int]]
_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Response(NamedTuple):
    """HTTP status and JSON body."""

    status: int
    body: Object


class Client:
    """The API server as one user sees it."""

    def __init__(self, pool: Any, host: str, headers: Callable[[], Any], credentials: str = "") -> None:
        """``pool`` is a ``urllib3.PoolManager`` with at least :data:`THREADS` connections for each host.

        ``headers`` returns a new ``HTTPHeaderDict``; it is called for each request, since tokens expire.
        ``credentials`` says whose they are, for the message when they are refused.
        """
        self._pool = pool
        self._host = host.rstrip("/")
        self._headers = headers
        self._credentials = credentials
        self._reached = False
        self._threads = ThreadPoolExecutor(THREADS)

    def get(self, path: str, query: Optional[Query] = None, accept: str = JSON) -> Object:
        """Read an object or a whole list; with ``limit`` a page of it.

        Raises ApiError, ClusterError, and for a page TooLargeError.
        """
        asked: Dict[str, Union[str, int]] = {**(query or {})}
        is_page = "limit" in asked
        body = self._request("GET", path, asked, {"Accept": accept}, largest=LARGEST_PAGE if is_page else None).body
        more = "" if is_page else _continue(body)
        # A kube-apiserver answers with all that nobody wants in pages; whatever serves a group of its own may not.
        while more:
            page = self._request("GET", path, {**asked, "continue": more}, {"Accept": accept}).body
            body["items"] = [*(body.get("items") or []), *(page.get("items") or [])]
            more = _continue(page)
        return body

    def items_if_allowed(self, path: str, query: Optional[Query] = None, accept: str = JSON) -> Optional[List[Object]]:
        """The items of a list, ``None`` where this user may not read it. Raises ApiError, ClusterError."""
        try:
            return self.get(path, query, accept).get("items") or []
        except ApiError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                return None
            raise

    def text(self, path: str, query: Optional[Query] = None) -> str:
        """Read what is no JSON, such as a log. Raises ApiError, ClusterError."""
        answer = self._request(
            "GET", path, query, {"Accept": "*/*"}, parse=lambda data: {"text": data.decode(errors="replace")}
        )
        return str(answer.body["text"])

    def find(self, path: str) -> Optional[Object]:
        """Read an object that may be absent. Raises ApiError, ClusterError."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def create(self, path: str, item: Object, query: Query) -> Response:
        """Create an object; ``path`` is that of the list. Raises ApiError, ClusterError."""
        return self._request("POST", path, query, {"Accept": JSON, "Content-Type": JSON}, item)

    def apply(self, path: str, item: Object, query: Query, accept: str = JSON) -> Response:
        """Server-side apply. The status is 201 if there was no such object. Raises ApiError, ClusterError."""
        headers = {"Accept": accept, "Content-Type": "application/apply-patch+yaml"}
        return self._request("PATCH", path, query, headers, item)

    def merge(self, path: str, item: Object, query: Query) -> Response:
        """Change the fields of an object that are given, ``None`` meaning none. Raises ApiError, ClusterError.

        With ``metadata.resourceVersion`` the status of the error is 409 if the object has changed since.
        """
        headers = {"Accept": "application/json", "Content-Type": "application/merge-patch+json"}
        return self._request("PATCH", path, query, headers, item)

    def delete(self, path: str, options: Object) -> None:
        """Delete an object, which may be gone. Raises ApiError, ClusterError."""
        headers = {"Accept": JSON, "Content-Type": JSON}
        try:
            self._request("DELETE", path, None, headers, options)
        except ApiError as error:
            if error.status != 404:
                raise

    def watch(self, path: str, query: Query, seconds: float) -> Generator[Object, None, None]:
        """Events of a watch until ``seconds`` have passed, or earlier: the caller has to read again and start anew.

        Raises ApiError, but not where only the ``resourceVersion`` is too old, nor for temporary errors.
        """
        full = {**query, "watch": "1", "timeoutSeconds": min(max(1, int(seconds)), _WATCH_SECONDS)}
        began = time.monotonic()
        yield from self._events(path, full)
        if time.monotonic() - began < _PACE_SECONDS:
            time.sleep(_PACE_SECONDS)

    def _events(self, path: str, query: Query) -> Generator[Object, None, None]:
        response = None
        try:
            response = self._send("GET", path, query, {"Accept": JSON}, None, stream=True)
            if response.status != 200:
                error = self._error(response)
                if response.status == 410 or _passing(error, "GET", False):
                    return
                raise error
            rest = b""
            for chunk in response.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for event in (decoded(line) for line in lines if line):
                    # What comes after an error belongs to a watch that has ended.
                    if event["type"] == "ERROR":
                        return
                    yield event
        except (HTTPError, OSError, ValueError):
            return
        finally:
            if response is not None:
                response.close()

    def map(self, call: Callable[[_In], _Out], items: Sequence[_In]) -> List[Union[_Out, ClusterError]]:
        """What ``call`` returns for each item, or the error that it raises, in the order of the items."""

        def caught(item: _In) -> Union[_Out, ClusterError]:
            try:
                return call(item)
            except ClusterError as error:
                return error

        return list(self._threads.map(caught, items))

    def all(self, call: Callable[[_In], _Out], items: Sequence[_In]) -> List[_Out]:
        """The same, but raises the first of the errors, when all are done."""
        done = []
        for answer in self.map(call, items):
            if isinstance(answer, ClusterError):
                raise answer
            done.append(answer)
        return done

    def _request(
        self,
        method: str,
        path: str,
        query: Optional[Query],
        headers: Mapping[str, str],
        body: Optional[Object] = None,
        parse: Optional[Callable[[bytes], Object]] = None,
        largest: Optional[int] = None,
    ) -> Response:
        deadline = time.monotonic() + PATIENCE
        delay = _FIRST_DELAY
        conditional = "resourceVersion" in metadata(body or {})
        data = None if body is None else json.dumps(body).encode()
        repeated = False
        while True:
            asked = None
            try:
                response = self._send(method, path, query, headers, data, stream=largest is not None)
                if 200 <= response.status < 300:
                    body = (parse or _object)(response.data if largest is None else _limited(response, largest))
                    self._reached = True
                    return Response(response.status, body)
                self._reached = True
                error: ClusterError = self._error(response, repeated)
                if not _passing(error, method, conditional):
                    raise error
                asked = _seconds(response.headers.get("Retry-After"))
            except (HTTPError, OSError, _NoObjectError) as problem:
                error = ClusterError(f"{self._host}: {_reason(problem)}")
                if _untrusted(problem):
                    raise self._unreached(str(error)) from problem
            pause = asked or delay
            if time.monotonic() + pause > deadline:
                told = f"{error} (tried for {PATIENCE:.0f} s: {method} {path})"
                raise GivenUpError(told) if self._reached else self._unreached(told)
            time.sleep(pause)
            repeated = True
            delay = min(delay * 2, _LONGEST_DELAY)

    def _unreached(self, why: str) -> GivenUpError:
        return GivenUpError(f"no connection to the cluster with {self._credentials}: {why}. {SELECTION}")

    def _error(self, response: Any, repeated: bool = False) -> ApiError:
        content = _json(response.data)
        if response.status == 401:
            content["message"] = refused(self._host, self._credentials)
        error = ApiError(response.status, content)
        error.repeated = repeated
        return error

    def _send(
        self,
        method: str,
        path: str,
        query: Optional[Query],
        headers: Mapping[str, str],
        data: Optional[bytes],
        stream: bool = False,
    ) -> Any:
        from urllib3 import Timeout

        merged = self._headers()
        merged.update(headers)
        url = self._host + path + (f"?{urlencode(query)}" if query else "")
        return self._pool.request(
            method,
            url,
            body=data,
            headers=merged,
            redirect=False,
            retries=False,
            preload_content=not stream,
            timeout=Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
        )


def _continue(body: Object) -> str:
    """From where a list goes on that an answer has a part of."""
    found = body.get("metadata") if "items" in body else None
    return str(found.get("continue") or "") if isinstance(found, dict) else ""


def again_on_conflict(attempt: Callable[[], _Out]) -> _Out:
    """What ``attempt`` returns, which reads an object and changes it as it was read; again if that has changed.

    For as long as a request is repeated. Raises the last ApiError.
    """
    deadline = time.monotonic() + PATIENCE
    delay = _FIRST_DELAY
    while True:
        try:
            return attempt()
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT or time.monotonic() + delay > deadline:
                raise
        time.sleep(delay)
        delay = min(delay * 2, _LONGEST_DELAY)


def refused(host: str, credentials: str) -> str:
    """The message for HTTP status 401."""
    return f"{host} does not accept {credentials}: expired, revoked, or of another cluster. {SELECTION}"


def _passing(error: ClusterError, method: str, conditional: bool) -> bool:
    """Whether an error will go away by itself."""
    if not isinstance(error, ApiError):
        return False
    # With causes it is a PodDisruptionBudget that refuses an eviction.
    if error.status == 429:
        return not error.causes
    if error.status in (502, 503, 504):
        return True
    if error.status == 500:
        return any(text in str(error) for text in ("etcdserver:", "etcd cluster", "failed calling webhook"))
    # Two writers at the same moment. A conflict of field managers has causes; that of a delete is an answer.
    return error.status == 409 and method == "PATCH" and not conditional and not error.causes


class TooLargeError(ClusterError):
    """An answer is larger than whoever asked can bear."""


def _limited(response: Any, largest: int) -> bytes:
    """The body of an answer that is read while it comes. Raises TooLargeError, HTTPError."""
    read, size = [], 0
    for chunk in response.stream(1 << 16):
        read.append(chunk)
        size += len(chunk)
        if size > largest:
            response.close()
            raise TooLargeError(f"the answer is larger than {largest >> 20} MiB")
    return b"".join(read)


class _NoObjectError(ValueError):
    """An answer is cut off, or not from the API server: it must not be read as an empty list."""


def _object(data: bytes) -> Object:
    try:
        body = decoded(data)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise _NoObjectError(f"the answer is not a JSON object (cut off, or not from an API server): {data[:100]!r}")
    # What Go makes of a list without items, such as that of the nodes' metadata in a cluster without nodes.
    if body.get("items", ()) is None:
        body["items"] = []
    return body


def _json(data: bytes) -> Dict[str, Any]:
    """The content of an error, which may also come from something in between, such as a proxy."""
    try:
        body = decoded(data)
    except ValueError:
        return {"message": data[:500].decode(errors="replace").strip()}
    return body if isinstance(body, dict) else {"message": str(body)}


def _untrusted(problem: Exception) -> bool:
    """Whether the server's certificate is not that of the cluster, which time does not change."""
    inner = getattr(problem, "reason", None) or problem
    return any(isinstance(each, ssl.SSLCertVerificationError) for each in (inner, *inner.args))


def _seconds(value: Optional[str]) -> Optional[float]:
    """Retry-After in its form with seconds, the only one that the API server uses."""
    return float(value) if value is not None and value.isdigit() else None


def _reason(problem: Exception) -> str:
    inner = getattr(problem, "reason", None)
    return str(inner or problem)
