"""A mocks folder as a user writes it: what is loaded, and what each mistake says."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eve_mocks.errors import MockError
from eve_mocks.load import Mocks, load
from eve_mocks.match import parse_url
from eve_mocks.model import Answer, Headers, Passage, Request
from eve_mocks.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
type Write = Callable[[dict[str, str | bytes]], Mocks]

HTTP = "kind: http\nurl: https://api.pay.test/v1\n"
PYTHON = "from eve_mocks import http_mock\nshop = http_mock('https://shop.test/')\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write files into a mocks folder and load it; what loading leaves in the interpreter is taken back."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "mocks"
    folder.mkdir()

    def write(files: dict[str, str | bytes]) -> Mocks:
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return load(folder, shown="mocks")

    yield write
    for name in [name for name, module in sys.modules.items() if str(tmp_path) in repr(module)]:
        del sys.modules[name]


def ask(mocks: Mocks, url: str, method: str = "GET") -> Answer:
    request = Request(method=method, target=parse_url(url), headers=Headers())
    return asyncio.run(mocks.mocks[0].answer(request, Session("s")))


def names(mocks: Mocks) -> list[str]:
    return [entry.name for entry in itertools.chain[Any](mocks.mocks, mocks.passages)]


def test_values_are_json_as_yaml_1_2_has_it(write: Write) -> None:
    mocks = write(
        {
            "pay.yaml": HTTP + "routes:\n  /charges:\n    GET:\n      response:"
            " {country: NO, at: 12:30, day: 2026-01-01, v: 012, e: 1e3, n: ~, id: 12345678901234567890, price: 1.10}\n"
        }
    )
    assert ask(mocks, "https://api.pay.test/v1/charges").response.body == (
        b'{"country": "NO", "at": "12:30", "day": "2026-01-01", "v": 12, "e": 1000, "n": null, '
        b'"id": 12345678901234567890, "price": 1.1}'
    )


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pay.yaml": HTTP}, ["pay"]),
        ({"pay.yml": HTTP}, ["pay"]),
        ({"pay.json": '{"kind": "http", "url": "https://api.pay.test/v1"}'}, ["pay"]),
        ({"pay.yaml": "\ufeff" + HTTP.replace("\n", "\r\n")}, ["pay"]),
        ({"pay.json": '\ufeff{"kind": "http",\r\n "url": "https://api.pay.test/v1"}'}, ["pay"]),
        ({"pay.yaml": f"---\n{HTTP}---\n"}, ["pay"]),
        ({"pay.yaml": f"{HTTP}---\nkind: block\nurl: https://x.test\nwhy: noise\n"}, ["pay.1", "pay.2"]),
        ({"shop.py": PYTHON}, ["shop"]),
        ({"any.py": PYTHON + "other = http_mock('https://o.test/')\n"}, ["any.shop", "any.other"]),
        ({"any.py": PYTHON + "again = shop\n_hidden = shop\n"}, ["any"]),
        ({"gate.py": "from eve_mocks import allow\nx = allow('https://x.test/', why='real')\n"}, ["gate"]),
        ({"pay.yaml": HTTP, "sub/x.yaml": "{", "notes.md": "", ".hidden.yaml": "{", "pay.yaml~": "{"}, ["pay"]),
        ({}, []),
    ],
)
def test_files_are_named_after_their_stem(write: Write, files: dict[str, str | bytes], expected: list[str]) -> None:
    mocks = write(files)
    assert (names(mocks), mocks.errors) == (expected, [])


def test_what_holds_no_mock_is_named(write: Write) -> None:
    assert write({"a.md": "", "b.py": "x = 1\n", "c.yaml": HTTP, "d/e.yaml": "{"}).ignored == ["a.md", "b.py"]


def test_passages_carry_their_reason_and_place(write: Write) -> None:
    mocks = write({"real.yaml": "kind: allow\nurl: https://ai-gateway.vercel.sh/\nwhy: evals need a real model\n"})
    assert mocks.passages == [
        Passage(
            kind="allow",
            name="real",
            url="https://ai-gateway.vercel.sh/",
            why="evals need a real model",
            file="mocks/real.yaml",
            line=2,
        )
    ]


DATA_MISTAKES: list[tuple[str, dict[str, str | bytes], int | None, str, str]] = [
    ("unknown kind", {"m.yaml": "kind: htp\nurl: https://x.test/"}, 1, "'htp'", "Did you mean http?"),
    ("no kind", {"m.yaml": "url: https://x.test/"}, 1, "no kind", "kind: http"),
    ("kind is null", {"m.yaml": "url: https://x.test/\nkind:"}, 2, "kind is nothing (null), not text", "http"),
    ("url is null", {"m.yaml": "kind: http\nurl:"}, 2, "url is nothing (null), not text", "https://"),
    ("url is misspelt", {"m.yaml": "kind: http\nurll: https://x.test/"}, 2, "'urll'", "Did you mean url?"),
    ("kind is a list", {"m.yaml": "url: https://x.test/\nkind: [http]"}, 2, "not text", "http"),
    ("unknown key", {"m.yaml": HTTP + "rutes: {}"}, 3, "'rutes'", "Did you mean routes?"),
    (
        "unknown key in JSON",
        {"m.json": '{"kind": "http",\n"url": "https://x.test",\n"rutes": 1}'},
        3,
        "'rutes'",
        "routes?",
    ),
    ("a key that YAML 1.1 turns into true", {"m.yaml": HTTP + "on: 1"}, 3, "'on'", "routes"),
    ("a path that YAML turns into a number", {"m.yaml": HTTP + "routes:\n  404: {}"}, 4, "'404'", "Write /404"),
    ("a tab", {"m.yaml": HTTP + "routes:\n\t/a: {}"}, 4, "not YAML", "spaces"),
    ("a duplicate key", {"m.yaml": HTTP + "url: https://y.test/"}, 3, "twice", "Remove one"),
    ("empty", {"m.yaml": ""}, 1, "mocks/m.yaml is empty", "kind"),
    ("only comments", {"m.yaml": "# later\n"}, 1, "mocks/m.yaml is empty", "kind"),
    ("only separators", {"m.yaml": "---\n---\n"}, 1, "mocks/m.yaml is empty", "kind"),
    ("empty JSON", {"m.json": " \n"}, 1, "mocks/m.json is empty", "kind"),
    ("a list", {"m.yaml": "- kind: http"}, 1, "not a mapping", "kind"),
    ("text", {"m.yaml": "hello"}, 1, "not a mapping", "kind"),
    ("null in JSON", {"m.json": "null"}, 1, "not a mapping", "kind"),
    ("Latin-1", {"m.yaml": b"kind: http\nurl: https://caf\xe9.test/"}, 2, "not UTF-8", "UTF-8"),
    ("UTF-16", {"m.yaml": HTTP.encode("utf-16")}, 1, "not UTF-8", "UTF-8"),
    ("deep JSON", {"m.json": "[" * 100_000 + "]" * 100_000}, None, "too deeply", "flatter"),
    ("a URL without a scheme", {"m.yaml": "kind: http\nurl: x.test"}, 2, "no scheme", "https://x.test"),
    ("a URL with credentials", {"m.yaml": "kind: http\nurl: https://u:p@x.test/"}, 2, "credentials", "https://x.test/"),
    ("a URL with a fragment", {"m.yaml": "kind: http\nurl: https://x.test/#a"}, 2, "fragment", "https://x.test/"),
    ("a URL with a query", {"m.yaml": "kind: http\nurl: https://x.test/?a=1"}, 2, "query", "https://x.test/"),
    ("a loopback URL", {"m.yaml": "kind: http\nurl: http://127.1.2.3:80/"}, 2, "on this machine", "real service"),
    ("no URL", {"m.yaml": "kind: http"}, 1, "no url", "https://"),
    ("a URL that is a number", {"m.yaml": "kind: http\nurl: 3"}, 2, "not text", "https://"),
    ("an allow without a reason", {"m.yaml": "kind: allow\nurl: https://x.test/"}, 1, "no why", "why:"),
    ("an allow with a blank reason", {"m.yaml": "kind: allow\nurl: https://x.test/\nwhy: ' '"}, 3, "empty", "reason"),
    ("a misspelt block", {"m.yaml": "kind: block\nurl: https://x.test/\nwy: x"}, 3, "'wy'", "Did you mean why?"),
    ("state in YAML", {"m.yaml": HTTP + "state: {}"}, 3, "'state'", "routes"),
    ("one stem", {"m.json": "{}", "m.yaml": HTTP}, 1, "two files are named m: m.json and m.yaml", "Rename"),
    ("one URL", {"l.yaml": HTTP, "m.yaml": HTTP.replace("api", "API") + "routes: {}"}, 2, "two mocks claim", "Merge"),
    (
        "one allow and block URL",
        {"l.yaml": "kind: allow\nurl: https://x.test/\nwhy: x", "m.yaml": "kind: block\nurl: https://x.test\nwhy: x"},
        2,
        "two allow or block entries claim",
        "Merge",
    ),
    (
        "one name",
        {"m.1.yaml": HTTP, "m.yaml": "\n---\n".join(HTTP.replace("v1", v) for v in ("a", "b"))},
        2,
        "two mocks are named m.1",
        "Rename",
    ),
]


@pytest.mark.parametrize(
    ("files", "line", "message", "fix"), [row[1:] for row in DATA_MISTAKES], ids=[row[0] for row in DATA_MISTAKES]
)
def test_a_mistake_in_a_data_file_is_told(
    write: Write, files: dict[str, str | bytes], line: int | None, message: str, fix: str
) -> None:
    error = write(files).errors[-1]
    assert (error.file, error.line) == (f"mocks/{max(files)}", line)
    assert message in error.message
    assert fix in error.fix
    assert error.why


NEAR_NAMES: list[tuple[str, str, str]] = [
    ("an import", "from eve_mocks import http_mok\n", "http_mock"),
    ("an attribute", PYTHON + "@shop.gett('/')\ndef f(): ...\n", "get"),
    ("a global", PYTHON + "shp.get('/')\n", "shop"),
    ("a builtin", "x = lenn('a')\n", "len"),
    ("a local", "def f():\n    number = 1\n    return numbr\nf()\n", "number"),
]


@pytest.mark.parametrize(("source", "near"), [row[1:] for row in NEAR_NAMES], ids=[row[0] for row in NEAR_NAMES])
def test_a_name_that_python_does_not_know_gets_the_nearest(write: Write, source: str, near: str) -> None:
    (error,) = write({"m.py": source}).errors
    assert error.fix.startswith(f"Did you mean {near}?")


PYTHON_MISTAKES: list[tuple[str, str | bytes, int, str]] = [
    ("raises", "x = 1\n\nraise ValueError('no\\nway')\n", 3, "ValueError: no way"),
    ("fails in a function", "def f():\n    return 1 / 0\nf()\n", 2, "ZeroDivisionError"),
    ("exits", "import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
    ("a syntax error", "x = 1\ndef f(:\n", 2, "SyntaxError"),
    ("tabs and spaces", "if 1:\n\tx = 1\n        y = 2\n", 3, "TabError"),
    ("a null byte", b"x = 1\n\0\n", 1, "null bytes"),
    ("not UTF-8", b"x = '\xe9'\n", 1, "SyntaxError"),
    ("no such module", "\nimport no_such_module\n", 2, "No module named 'no_such_module'"),
    ("reads the command's input", "x = input()\n", 1, "RuntimeError"),
    ("recursion", "def f():\n    f()\nf()\n", 2, "RecursionError"),
    ("throws at load", "from eve_mocks import Throw\nraise Throw('x')\n", 2, "Throw"),
    ("a bad URL", "from eve_mocks import http_mock\nx = http_mock(\n    'x.test')\n", 2, "no scheme"),
    ("an unknown option", "from eve_mocks import http_mock\nx = http_mock('https://x.test', sate=1)\n", 2, "'sate'"),
    ("an unknown parameter", PYTHON + "@shop.get('/a')\ndef f(parms): ...\n", 3, "'parms'"),
    ("any parameters", PYTHON + "@shop.get('/a')\ndef f(*args): ...\n", 3, "*args"),
    ("an unknown method", PYTHON + "@shop.route('GTE', '/a')\ndef f(): ...\n", 3, "'GTE'"),
    ("a bad path", PYTHON + "@shop.get('a')\ndef f(): ...\n", 3, "does not begin with /"),
    (
        "one operation twice",
        PYTHON + "@shop.get('/{a}')\ndef f(): ...\n@shop.get('/{b}')\ndef g(): ...\n",
        5,
        "two routes",
    ),
    ("routes that are no mapping", PYTHON.replace("/')", "/', routes=[1])"), 2, "not a mapping"),
    (
        "an answer that is no JSON",
        PYTHON.replace("/')", "/', routes={'/': {'GET': {'response': {1, 2}}}})"),
        2,
        "type set",
    ),
    (
        "an allow without a reason",
        "from eve_mocks import allow\nx = allow('https://x.test/', why='')\n",
        2,
        "no reason",
    ),
]


@pytest.mark.parametrize(
    ("source", "line", "message"), [row[1:] for row in PYTHON_MISTAKES], ids=[row[0] for row in PYTHON_MISTAKES]
)
def test_a_mistake_in_a_python_file_is_told(write: Write, source: str | bytes, line: int, message: str) -> None:
    (error,) = write({"m.py": source}).errors
    assert (error.file, error.line) == ("mocks/m.py", line)
    assert message in error.message
    assert error.why
    assert error.fix


def test_a_mistake_beside_the_mock_is_told_where_it_is(write: Write) -> None:
    (error,) = write({"m.py": "from lib import data\n", "lib/data.py": "\nx = (\n"}).errors
    assert (error.file, error.line) == ("mocks/lib/data.py", 2)


def test_every_mistake_of_a_folder_is_told_at_once(write: Write) -> None:
    mocks = write({"a.yaml": "kind: x\n---\nkind: y\n", "b.py": "1/0\n", "c.json": "{", "d.yaml": HTTP})
    assert [(error.file, error.line) for error in mocks.errors] == [
        ("mocks/a.yaml", 1),
        ("mocks/a.yaml", 3),
        ("mocks/b.py", 1),
        ("mocks/c.json", 1),
    ]
    assert names(mocks) == ["d"]


def test_loading_leaves_the_commands_streams_alone(write: Write, capfd: pytest.CaptureFixture[str]) -> None:
    mocks = write(
        {
            "m.py": "import os, sys, threading\nprint('loud')\nsys.stdout.write('louder\\n')\n"
            "sys.stdout.flush()\nos.system('echo from a child')\n"
            "thread = threading.Thread(target=print, args=('from a thread',))\nthread.start()\nthread.join()\n" + PYTHON
        }
    )
    assert (names(mocks), mocks.errors) == (["m"], [])
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "loud\nlouder\nfrom a child\nfrom a thread\n")


@pytest.mark.parametrize("stem", ["json", "mcp", "openai", "eve_mocks", "asyncio", "__main__"])
def test_a_mock_shadows_no_module(write: Write, stem: str) -> None:
    before = {name: sys.modules.get(name) for name in (stem, "json")}
    mocks = write({f"{stem}.py": "import json\nassert json.dumps([1]) == '[1]'\n" + PYTHON})
    assert (names(mocks), mocks.errors) == ([stem], [])
    assert {name: sys.modules.get(name) for name in before} == before


def test_a_mock_imports_what_lies_beside_it(write: Write) -> None:
    source = "from lib.data import X\nfrom eve_mocks import http_mock\nm = http_mock('https://m.test', routes=X)\n"
    data = "X = {'/': {'GET': {'response': 1}}}\n"
    mocks = write({"m.py": source, "lib/data.py": data})
    assert (names(mocks), mocks.errors) == (["m"], [])
    assert ask(mocks, "https://m.test/").response.body == b"1"
    assert not list(mocks.folder.rglob("__pycache__"))
    edited = write({"lib/data.py": data.replace("1", "2")})
    assert ask(edited, "https://m.test/").response.body == b"2"


def test_classes_of_a_mock_file_work_as_in_a_module(write: Write) -> None:
    mocks = write(
        {
            "m.py": "from __future__ import annotations\nimport dataclasses, pickle\nfrom typing import ClassVar\n"
            "@dataclasses.dataclass\nclass A:\n    x: int\n    y: ClassVar[int] = 2\n"
            "assert pickle.loads(pickle.dumps(A(1))) == A(1)\n" + PYTHON
        }
    )
    assert mocks.errors == []


def test_a_missing_folder_is_empty(tmp_path: Path) -> None:
    mocks = load(tmp_path / "mocks", shown="mocks")
    assert dataclasses.replace(mocks, problems=()) == Mocks(folder=tmp_path / "mocks")
    (problem,) = mocks.problems
    assert problem.message == "mocks does not exist"
    assert "eve-mocks add NAME" in problem.fix


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to(path)], ids=["a file", "a loop"])
def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "mocks")
    with pytest.raises(MockError, match="mocks cannot be read"):
        load(tmp_path / "mocks", shown="mocks")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_told(write: Write, tmp_path: Path) -> None:
    write({"m.yaml": HTTP, "n.py": PYTHON})
    (tmp_path / "mocks/m.yaml").chmod(0)
    (tmp_path / "mocks/n.py").chmod(0)
    assert [error.file for error in load(tmp_path / "mocks", shown="mocks").errors] == ["mocks/m.yaml", "mocks/n.py"]
    (tmp_path / "mocks").chmod(0)
    with pytest.raises(MockError, match="Permission denied"):
        load(tmp_path / "mocks", shown="mocks")
    (tmp_path / "mocks").chmod(0o700)


def test_a_link_to_nowhere_is_told_and_a_pipe_is_not_waited_for(write: Write, tmp_path: Path) -> None:
    write({})
    (tmp_path / "mocks/gone.yaml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "mocks/pipe.yaml")
    mocks = load(tmp_path / "mocks", shown="mocks")
    assert [(error.file, error.message) for error in mocks.errors] == [
        ("mocks/gone.yaml", "mocks/gone.yaml cannot be read: No such file or directory")
    ]
    assert mocks.ignored == ["pipe.yaml"]


@given(st.text(max_size=80) | st.binary(max_size=80))
def test_any_data_file_loads_or_is_told(tmp_path_factory: pytest.TempPathFactory, content: str | bytes) -> None:
    folder = tmp_path_factory.mktemp("mocks")
    data = content if isinstance(content, bytes) else (HTTP + content).encode("utf-8", "surrogatepass")
    (folder / "m.yaml").write_bytes(data)
    (folder / "n.json").write_bytes(data)
    mocks = load(folder, shown="mocks")
    assert all(error.file and error.message and error.why and error.fix for error in mocks.errors)
    assert len(mocks.errors) + len(mocks.mocks) >= 2
