// Imports modules of an eve app, and tells which connections each of them makes meanwhile: a line of JSON a module at
// the end of a file. Arguments are that file and the modules. Nothing is called: sockets do not connect.
import fs from 'node:fs';
import module from 'node:module';
import net from 'node:net';
import { pathToFileURL } from 'node:url';

const PATIENCE = 5000;
const VIRTUAL = 'eve-mocks-connections:';
let made = [];
let turn = 0;

net.Socket.prototype.connect = function connect() {
  const error = new Error('eve-mocks list calls nothing');
  process.nextTick(() => this.destroy(error));
  return this;
};

globalThis[Symbol.for('eve-mocks.connection')] = (protocol, given) => {
  made.push(described(protocol, given));
};

function described(protocol, given) {
  const url = protocol === 'mcp' ? given?.url : given?.baseUrl;
  return {
    protocol,
    url: typeof url === 'string' || url instanceof URL ? String(url) : null,
    spec: protocol === 'openapi' && typeof given?.spec === 'string' ? given.spec : null,
  };
}

const wrapped = (real) => `
export * from ${JSON.stringify(real)};
import * as real from ${JSON.stringify(real)};
const tell = globalThis[Symbol.for('eve-mocks.connection')];
export const defineMcpClientConnection = (given) => (tell('mcp', given), real.defineMcpClientConnection(given));
export const defineOpenAPIConnection = (given) => (tell('openapi', given), real.defineOpenAPIConnection(given));
`;

if (typeof module.registerHooks === 'function') {
  module.registerHooks({
    resolve(specifier, context, next) {
      if (context.parentURL?.startsWith(VIRTUAL)) return next(specifier, { ...context, parentURL: undefined });
      const found = next(specifier, context);
      if (specifier === 'eve/connections') return { url: VIRTUAL + found.url, shortCircuit: true };
      // Each module has its own copy of what it imports from the app: who makes a connection is known by the turn.
      const own = found.url.startsWith('file:') && !found.url.includes('/node_modules/') && !found.url.includes('?');
      return own && context.conditions?.includes('import') ? { ...found, url: `${found.url}?eve-mocks=${turn}` } : found;
    },
    load(url, context, next) {
      if (!url.startsWith(VIRTUAL)) return next(url, context);
      return { format: 'module', source: wrapped(url.slice(VIRTUAL.length)), shortCircuit: true };
    },
  });
}

const [said, ...paths] = process.argv.slice(2);
const tell = (line) => fs.appendFileSync(said, `${JSON.stringify(line)}\n`);

for (const path of paths) {
  made = [];
  turn += 1;
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it was not imported within ${PATIENCE / 1000} s`)), PATIENCE);
  });
  try {
    if (typeof module.registerHooks !== 'function') throw new Error(`Node ${process.version} is too old: 24 is needed`);
    await Promise.race([import(pathToFileURL(path).href), late]);
    tell({ made });
  } catch (error) {
    tell({ error: String([error?.message ?? error, error?.cause?.message].filter(Boolean).join(': ')).split('\n')[0].slice(0, 300) });
  }
  clearTimeout(timer);
}
process.exit(0);
