"""Evals in JavaScript, in programs that are none of eve's, with nothing from npm in their place."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from test_evals import MOCKS, NOTES

from eve_mocks.environment import NODE_PRELOAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

PRELUDE = """
import http from 'node:http';
import https from 'node:https';
import { getCalls, getState, mock, outcome, pass, seed, session } from 'eve-mocks/evals';
const SEARCH = 'https://search.test/v1';
const post = async (url, body, how = {}) => {
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body), ...how });
};
const search = async (q, how) => (await post(`${SEARCH}/search`, { q }, how)).json();
const get = (url) => new Promise((resolve, reject) => {
  const asked = (url.startsWith('https:') ? https : http).get(url, (answer) => {
    answer.setEncoding('utf8').on('data', resolve);
  });
  asked.on('error', reject);
});
const show = (value) => console.log(JSON.stringify(value));
const told = async (work) => { try { await work(); } catch (error) { console.log(error.message); } };
"""


@pytest.fixture
def app(project: Project) -> Project:
    project.file("mocks/app.yaml", MOCKS)
    project.file("mocks/notes.py", NOTES)
    return project


@pytest.fixture
def node(app: Project, needs: Callable[..., str]) -> Callable[..., list[object]]:
    """Runs a module, and gives the lines that it has printed, as JSON where they are some."""
    program = needs("node")

    def run(code: str, *, contain: str = "auto", prelude: str = PRELUDE) -> list[object]:
        app.file("agent.mjs", prelude + code)
        ended = app.eve_mocks("run", "--contain", contain, "--", program, "agent.mjs", timeout=60)
        assert ended.returncode == 0, ended.stderr
        return [json.loads(line) if line[:1] in '{["' else line for line in ended.stdout.splitlines()]

    return run


@pytest.mark.parametrize("contain", ["auto", "off"])
def test_sessions_side_by_side_do_not_mix(node: Callable[..., list[object]], app: Project, contain: str) -> None:
    said = node(
        """
        const one = (name) => session({ seeds: { notes: { notes: [name] } } }, async (s) => {
          await mock(s, 'POST /search', ({ body }) => ({ results: [name, body.q] }));
          await mock(s, 'GET /items/{item_id}', outcome({ response: name }, { response: `${name} again` }));
          const found = [await search('x'), await get(`${SEARCH}/items/1`), await get(`${SEARCH}/items/1`)];
          await post('https://notes.test/notes', 'n');
          return [...found, await getState(s, 'notes'), (await getCalls(s)).length];
        });
        for (const each of await Promise.all(['a', 'b', 'c'].map(one))) show(each);
        show(await search('outside'));
        """,
        contain=contain,
    )
    assert said == [
        *([{"results": [name, "x"]}, f'"{name}"', f'"{name} again"', {"notes": [name, "n"]}, 4] for name in "abc"),
        {"results": ["route"]},
    ]
    assert [session["calls"] for session in app.report()["sessions"]] == [4, 4, 4, 1]


def test_what_a_function_may_answer(node: Callable[..., list[object]]) -> None:
    assert node(
        """
        await session({}, async (s) => {
          await mock(s, 'POST /search', async ({ body: { q } }) => {
            if (q === 'pass') return pass;
            if (q === 'tea') return outcome({ status: 418, response: 'short and stout' });
            await seed(s, 'notes', { notes: [q] });
            return (await getState(s, 'notes')).notes;
          });
          for (const q of ['pass', 'tea', 'kept']) show(await search(q));
        });
        """
    ) == [{"results": ["route"]}, "short and stout", ["kept"]]


def test_what_a_function_calls_belongs_to_the_session_that_pinned_it(node: Callable[..., list[object]]) -> None:
    assert node(
        """
        const one = (name) => session({}, async (s) => {
          await mock(s, 'POST /search', async () => (await post('https://notes.test/notes', name)).json());
          return [await search('x'), (await getState(s, 'notes')).notes];
        });
        show(await one('a'));
        show(await one('b'));
        """
    ) == [[[name], [name]] for name in "ab"]


BREAKS = {
    "throw new RangeError('out of it')": "RangeError: out of it",
    "return undefined": "return null, or pass",
    "return outcome({ response: 10n })": "BigInt",
    "return outcome({ response: 1 }, { response: 2 })": "it returned 2 outcomes",
    "throw Object.create(null)": "it threw what cannot be told as text",
}


@pytest.mark.parametrize(("body", "why"), BREAKS.items(), ids=BREAKS)
def test_a_function_that_breaks_is_told(app: Project, needs: Callable[..., str], body: str, why: str) -> None:
    app.file(
        "agent.mjs",
        f"{PRELUDE}await told(() => session({{}}, async (s) => {{ await mock(s, 'POST /search', () => {{ {body} }}); "
        "console.log((await post(`${SEARCH}/search`, {})).status); }));",
    )
    ended = app.eve_mocks("run", "--", needs("node"), "agent.mjs", timeout=60)
    assert ended.returncode == 1
    status, failed = ended.stdout.splitlines()
    assert (status, failed[:15]) == ("500", "a stub failed: ")
    assert why in failed
    assert why in ended.stderr


def test_what_is_refused_is_told_with_why_and_fix(node: Callable[..., list[object]]) -> None:
    said = node(
        """
        await session({}, async (s) => {
          await told(() => mock(s, 'POST /serch', 1));
          await told(() => seed(s, 'app.1', {}));
          await told(() => mock({}, 'POST /search', 1));
          await told(() => getState({}, 'notes'));
        });
        await told(() => session({ id: 'a b' }, () => 0));
        await told(() => session({ stubs: [{ id: 'x', tool: 'POST /search' }] }, () => 0));
        """
    )
    text = "\n".join(map(str, said))
    for part in (
        "'POST /serch' names no operation of any mock",
        "fix: Did you mean POST /search?",
        "the first argument is the t of an eval, a session, a turn, or the id of a session",
        "cannot be a session's id",
        'stub "x": $.stubs[0]: it has neither outcome nor outcomes',
    ):
        assert part in text


def test_an_eval_s_context_and_its_sessions(node: Callable[..., list[object]]) -> None:
    """As eve has them, which gives an eval no id before a session has begun."""
    said = node(
        """
        let count = 0;
        class Session {
          #id = `eve-${++count}`;
          get sessionId() { return this.#id; }
          async send(q) {
            const headers = { 'content-type': 'application/json', 'x-eve-mocks-session': this.#id };
            return { sessionId: this.#id, session: this, found: await search(q, { headers }) };
          }
        }
        const t = { async session() { return new Session(); }, async send(q) { throw new Error('not wrapped'); } };
        mock(t, 'POST /search', { results: [1] });
        seed(t, 'notes', { notes: ['n'] });
        const turn = await t.send('x');
        show([turn.found, await getState(turn, 'notes')]);
        mock(t, 'POST /search', { results: [2] });
        show((await turn.session.send('x')).found);
        show((await (await t.session()).send('x')).found);
        mock(t, 'POST /serch', 1);
        await told(() => turn.session.send('x'));
        await told(() => t.send('x'));
        """
    )
    assert said[:3] == [[{"results": [1]}, {"notes": ["n"]}], {"results": [2]}, {"results": [2]}]
    assert [str(line) for line in said].count("fix: Did you mean POST /search?") == 2


# Each is asked for what the page of search answers, in the session of who asks.
CLIENTS = {
    "fetch": "const ask = () => search('x')",
    "a dispatcher of its own": """
        import { Agent, fetch as other } from 'undici';
        const how = { method: 'POST', body: '{}', headers: [['content-type', 'application/json']] };
        const dispatcher = new Agent();
        const ask = async () => (await other(`${SEARCH}/search`, { ...how, dispatcher })).json();
    """,
    "undici's request": """
        import { request } from 'undici';
        const headers = { 'content-type': 'application/json' };
        const how = { method: 'POST', body: '{}', headers };
        const ask = async () => (await request(`${SEARCH}/search`, how)).body.json();
    """,
    "axios": """
        import axios from 'axios';
        const ask = async () => (await axios.post(`${SEARCH}/search`, {})).data;
    """,
    "got": """
        import got from 'got';
        const ask = () => got.post(`${SEARCH}/search`, { json: {} }).json();
    """,
}


@pytest.mark.parametrize("contain", ["auto", "off"])
@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_whose_call_it_is(
    node: Callable[..., list[object]], app: Project, needs: Callable[..., str], client: str, contain: str
) -> None:
    from machine import NODE_MODULES

    needs("npm:undici", "npm:axios", "npm:got")
    (app.root / "node_modules").symlink_to(NODE_MODULES)
    said = node(
        f"""{client}
        const one = (name) => session({{}}, async (s) => {{
          await mock(s, 'POST /search', name);
          return ask();
        }});
        show(await Promise.all(['a', 'b', 'c'].map(one)));
        """,
        contain=contain,
    )
    assert said == [["a", "b", "c"]]


@pytest.mark.parametrize("contain", ["auto", "off"])
def test_a_server_on_this_machine_is_asked_as_ever(node: Callable[..., list[object]], contain: str) -> None:
    assert node(
        """
        const server = http.createServer((request, response) => response.end(JSON.stringify(request.headers)));
        await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
        const url = `http://127.0.0.1:${server.address().port}/`;
        await session({}, async () => {
          for (const headers of [await (await fetch(url)).json(), JSON.parse(await get(url))]) {
            show(Object.keys(headers).filter((name) => name.startsWith('x-')));
          }
        });
        server.close();
        """,
        contain=contain,
    ) == [[], []]


@pytest.mark.parametrize("contain", ["auto", "off"])
def test_plain_http(node: Callable[..., list[object]], app: Project, contain: str) -> None:
    app.file("mocks/plain.yaml", "kind: http\nurl: http://plain.test/\nroutes: {/: {GET: {response: route}}}\n")
    assert node(
        """
        await session({}, async (s) => {
          await mock(s, 'plain:GET /', 'pinned');
          show([await (await fetch('http://plain.test/')).json(), JSON.parse(await get('http://plain.test/'))]);
        });
        """,
        contain=contain,
    ) == [["pinned", "pinned"]]


def test_a_subagent_calls_for_the_root_session(node: Callable[..., list[object]], app: Project) -> None:
    """As eve keeps it, in a store that is made after the program has begun."""
    node(
        """
        import { AsyncLocalStorage } from 'node:async_hooks';
        const storage = globalThis[Symbol.for('eve.context-storage')] = new AsyncLocalStorage();
        const inside = (values, work) => storage.run({ get: ({ name }) => values[name] }, work);
        await inside({ 'eve.sessionId': 'root' }, () => search('x'));
        await inside({ 'eve.sessionId': 'child', 'eve.parentSession': { rootSessionId: 'root' } }, () => search('x'));
        await inside({}, () => search('x'));
        """
    )
    assert [(call["session"], call.get("agent")) for call in app.calls()] == [
        ("root", None),
        ("root", "child"),
        ("run", None),
    ]


def test_it_can_be_required(node: Callable[..., list[object]]) -> None:
    assert node(
        """
        import { createRequire } from 'node:module';
        console.log(typeof createRequire(import.meta.url)('eve-mocks/evals').mock);
        """,
        prelude="",
    ) == ["function"]


def test_without_a_run_it_says_so(app: Project, needs: Callable[..., str]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVE_MOCKS_")}
    evals = NODE_PRELOAD.parent / "evals" / "evals.mjs"
    app.file(
        "agent.mjs",
        f"import {{ session }} from '{evals}';\nsession({{}}, () => 0).catch((e) => console.log(e.message));",
    )
    ended = subprocess.run(
        [needs("node"), app.root / "agent.mjs"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.stdout == "there is no run to ask: EVE_MOCKS_URL is not set\nRun it as: eve-mocks run -- COMMAND\n"
