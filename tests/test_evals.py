"""Evals in Python, inside of real runs, with the clients that agents are made of."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from eve_mocks import contain

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    from conftest import Project

MOCKS = """
    kind: http
    url: https://search.test/v1
    routes:
      /search: {POST: {response: {results: [route]}}}
      /items/{item_id}: {GET: {response: {id: one}}}
    ---
    kind: mcp
    url: https://tasks.test/mcp
    results:
      list_tasks: {tasks: []}
      complete_task: {success: false}
"""
NOTES = """
    from eve_mocks import http_mock

    notes = http_mock("https://notes.test/", state={"notes": []})

    @notes.post("/notes")
    def add(request, state):
        state["notes"].append(request.json())
        return state["notes"]
"""
# The first example of eve's page on stubs.
TASKS = """
    - id: tasks
      tool: list_tasks
      outcomes:
        - response: {tasks: [{id: milk, title: Buy milk}, {id: dog, title: Walk dog}, {id: rent, title: Pay rent}]}
        - response: {tasks: [{id: dog, title: Walk dog}, {id: rent, title: Pay rent}]}
    - id: complete-milk
      tool: complete_task
      match: {task_id: {const: milk}}
      outcome: {response: {success: true}}
"""
SEARCH = "https://search.test/v1/search"


@pytest.fixture
def app(project: Project) -> Project:
    project.file("mocks/app.yaml", MOCKS)
    project.file("mocks/notes.py", NOTES)
    return project


def run(project: Project, code: str, *options: str, prefix: str = "") -> CompletedProcess[str]:
    project.file("agent.py", code)
    return project.eve_mocks("run", *options, "--", sys.executable, *filter(None, [prefix]), "agent.py", timeout=120)


def ok(project: Project, code: str, *options: str) -> str:
    ended = run(project, code, *options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


AGENT = """
    import asyncio, json
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from eve_mocks import evals

    async def agent():
        async with (
            httpx2.AsyncClient() as http,
            Client(streamable_http_client("https://tasks.test/mcp", http_client=http)) as client,
        ):
            for tool, given in (("list_tasks", {}), ("complete_task", {"task_id": "milk"}), ("list_tasks", {})):
                result = await client.call_tool(tool, given)
                print(result.content[0].text)
    """


def test_the_first_example_of_stubs_as_a_file_and_per_session(app: Project) -> None:
    app.file("tasks.yaml", TASKS)
    check = """
    asyncio.run(agent())
    """
    told = ok(app, AGENT + check, "--stubs", "tasks.yaml", "--fail-on-unused")
    per_session = """
    import yaml
    with evals.session(stubs=yaml.safe_load(open("tasks.yaml"))) as s:
        asyncio.run(agent())
        s.called_tool("list_tasks", count=2)
        s.called_tool("complete_task", input={"task_id": "milk"}, count=1, status="completed")
        s.tool_order(["list_tasks", "complete_task", "list_tasks"])
        s.tool_order(["complete_task", "list_tasks"])
        s.no_failed_actions()
    """
    assert ok(app, AGENT + per_session) == told
    first, second, third = told.splitlines()
    assert ("milk" in first, second, "milk" in third) == (True, '{"success": true}', False)


def test_pins_state_and_assertions(app: Project) -> None:
    ok(
        app,
        f"""
        import httpx
        from eve_mocks.evals import session

        with session(seed={{"notes": {{"notes": ["a"]}}}}) as s:
            s.mock("POST /search", {{"results": []}})
            assert httpx.post("{SEARCH}", json={{"q": "x"}}).json() == {{"results": []}}
            s.mock("app.1:POST /search", outcome={{"status": 429, "response": 1}})
            assert httpx.post("{SEARCH}", json={{"q": "y"}}).status_code == 429
            assert httpx.post("https://notes.test/notes", json="b").json() == ["a", "b"]
            assert s.state("notes")["notes"] == ["a", "b"]
            s.seed("notes", {{"notes": []}})
            assert httpx.post("https://notes.test/notes", json="c").json() == ["c"]
            s.called_tool("POST /search", input={{"body": {{"q": "x"}}}}, count=1)
            s.called_tool("POST /search", count=1, status="failed")
            s.not_called_tool("GET /items/{{item_id}}")
        assert httpx.post("{SEARCH}", json={{}}).json() == {{"results": ["route"]}}
        """,
    )


@pytest.mark.parametrize(
    ("check", "message"),
    [
        pytest.param(
            's.called_tool("GET /items/{item_id}", input={"item_id": "2"})',
            """
            GET /items/{item_id} {"item_id": "2"} was not called
            nearest is app.1:GET /items/{item_id} {"item_id": "1"}: input.item_id is "1", not "2"
            called were:
              app.1:GET /items/{item_id} {"item_id": "1"}
              app.1:POST /search {"body": {"q": "x"}}
            """,
            id="other input",
        ),
        pytest.param(
            's.called_tool("POST /search", input={"body": {"q": "x", "n": 2}}, status="failed")',
            """
            POST /search {"body": {"q": "x", "n": 2}} (failed) was not called
            nearest is app.1:POST /search {"body": {"q": "x"}}: input.body.n is missing; it did not fail
            called were:
            """,
            id="several differences",
        ),
        pytest.param('s.called_tool("POST /search", count=2)', "POST /search was called 1 time, not 2", id="count"),
        pytest.param('s.called_tool("list_tasks")', "list_tasks was not called\ncalled were:", id="never"),
        pytest.param('s.not_called_tool("POST /search")', "POST /search was called 1 time\ncalled were:", id="called"),
        pytest.param(
            's.tool_order(["POST /search", "GET /items/{item_id}"])',
            "GET /items/{item_id} was not called after POST /search\ncalled were:",
            id="order",
        ),
        pytest.param(
            's.mock("POST /search", outcome={"throw": {"message": "no"}}); search(); s.no_failed_actions()',
            '1 of the calls failed\n  app.1:POST /search {"body": {"q": "x"}} (failed)',
            id="failed",
        ),
        pytest.param(
            'httpx.get("https://nowhere.test/"); s.no_failed_actions()',
            "1 of the calls failed\n  nowhere.test:GET / {} (failed: No mock claims it, and nothing allows it.)",
            id="blocked",
        ),
    ],
)
def test_what_is_said_where_an_assertion_fails(app: Project, check: str, message: str) -> None:
    ended = run(
        app,
        f"""
        import httpx
        from eve_mocks.evals import session

        def search():
            httpx.post("{SEARCH}", json={{"q": "x"}})

        with session() as s:
            httpx.get("https://search.test/v1/items/1")
            search()
            try:
                {check}
            except AssertionError as error:
                print(error)
            else:
                raise SystemExit("nothing was said")
        """,
    )
    lines = [line.strip() for line in message.strip().splitlines()]
    assert [line.strip() for line in ended.stdout.splitlines()][: len(lines)] == lines, ended.stderr


def test_two_tasks_of_one_process_do_not_mix(app: Project) -> None:
    ok(
        app,
        f"""
        import asyncio, json, threading, urllib.request
        import aiohttp, httpx, httpx2, requests
        from eve_mocks.evals import session

        def client():
            return aiohttp.ClientSession(trust_env=True)

        def by_urllib():
            asked = urllib.request.Request("{SEARCH}", b"{{}}", {{"content-type": "application/json"}})
            return json.load(urllib.request.urlopen(asked))

        async def agent(n, both):
            with session() as s:
                s.mock("POST /search", {{"n": n}})
                await both.wait()
                async with httpx.AsyncClient() as one, httpx2.AsyncClient() as two, client() as three:
                    for _ in range(3):
                        said = [
                            (await one.post("{SEARCH}", json={{}})).json(),
                            (await two.post("{SEARCH}", json={{}})).json(),
                            await (await three.post("{SEARCH}", json={{}})).json(),
                            (await asyncio.to_thread(requests.post, "{SEARCH}", json={{}})).json(),
                            await asyncio.to_thread(by_urllib),
                            (await asyncio.to_thread(httpx.post, "{SEARCH}", json={{}})).json(),
                        ]
                        assert said == [{{"n": n}}] * 6, said
                s.called_tool("POST /search", count=18)

        async def main():
            both = asyncio.Barrier(2)
            await asyncio.gather(agent(1, both), agent(2, both))

        asyncio.run(main())
        with session() as s:
            s.mock("POST /search", "alone")
            said = []
            thread = threading.Thread(target=lambda: said.append(by_urllib()))
            thread.start()
            thread.join()
            assert said == ["alone"], said
        assert by_urllib() == {{"results": ["route"]}}
        """,
    )
    sessions = {call["session"] for call in app.calls()}
    assert len(sessions) == 4


def test_a_thread_belongs_to_the_session_of_who_started_it(app: Project) -> None:
    said = ok(
        app,
        f"""
        import asyncio, concurrent.futures, httpx, threading
        from eve_mocks.evals import session

        pool = concurrent.futures.ThreadPoolExecutor(1)

        def ask():
            return httpx.post("{SEARCH}", json={{}}).json()

        class Own(threading.Thread):
            def run(self):
                self.said = ask()

        async def agent(n, both):
            with session() as s:
                s.mock("POST /search", n)
                await both.wait()
                own = Own()
                own.start()
                said = [await asyncio.get_running_loop().run_in_executor(None, ask)]
                said += [await asyncio.wrap_future(pool.submit(ask)) for _ in range(2)]
                await asyncio.to_thread(own.join)
                with session() as inner:
                    inner.mock("POST /search", "inner")
                    said += [await asyncio.wrap_future(pool.submit(ask))]
                return [*said, own.said, pool.submit(ask).result()]

        async def main():
            both = asyncio.Barrier(2)
            return await asyncio.gather(agent(1, both), agent(2, both))

        print(asyncio.run(main()), pool.submit(ask).result())
        """,
    )
    assert said == "[[1, 1, 1, 'inner', 1, 1], [2, 2, 2, 'inner', 2, 2]] {'results': ['route']}\n"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param('["curl", "-sSX", "POST", URL]', id="curl"),
        pytest.param(
            '[NODE, "-e", f"fetch({URL!r}, {{method: \'POST\'}}).then(r => r.text()).then(t => console.log(t))"]',
            id="fetch",
        ),
        pytest.param('[sys.executable, "-c", f"import httpx; print(httpx.post({URL!r}).text)"]', id="python"),
        pytest.param('[sys.executable, "-c", f"import requests; print(requests.post({URL!r}).text)"]', id="requests"),
    ],
)
def test_a_child_belongs_to_the_session_of_its_environment(
    app: Project, needs: Callable[..., str], command: str
) -> None:
    needs("curl")
    said = ok(
        app,
        f"""
        import subprocess, sys
        from eve_mocks.evals import session

        URL, NODE = "{SEARCH}", "{needs("node")}"
        with session() as one, session() as two:
            for s, n in ((one, 1), (two, 2)):
                s.mock("POST /search", n)
                print(subprocess.run({command}, env=s.env, capture_output=True, text=True, check=True).stdout.strip())
                s.called_tool("POST /search", count=1)
        """,
    )
    assert said.split() == ["1", "2"]


@pytest.mark.skipif(
    sys.platform != "linux" or isinstance(contain.probe(), contain.Reason), reason="this machine cannot contain"
)
def test_contained_programs_belong_to_the_session_of_their_environment(app: Project, needs: Callable[..., str]) -> None:
    """Where no proxy is named the process itself tells the session, and it agrees with what its clients are stamped."""
    needs("curl")
    said = ok(
        app,
        f"""
        import os, subprocess, sys
        from eve_mocks.evals import session

        CODE = "import httpx; print(httpx.post('{SEARCH}', trust_env=False, verify=False).text)"
        KEPT = ("PATH", "CURL_CA_BUNDLE", "EVE_MOCKS_SESSION")

        def said(command, env):
            return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()

        with session() as one, session() as two:
            for s, n in ((one, 1), (two, 2)):
                s.mock("POST /search", n)
                bare = {{name: s.env[name] for name in KEPT}}
                print(said(["curl", "-sSX", "POST", "{SEARCH}"], bare))
                print(said([sys.executable, "-c", CODE], bare))
                print(said([sys.executable, "-c", CODE], bare | {{"PYTHONPATH": s.env["PYTHONPATH"]}}))
                s.called_tool("POST /search", count=3)
        for url in (os.environ["EVE_MOCKS_URL"], "http://eve-mocks.invalid"):
            token = f"authorization: Bearer {{os.environ['EVE_MOCKS_TOKEN']}}"
            print(said(["curl", "-sS", "-H", token, f"{{url}}/v1/sessions/run/calls"], {{"PATH": os.environ["PATH"]}}))
        """,
        "--contain",
        "require",
    )
    assert said.split() == ["1", "1", "1", "2", "2", "2", "[]", "[]"]


def test_fifty_sessions_from_four_processes(app: Project) -> None:
    app.file(
        "worker.py",
        f"""
        import asyncio, sys
        import httpx
        from eve_mocks.evals import session

        async def agent(n):
            steps = [{{"response": [n, i]}} for i in range(10)]
            stub = {{"id": "steps", "tool": "GET /items/{{item_id}}", "outcomes": steps}}
            with session(stubs=[stub], seed={{"notes": {{"notes": [n]}}}}) as s:
                s.mock("POST /search", {{"n": n}})
                async with httpx.AsyncClient(timeout=60) as client:
                    for i in range(5):
                        said = (await client.post("{SEARCH}", json={{}})).json()
                        assert said == {{"n": n}}, (said, n)
                        said = (await client.post("https://notes.test/notes", json=i)).json()
                        assert said == [n, *range(i + 1)], (said, n, i)
                        said = [(await client.get("https://search.test/v1/items/y")).json() for _ in range(2)]
                        assert said == [[n, 2 * i], [n, 2 * i + 1]], (said, n, i)
                s.called_tool("POST /search", count=5)
                assert len(s.calls()) == 20

        async def main(first):
            await asyncio.gather(*(agent(n) for n in range(first, 50, 4)))

        asyncio.run(main(int(sys.argv[1])))
        """,
    )
    ok(
        app,
        """
        import subprocess, sys

        for turn in range(2):
            started = [subprocess.Popen([sys.executable, "worker.py", str(n)]) for n in range(4)]
            assert [one.wait() for one in started] == [0] * 4
        """,
    )
    counts = {session["id"]: session["calls"] for session in app.report()["sessions"]}
    assert sorted(counts.values()) == [20] * 100


def test_functions_answer(app: Project) -> None:
    said = ok(
        app,
        f"""
        import httpx
        from eve_mocks import Throw
        from eve_mocks.evals import session

        def search(args):
            match args["body"]["q"]:
                case "pass":
                    return NotImplemented
                case "throw":
                    raise Throw("slow", name="TimeoutError")
                case q:
                    return {{"results": [q]}}

        async def item(args):
            return args["item_id"]

        with session() as s:
            s.mock("POST /search", search)
            s.mock("GET /items/{{item_id}}", item)
            for q in ("x", "pass", "throw"):
                print(httpx.post("{SEARCH}", json={{"q": q}}).text)
            print(httpx.get("https://search.test/v1/items/i1").text)
        """,
    )
    assert said.splitlines() == [
        '{"results": ["x"]}',
        '{"results": ["route"]}',
        '{"error": {"name": "TimeoutError", "message": "slow"}}',
        '"i1"',
    ]


def test_a_function_uses_the_state_of_the_mock_that_waits_for_it(app: Project) -> None:
    said = ok(
        app,
        """
        import httpx
        from eve_mocks.evals import session

        with session() as s:
            def twice(args):
                s.seed("notes", {"notes": s.state("notes")["notes"] + [args["body"]] * 2})
                return "added"
            s.mock("POST /notes", twice)
            print(httpx.post("https://notes.test/notes", json="n").json(), s.state("notes"))
        """,
    )
    assert said == "added {'notes': ['n', 'n']}\n"


def test_a_function_that_breaks_fails_the_eval_even_if_the_agent_recovers(app: Project) -> None:
    ended = run(
        app,
        f"""
        import httpx
        from eve_mocks.evals import session

        with session() as s:
            s.mock("POST /search", lambda args: args["nothing"])
            assert httpx.post("{SEARCH}", json={{}}).status_code == 500
        """,
    )
    assert ended.returncode == 1
    assert re.search(r"AssertionError: a stub failed: .*KeyError: 'nothing' \(.*agent\.py:5\)", ended.stderr)


def test_what_an_assertion_or_a_pin_cannot_mean(app: Project) -> None:
    said = ok(
        app,
        """
        from eve_mocks.evals import session

        with session() as s:
            for what in (
                lambda: s.called_tool("POST /search", status="complete"),
                lambda: s.mock("POST /search", 1, outcome={"response": 2}),
                lambda: s.mock("POST /search"),
            ):
                try:
                    what()
                except (TypeError, ValueError) as error:
                    print(error)
        """,
    )
    assert said.splitlines() == [
        "a status is completed or failed, not 'complete'",
        *["a pin has one of a response, an outcome, and outcomes"] * 2,
    ]


def test_a_call_that_is_too_long_for_the_log_counts(app: Project) -> None:
    ok(
        app,
        """
        import asyncio
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client
        from eve_mocks.evals import session

        async def agent():
            async with Client(streamable_http_client("https://tasks.test/mcp")) as client:
                await client.call_tool("list_tasks", {"filter": "x" * 100_000})
                await client.call_tool("complete_task", {})

        with session() as s:
            asyncio.run(agent())
            s.called_tool("list_tasks", count=1)
            s.tool_order(["list_tasks", "complete_task"])
        """,
    )


def test_what_the_control_api_refuses_is_told(app: Project) -> None:
    said = ok(
        app,
        """
        from eve_mocks import evals
        from eve_mocks.errors import MockError

        with evals.session() as s:
            begin = lambda: evals.session(id="a b").__enter__()
            for what in (lambda: s.mock("POST /serch", 1), lambda: s.state("app.1"), begin):
                try:
                    what()
                except MockError as error:
                    print(error.message, "|", error.fix)
        """,
    )
    assert said.splitlines() == [
        "$.operation: 'POST /serch' names no operation of any mock | Did you mean POST /search?",
        "the mock app.1 has no state | Seed one that has: notes.",
        (
            "a text of 3 characters cannot be a session's id: use up to 200 letters, digits and _.:@+=~-, beginning "
            "with a letter, a digit or _ | Leave the id out to be given one."
        ),
    ]


def test_every_mistake_of_a_session_is_told(app: Project) -> None:
    said = ok(
        app,
        """
        import traceback
        from eve_mocks.errors import MockError
        from eve_mocks.evals import session

        rule = {"outcome": {"response": 1}}
        try:
            session(stubs=[{"id": "a", "tool": "list_task", **rule}, {"id": "b", "tool": "x", **rule}]).__enter__()
        except MockError:
            traceback.print_exc(file=__import__("sys").stdout)
        with session() as s:
            try:
                s.mock("list_tasks", {1, 2})
            except MockError as error:
                print(error.message)
        """,
    )
    assert "Did you mean list_tasks?" in said
    assert 'stub "b": ' in said
    assert said.rstrip().endswith("$.outcome.response is of type set")


def test_a_server_of_the_eval_itself_is_told_nothing(app: Project) -> None:
    """The header is for the proxy, which what is on this machine does not go through."""
    said = ok(
        app,
        """
        import asyncio, http.server, threading, urllib.request
        import aiohttp, httpx, requests
        from eve_mocks.evals import session

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.headers.get("x-eve-mocks-session"))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        async def by_aiohttp(url):
            async with aiohttp.ClientSession() as client, client.get(url):
                pass

        seen = []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with session() as s:
            for host in ("127.0.0.1", "localhost"):
                url = f"http://{host}:{server.server_port}/"
                for get in (urllib.request.urlopen, requests.get, httpx.get):
                    get(url)
                asyncio.run(by_aiohttp(url))
            requests.post("https://search.test/v1/search", json={})
            s.called_tool("POST /search", count=1)
        print(seen)
        """,
    )
    assert said == f"{[None] * 8}\n"


def test_outside_of_a_run(app: Project) -> None:
    import subprocess

    ended = subprocess.run(
        [sys.executable, "-c", "from eve_mocks.evals import session\nwith session(): pass"],
        env=app.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "there is no run that the session could be in" in ended.stderr
    assert "eve-mocks run -- COMMAND" in ended.stderr


def test_a_stub_that_no_call_used_is_a_warning(app: Project) -> None:
    ended = run(
        app,
        """
        from eve_mocks.evals import session

        with session(stubs=[{"id": "idle", "tool": "POST /search", "outcome": {"response": 1}}]) as s:
            s.mock("list_tasks", [])
        print("went on")
        """,
    )
    assert re.search(r"agent\.py:3: UnusedStub: no call used pin:app\.2:list_tasks, idle", ended.stderr), ended.stderr
    assert ended.stdout == "went on\n"


def test_what_a_model_was_asked_and_what_it_says_in_one_session(app: Project) -> None:
    app.file("mocks/ai.yaml", "{kind: model, provider: openai, scripts: {gpt-5.5: [script], other: []}}")
    code = """
        import openai
        from eve_mocks.evals import session

        def say(text, model="gpt-5.5", **more):
            messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
            asked = openai.OpenAI().chat.completions.create(model=model, messages=messages, **more)
            return asked.choices[0].message.content

        with session() as s:
            s.mock("gpt-5.5", outcomes=[{"response": "pinned"}, {"response": "again"}])
            s.mock("ai:other", lambda asked: f"{len(asked['messages'])} messages")
            assert [say("one"), say("two"), say("three", "other")] == ["pinned", "again", "2 messages"]
            tools = [{"type": "function", "function": {"name": "search"}}]
            say("x" * 70_000, tools=tools)
            asked = s.requests("gpt-5.5")
            assert [one.get("prompt") for one in asked] == ["one", "two", None], asked
            assert asked[0]["messages"][0] == {"role": "system", "content": "Be brief."}
            assert (asked[0]["model"], asked[0]["tools"]) == ("gpt-5.5", [])
            assert [one["prompt"] for one in s.requests("other")] == ["three"]
            assert len(s.requests()) == 4
            assert s.actions() == []
            s.no_failed_actions()
        with session() as s:
            assert say("on") == "script"
    """
    ended = app.eve_mocks("run", "--", sys.executable, str(app.file("eval.py", code)))
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("check", ["s.not_called_tool({!r})", "s.called_tool({!r}, count=0)"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("POST /serch", "names no operation of any mock"),
        ("get /items/1", "names no operation of any mock"),
        ("gpt-x", "Assert on session.requests('gpt-x')."),
    ],
    ids=["misspelt", "no operation", "a script of a model"],
)
def test_a_name_that_no_call_can_have_fails_what_would_always_hold(
    app: Project, check: str, name: str, message: str
) -> None:
    app.file("mocks/openai.yaml", "{kind: model, provider: openai, scripts: {gpt-x: [hello]}}")
    said = ok(
        app,
        f"""
        from eve_mocks.errors import MockError
        from eve_mocks.evals import session

        with session() as s:
            s.not_called_tool("POST /search")
            try:
                {check.format(name)}
            except MockError as error:
                print(error)
        """,
    )
    assert message in said
