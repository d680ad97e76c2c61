"""Which session the calls of this process belong to: a header that the proxy reads, and takes off again.

``eve_mocks.evals`` sets it, for the task or thread that it runs in; a process may also be given one as a whole. The
clients that are patched are those that the others are made of: http.client (urllib, urllib3, requests), httpcore
(httpx) and aiohttp. A thread, and what an executor is given, belong to the session of who started it.
"""
# mypy: ignore-errors

import os
from _contextvars import ContextVar

HEADER = "x-eve-mocks-session"
current = ContextVar("eve_mocks_session", default=None)
opened = []  # the sessions that are open in this process: where it is one, it is meant in every thread


def session():
    return current.get() or (opened[0] if len(opened) == 1 else None) or os.environ.get("EVE_MOCKS_SESSION")


def _passes_natively(host, port):
    """Whether a server is on this machine, and so none that the proxy answers for."""
    name = (host.decode("latin-1") if isinstance(host, bytes) else host or "").strip("[]").lower()
    is_here = name == "::1" or name.startswith("127.") or name == "localhost" or name.endswith(".localhost")
    return is_here and os.environ.get("EVE_MOCKS_PROXY", "").rpartition(":")[2] != str(port)


def _http_client(module):
    end = module.HTTPConnection.endheaders

    def endheaders(self, *arguments, **options):
        led = getattr(self, "_tunnel_host", None) or not _passes_natively(self.host, self.port)
        id_ = session() if led else None
        mark = HEADER.encode() + b":"
        if id_ and not any(line.lower().startswith(mark) for line in getattr(self, "_buffer", ())):
            self.putheader(HEADER, id_)
        return end(self, *arguments, **options)

    module.HTTPConnection.endheaders = endheaders


def _stamp(request):
    id_ = None if _passes_natively(request.url.host, request.url.port) else session()
    if id_ and not any(name.lower() == HEADER.encode() for name, _ in request.headers):
        request.headers.append((HEADER.encode(), id_.encode()))


def _httpcore(module):
    ask = module.ConnectionPool.handle_request

    def handle_request(self, request):
        _stamp(request)
        return ask(self, request)

    module.ConnectionPool.handle_request = handle_request


def _async_httpcore(module):
    ask = module.AsyncConnectionPool.handle_async_request

    def handle_async_request(self, request):
        _stamp(request)
        return ask(self, request)

    module.AsyncConnectionPool.handle_async_request = handle_async_request


def _aiohttp(module):
    update = module.ClientRequest.update_headers

    def update_headers(self, headers):
        update(self, headers)
        id_ = None if _passes_natively(self.url.host, self.url.port) else session()
        if id_:
            self.headers.setdefault(HEADER, id_)

    module.ClientRequest.update_headers = update_headers


def _in(id_, work):
    def called(*given, **named):
        token = current.set(id_)
        try:
            return work(*given, **named)
        finally:
            current.reset(token)

    return called


def _threading(module):
    start = module.Thread.start

    def start_in_session(self):
        if current.get() is not None:
            self.run = _in(current.get(), self.run)
        return start(self)

    module.Thread.start = start_in_session


def _executor(module):
    submit = module.ThreadPoolExecutor.submit

    def submit_in_session(self, work, *given, **named):
        return submit(self, _in(current.get(), work), *given, **named)

    module.ThreadPoolExecutor.submit = submit_in_session


PATCHES = {
    "threading": _threading,
    "concurrent.futures.thread": _executor,
    "http.client": _http_client,
    "httpcore._sync.connection_pool": _httpcore,
    "httpcore._async.connection_pool": _async_httpcore,
    "httpcore2._sync.connection_pool": _httpcore,
    "httpcore2._async.connection_pool": _async_httpcore,
    "aiohttp.client_reqrep": _aiohttp,
}
