"""The shipped JSON Schema says what the loader says: the same keys, the same yes and no."""

from __future__ import annotations

import importlib.resources
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from eve_mocks import outcome, routes
from eve_mocks.kinds import KINDS, allow, http, mcp, model, oauth
from eve_mocks.kinds.mcp import prompts, resources
from eve_mocks.kinds.model import entry
from eve_mocks.load import load
from eve_mocks.response import EVENT_KEYS, FAULTS
from eve_mocks.stubs import rules
from eve_mocks.stubs.assertions import INHERITED, TYPES
from eve_mocks.stubs.constraint import KEYWORDS
from eve_mocks.stubs.limits import RULES
from eve_mocks.yaml_text import read_yaml

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: dict[str, Any] = json.loads(importlib.resources.files("eve_mocks").joinpath("format.schema.json").read_text())
VALID = jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)


def test_it_is_a_json_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("definition", "keys"),
    [
        ("http", http.KEYS),
        ("mcp", mcp.KEYS),
        ("resource", resources.KEYS),
        ("prompt", prompts.KEYS),
        ("oauth", oauth.KEYS),
        ("model", model.KEYS),
        ("usage", entry.USAGE_KEYS),
        ("passage", allow.KEYS),
        ("methods", routes.METHODS),
        ("outcome", outcome.KEYS),
        ("throw", outcome.THROW_KEYS),
        ("event", EVENT_KEYS),
        ("stub", rules.KEYS),
        ("constraint", KEYWORDS),
    ],
)
def test_it_names_the_keys_that_the_loader_knows(definition: str, keys: tuple[str, ...]) -> None:
    found = SCHEMA["definitions"][definition]
    assert set(found["properties"]) == set(keys)
    assert found["additionalProperties"] is False


def test_it_names_the_kinds_and_faults_that_the_loader_knows() -> None:
    assert SCHEMA["properties"]["kind"]["enum"] == list(KINDS)
    assert set(SCHEMA["definitions"]["entry"]["then"]["properties"]) == {*entry.WIRE_KEYS, "usage"}
    assert SCHEMA["definitions"]["outcome"]["properties"]["fault"]["enum"] == list(FAULTS)


def test_it_names_the_bounds_of_stubs_that_the_loader_knows() -> None:
    definitions = SCHEMA["definitions"]
    assert definitions["stubs"]["maxItems"] == RULES
    assert definitions["type"]["enum"] == list(TYPES)
    assert set(definitions["ownName"]["not"]["enum"]) == INHERITED


GOOD = {
    "static routes": """
        kind: http
        url: https://api.notion.com/
        spec: https://developers.notion.com/openapi.json
        routes:
          /v1/pages/{page_id}:
            GET:   {response: {object: page, id: p1}}
            PATCH: {status: 403, response: {code: restricted_resource}}
        """,
    "fixed results": """
        kind: mcp
        url: https://mcp.linear.app/mcp
        results:
          list_teams: {teams: [{id: team_1, name: Platform}]}
        """,
    "an allow": """
        kind: allow
        url: https://ai-gateway.vercel.sh/
        why: evals need a real model
        """,
    "a block": "{kind: block, url: 'wss://x.test', why: noise}",
    "a connection": "{kind: allow, url: 'tcp://db.test:5432', why: fixtures}",
    "a datagram": "{kind: block, url: 'udp://*.time.test:123/', why: noise}",
    "a wildcard": "{kind: http, url: 'https://*.x.test/v1'}",
    "described tools": """
        kind: mcp
        url: https://x.test/mcp
        mcp_sessions: true
        tools:
          - {name: a, description: A, inputSchema: {type: object}}
        results: {a: 1}
        """,
    "every outcome": """
        kind: http
        url: https://x.test
        spec: [schemas/a.json, https://x.test/b.json]
        routes:
          /a/**: {ANY: {body: text, delay: 250ms, headers: {a: [b, c], d: 1}}, GET: {status: 204}}
          /b: {GET: {events: [{data: {n: 1}, id: 1, event: e, delay: 0.5}]}, PUT: {throw: {message: m, name: N}}}
          /c: {GET: {fault: reset, delay: 1}, POST: {response: null}}
          "/{owner}/{re-po}:act/a:b/.c/d.e": {GET: {response: 1}}
          /**: {GET: {response: 1}}
          /: {GET: {response: 1}}
        validate: false
        """,
    "resources and prompts": """
        kind: mcp
        url: https://x.test/mcp
        resources:
          docs://readme: Hello
          docs://pages/{id}: {name: Pages, title: T, mimeType: text/plain, size: 1, annotations: {}, json: {a: 1}}
          docs://raw: {contents: [{uri: "docs://raw", blob: ""}]}
        prompts:
          greet: {title: G, description: D, arguments: {name: {required: true}}, messages: ["Hello {name}"]}
          other: {arguments: [{name: a}], messages: [{role: assistant, content: {type: text, text: x}}]}
        """,
    "an authorization server": """
        kind: oauth
        url: https://auth.x.test/
        clients: {app: {secret: s, redirect_uris: ["http://localhost:3000/"]}, public: }
        scopes: [read]
        expires_in: 0
        subject: ada
        claims: {email: ada@example.com}
        denies: true
        endpoints: {token: /oauth2/token}
        """,
    "a server that needs a sign-in": "{kind: mcp, url: 'https://x.test/mcp', results: {a: 1}, auth: oauth}",
    "a model": """
        kind: model
        provider: openai
        url: https://models.example.com/v1
        scripts:
          draft: [text, {score: 4}, [1], null, {result: {$tools: 1}, usage: {totalTokens: 1}}]
          gpt-5.5:
            - {$tools: [{tool: a, input: {}, id: x}, {tool: b}], $text: Looking., usage: {inputTokens: 1}, $delay: 1s}
            - {$throw: {status: 529, name: n, message: m, attempts: 1}, $text: Half}
            - {$refusal: No.}
        requests:
          draft: {schema: Draft, tools: [search], match: {messages: {minItems: 1}}}
        models: [gpt-5]
        repeat_last: true
        seam: {request: draft, occurrence: 2}
        tokens_per_second: 50
        delay: 250ms
        """,
    "a server that speaks as OpenAI does": "{kind: model, url: 'https://x.test/v1', scripts: {}}",
    "stubs": """
        kind: mcp
        url: https://x.test
        tools: {a: {}}
        stubs:
          - {id: a, tool: a, outcome: {response: 1}}
          - id: b
            tool: a
            match:
              x: {type: [string, "null"], pattern: ^a, minLength: 1.0, enum: [a, 1, null], default: {}}
              y: {if: {required: [k]}, then: {properties: {k: false}}, else: {additionalProperties: {items: true}}}
              constructor: true
            outcomes: [{throw: {message: m}}, {status: 503, body: down, delay: 1s}]
        """,
}


def _stub(rule: str) -> str:
    return f"{{kind: mcp, url: 'https://x.test', tools: {{a: {{}}}}, stubs: [{rule}]}}"


def _constraint(constraint: str) -> str:
    return _stub(f"{{id: a, tool: a, match: {{x: {constraint}}}, outcome: {{response: 1}}}}")


BAD = {
    "a stub without an id": _stub("{tool: a, outcome: {response: 1}}"),
    "a stub with an empty id": _stub("{id: '', tool: a, outcome: {response: 1}}"),
    "a stub without an outcome": _stub("{id: a, tool: a}"),
    "a stub with outcome and outcomes": _stub("{id: a, tool: a, outcome: {response: 1}, outcomes: [{response: 1}]}"),
    "a stub with no outcomes": _stub("{id: a, tool: a, outcomes: []}"),
    "a stub with a response of its own": _stub("{id: a, tool: a, response: 1}"),
    "a throw with an empty name": _stub("{id: a, tool: a, outcome: {throw: {name: '', message: a}}}"),
    "a value for a constraint": _constraint("open"),
    "an unsupported keyword": _constraint("{format: uri}"),
    "an object as const": _constraint("{const: {}}"),
    "an enum that repeats": _constraint("{enum: [1, 1.0]}"),
    "an inherited name": _constraint("{required: [toString]}"),
    "a broken pattern": _constraint("{pattern: '('}"),
    "a negative length": _constraint("{not: {maxLength: -1}}"),
    "an empty anyOf": _constraint("{anyOf: []}"),
    "no kind": "url: https://x.test",
    "no url": "kind: http",
    "unknown kind": "{kind: htp, url: 'https://x.test'}",
    "unknown key": "{kind: http, url: 'https://x.test', rutes: {}}",
    "a key of another kind": "{kind: http, url: 'https://x.test', results: {}}",
    "no scheme": "{kind: http, url: x.test}",
    "credentials": "{kind: http, url: 'https://u:p@x.test'}",
    "a query": "{kind: http, url: 'https://x.test?a'}",
    "no reason": "{kind: allow, url: 'https://x.test'}",
    "a connection without a port": "{kind: allow, url: 'tcp://db.test', why: fixtures}",
    "a connection that is mocked": "{kind: http, url: 'tcp://db.test:5432'}",
    "a blank reason": "{kind: allow, url: 'https://x.test', why: ' '}",
    "a relative path": "{kind: http, url: 'https://x.test', routes: {a: {}}}",
    "a path with stars": "{kind: http, url: 'https://x.test', routes: {/a/*: {}}}",
    "a path with stars in the middle": "{kind: http, url: 'https://x.test', routes: {/**/a: {}}}",
    "a path as Express has it": "{kind: http, url: 'https://x.test', routes: {'/a/:id': {}}}",
    "a path with a query": "{kind: http, url: 'https://x.test', routes: {'/a?b=1': {}}}",
    "a path with a fragment": "{kind: http, url: 'https://x.test', routes: {'/a#b': {}}}",
    "a path with half a brace": "{kind: http, url: 'https://x.test', routes: {'/{a': {}}}",
    "a path with a typed parameter": "{kind: http, url: 'https://x.test', routes: {'/{a:int}': {}}}",
    "a path with dots": "{kind: http, url: 'https://x.test', routes: {/a/../b: {}}}",
    "a path with a method": "{kind: http, url: 'https://x.test', routes: {GET /a: {}}}",
    "an unknown method": "{kind: http, url: 'https://x.test', routes: {/a: {get: {response: 1}}}}",
    "no outcome": "{kind: http, url: 'https://x.test', routes: {/a: {GET: {object: page}}}}",
    "no answer": "{kind: http, url: 'https://x.test', routes: {/a: {GET: {status: 200}}}}",
    "two answers": "{kind: http, url: 'https://x.test', routes: {/a: {GET: {response: 1, body: a}}}}",
    "a bad status": "{kind: http, url: 'https://x.test', routes: {/a: {GET: {response: 1, status: 99}}}}",
    "a bad delay": "{kind: http, url: 'https://x.test', routes: {/a: {GET: {response: 1, delay: soon}}}}",
    "a bad fault": "{kind: http, url: 'https://x.test', routes: {/a: {GET: {fault: rest}}}}",
    "a throw without a message": "{kind: http, url: 'https://x.test', routes: {/a: {GET: {throw: {name: a}}}}}",
    "an event without data": "{kind: http, url: 'https://x.test', routes: {/a: {GET: {events: [{id: 1}]}}}}",
    "a header that is a map": "{kind: http, url: 'https://x.test', routes: {/a: {GET: {body: a, headers: {b: {}}}}}}",
    "mcp_sessions that is text": "{kind: mcp, url: 'https://x.test', mcp_sessions: 'yes'}",
    "a resource without a scheme": "{kind: mcp, url: 'https://x.test', resources: {readme: x}}",
    "a resource with two contents": "{kind: mcp, url: 'https://x.test', resources: {a://b: {text: x, json: 1}}}",
    "a prompt that says nothing": "{kind: mcp, url: 'https://x.test', prompts: {p: {}}}",
    "a prompt of nobody": "{kind: mcp, url: 'https://x.test', prompts: {p: {messages: [{role: x, content: y}]}}}",
    "an authorization server of nobody": "{kind: oauth}",
    "a token that never expires": "{kind: oauth, url: 'https://x.test', expires_in: -1}",
    "an endpoint without a slash": "{kind: oauth, url: 'https://x.test', endpoints: {token: t}}",
    "an unknown endpoint": "{kind: oauth, url: 'https://x.test', endpoints: {tokn: /t}}",
    "an unknown key of a client": "{kind: oauth, url: 'https://x.test', clients: {a: {scret: s}}}",
    "an unknown kind of sign-in": "{kind: mcp, url: 'https://x.test', results: {a: 1}, auth: {srver: a}}",
    "a model of nobody": "{kind: model, scripts: {}}",
    "a model of an unknown provider": "{kind: model, provider: opnai, scripts: {}}",
    "a model without scripts": "{kind: model, provider: openai}",
    "a script that is text": "{kind: model, provider: openai, scripts: {m: text}}",
    "an unknown key of an entry": "{kind: model, provider: openai, scripts: {m: [{$tols: []}]}}",
    "an entry without tools": "{kind: model, provider: openai, scripts: {m: [{$tools: []}]}}",
    "a throw that succeeds": "{kind: model, provider: openai, scripts: {m: [{$throw: {status: 200}}]}}",
    "a request that nothing tells": "{kind: model, provider: openai, scripts: {m: []}, requests: {m: {}}}",
    "a seam that is no request": "{kind: model, provider: openai, scripts: {m: []}, seam: {}}",
    "an unknown key of a tool": "{kind: mcp, url: 'https://x.test', tools: {a: {dscription: x}}, results: {a: 1}}",
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_both_accept(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/a.json").write_text('{"openapi": "3.1.0", "paths": {}}')
    assert load(tmp_path).errors == []
    ((value, _),) = read_yaml(text, "m.yaml")
    assert list(VALID.iter_errors(value)) == []


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_both_refuse(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    assert len(load(tmp_path).errors) == 1
    ((value, _),) = read_yaml(text, "m.yaml")
    assert not VALID.is_valid(value)
