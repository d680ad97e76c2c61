// Evals in TypeScript and JavaScript: what a session's own calls get, its state, and what it has called.
//
// eve gives an eval no id before a session of it has begun. So what is meant for a `t` waits, and its `session` and
// `send` are wrapped, and so are the sessions that they give: all that waits is in place before the next thing is sent.
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import http from 'node:http';

// Where the preload looks for the session of a call.
const CURRENT = Symbol.for('eve-mocks.session');
const ADVICE = 'Run it as: eve-mocks run -- COMMAND';

/** Passes a call on to the next answer: return it from a function that answers. */
export const pass = Symbol('eve-mocks.pass');

class Outcomes {
  constructor(entries) {
    this.entries = entries;
  }
}

/** All that an answer of a mock file may have, such as a status or a throw; several are a sequence. */
export function outcome(...entries) {
  return new Outcomes(entries);
}

/** Pin what an operation answers from now on: a response, an `outcome`, or a function of each call's input. */
export function mock(target, operation, answer) {
  return arrange(target, async (id) => ask('PUT', id, '/pins', { operation, ...(await pinned(answer)) }));
}

/** Set the state of a mock. */
export function seed(target, name, state) {
  return arrange(target, (id) => ask('PUT', id, `/state/${encodeURIComponent(name)}`, state));
}

/** The state of a mock in the session of a turn. */
export async function getState(target, name) {
  return ask('GET', idOf(target), `/state/${encodeURIComponent(name)}`);
}

/** The calls of a session so far. */
export async function getCalls(target) {
  return ask('GET', idOf(target), '/calls');
}

/** A session for programs that are no eval of eve: what `work` calls belongs to it. A stub that failed fails it. */
export async function session(options, work) {
  const begun = await ask('POST', null, '', options);
  const current = (globalThis[CURRENT] ??= new AsyncLocalStorage());
  const result = await current.run(begun.id, work, { sessionId: begun.id });
  const { error } = await ask('GET', begun.id, '/stubs');
  if (error) {
    throw new Error(`a stub failed: ${error}`);
  }
  return result;
}

// What is arranged for a session, now or before its next turn.

const evals = new WeakMap(); // an eval's context -> what is arranged for all of its sessions
const wrapped = new WeakSet();

function arrange(target, step) {
  if (typeof target === 'string' || typeof target?.sessionId === 'string') {
    return begin(idOf(target)).then(step);
  }
  if (typeof target?.session !== 'function' || typeof target?.send !== 'function') {
    throw new TypeError('the first argument is the t of an eval, a session, a turn, or the id of a session');
  }
  if (!evals.has(target)) {
    evals.set(target, []);
    wrapEval(target, evals.get(target));
  }
  evals.get(target).push(step);
}

function wrapEval(t, steps) {
  const open = t.session;
  t.session = async (...options) => wrapSession(await open.apply(t, options), steps);
  t.send = async (...message) => (await t.session()).send(...message);
}

async function wrapSession(session, steps) {
  let done = 0;
  let settled;
  async function goOn() {
    await begin(session.sessionId);
    while (done < steps.length) {
      await steps[done++](session.sessionId);
    }
  }
  function settle() {
    settled = settled ? settled.then(goOn, goOn) : goOn();
    return settled;
  }
  await settle();
  if (!wrapped.has(session)) {
    wrapped.add(session);
    for (const name of ['send', 'start', 'sendFile', 'respond', 'startRespond', 'respondAll']) {
      const send = session[name];
      if (typeof send === 'function') {
        session[name] = async (...given) => {
          await settle();
          return send.apply(session, given);
        };
      }
    }
  }
  return session;
}

function idOf(target) {
  const id = typeof target === 'string' ? target : target?.sessionId;
  if (typeof id !== 'string') {
    throw new TypeError('the first argument is a session, a turn, or the id of a session');
  }
  return id;
}

const begun = new Map();

// An id that is known already belongs to a session that has begun with a call.
function begin(id) {
  if (!begun.has(id)) {
    const beginning = ask('POST', null, '', { id }).catch((error) => {
      if (error.status !== 409) {
        begun.delete(id);
        throw error;
      }
    });
    begun.set(id, beginning.then(() => id));
  }
  return begun.get(id);
}

// Functions, which the run asks for each call.

const functions = new Map();
let serving;

async function pinned(answer) {
  if (typeof answer === 'function') {
    return { callback: await urlOf(answer) };
  }
  if (answer instanceof Outcomes) {
    return answer.entries.length === 1 ? { outcome: answer.entries[0] } : { outcomes: answer.entries };
  }
  return { outcome: { response: answer === undefined ? null : answer } };
}

async function urlOf(answer) {
  serving ??= serve();
  const path = `/${randomBytes(18).toString('base64url')}`;
  // What the function itself calls belongs to whoever pinned it, not to whoever pinned the first.
  functions.set(path, AsyncResource.bind(answer));
  return `http://127.0.0.1:${await serving}${path}`;
}

function serve() {
  const server = http.createServer(async (request, response) => {
    const answer = functions.get(request.url);
    const [status, told] = answer ? await tell(answer, await read(request)) : [404];
    response.writeHead(status).end(status === 204 ? undefined : told);
  });
  server.unref();
  server.on('connection', (socket) => socket.unref());
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}

async function tell(answer, message) {
  try {
    const result = await answer(JSON.parse(message).input);
    if (result === pass) {
      return [204];
    }
    if (result instanceof Outcomes) {
      if (result.entries.length !== 1) {
        throw new TypeError(`it returned ${result.entries.length} outcomes: a function answers one call, with one`);
      }
      return [200, JSON.stringify(result.entries[0])];
    }
    if (JSON.stringify(result) === undefined) {
      throw new TypeError(`it returned ${String(result)}, which is no JSON: return null, or pass`);
    }
    return [200, JSON.stringify({ response: result })];
  } catch (error) {
    return [500, JSON.stringify(described(error))];
  }
}

function described(error) {
  try {
    return String(error?.stack ?? error).split('\n').slice(0, 2).map((line) => line.trim()).join(' ');
  } catch {
    return 'it threw what cannot be told as text';
  }
}

// The control API. Not by fetch, which a test may have replaced; nor by an agent, which may lead to the proxy.

async function ask(method, id, rest, body) {
  if (!process.env.EVE_MOCKS_URL || !process.env.EVE_MOCKS_TOKEN) {
    throw new Error(`there is no run to ask: EVE_MOCKS_URL is not set\n${ADVICE}`);
  }
  const path = `/v1/sessions${id === null ? '' : `/${encodeURIComponent(id)}`}${rest}`;
  const [status, text] = await send(method, new URL(path, process.env.EVE_MOCKS_URL), JSON.stringify(body));
  const told = text ? JSON.parse(text) : undefined;
  if (status < 400) {
    return told;
  }
  const { message, why, fix } = told.error;
  throw Object.assign(new Error([message, `why: ${why}`, `fix: ${fix}`].join('\n')), { name: 'MockError', status });
}

function send(method, url, body) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${process.env.EVE_MOCKS_TOKEN}`, 'content-type': 'application/json' };
    const asked = http.request(url, { method, headers, agent: new http.Agent() }, (response) => {
      read(response).then((text) => resolve([response.statusCode, text]), reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

async function read(stream) {
  let text = '';
  stream.setEncoding('utf8');
  for await (const part of stream) {
    text += part;
  }
  return text;
}
