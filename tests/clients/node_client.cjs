// Every way in which a Node program opens a connection, tried one after the other; prints what came of each as JSON.
'use strict';

const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const net = require('node:net');
const tls = require('node:tls');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

const RELEASE = parseInt(process.versions.node);
const undici = RELEASE < 20 ? null : require('undici');

const HOST = 'api.pay.test';
const URL = `https://${HOST}/v1/charges`;
const PLAIN = { host: HOST, path: '/v1/plain' };
const REQUEST = `GET /v1/charges HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`;

function get(module, options, more = {}) {
  return new Promise((resolve, reject) => {
    const taken = (answer) => {
      let text = '';
      answer.on('data', (part) => (text += part)).on('end', () => resolve(text));
    };
    const request = typeof options === 'string' ? module.get(options, more, taken) : module.get({ ...options, ...more }, taken);
    request.on('error', reject).on('upgrade', () => resolve('upgraded'));
  });
}

function read(socket) {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (part) => (text += part)).on('end', () => resolve(text.split('\r\n\r\n')[1] ?? text)).on('error', reject);
  });
}

function overHttp2() {
  const session = http2.connect(`https://${HOST}`);
  return new Promise((resolve, reject) => {
    session.on('error', reject);
    const stream = session.request({ ':path': '/v1/charges' }).setEncoding('utf8').on('error', reject);
    read(stream).then(resolve, reject);
  }).finally(() => session.close());
}

async function atHome(where) {
  const server = http.createServer((_, answer) => answer.end('"home"'));
  await new Promise((resolve) => server.listen(where, resolve));
  const asked = typeof where === 'string' ? { socketPath: where } : { host: 'localhost', port: server.address().port };
  return get(http, asked).finally(() => server.close());
}

async function many() {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 5 });
  const answers = await Promise.all(Array.from({ length: 50 }, () => get(https, URL, { agent })));
  const sockets = Object.values(agent.freeSockets).flat().length;
  agent.destroy();
  return JSON.stringify([answers.filter((answer) => answer === answers[0]).length, sockets]);
}

function inWorker() {
  return new Promise((resolve, reject) => new Worker(__filename).on('message', resolve).on('error', reject));
}

function setGlobally() {
  undici.setGlobalDispatcher(new undici.Agent());
  return fetch(URL).then((answer) => answer.text());
}

const WAYS = {
  fetch: () => fetch(URL).then((answer) => answer.text()),
  'fetch, blocked': () => fetch('https://new.test/'),
  'fetch, own dispatcher': () => fetch(URL, { dispatcher: new undici.Agent() }).then((answer) => answer.text()),
  'fetch, own dispatcher, blocked': () => fetch('https://new.test/', { dispatcher: new undici.Agent() }),
  https: () => get(https, URL),
  'https, own agent': () => get(https, URL, { agent: new https.Agent({ keepAlive: true }) }),
  'https, no agent': () => get(https, URL, { agent: false }),
  'https, another ca': () => get(https, URL, { agent: new https.Agent({ ca: tls.rootCertificates[0] }) }),
  'http, own agent': () => get(http, PLAIN, { agent: new http.Agent() }),
  'http, upgrade': () => get(http, { host: 'socket.test' }, { headers: { connection: 'upgrade', upgrade: 'websocket' } }),
  http2: overHttp2,
  'undici fetch': () => undici.fetch(URL, { dispatcher: new undici.Agent() }).then((answer) => answer.text()),
  'undici request': () => undici.request(URL).then((answer) => answer.body.text()),
  'tls, port and host': () => read(tls.connect(443, HOST, { servername: HOST }).on('secureConnect', function () { this.write(REQUEST); })),
  'tls, over a socket': () => read(tls.connect({ socket: net.connect(443, HOST), servername: HOST }).on('secureConnect', function () { this.write(REQUEST); })),
  'tls, a socket of its own': () => read(new tls.TLSSocket().connect(443, HOST)),
  'net, silent': () => read(net.connect(5432, 'db.test')),
  'net, other protocol': () => read(net.createConnection({ port: 25, host: 'mail.test' }).on('connect', function () { this.write('\0\x01'); })),
  'net, address': () => read(new net.Socket().connect({ host: '198.51.100.7', port: 80 })),
  'net, no such name': () => read(net.connect(80, 'not a name')),
  many,
  worker: inWorker,
  loopback: () => atHome(0),
  'unix socket': () => atHome(`${process.cwd()}/socket`),
  'setGlobalDispatcher': setGlobally,
};

if (isMainThread) {
  (async () => {
    const came = {};
    for (const [name, way] of Object.entries(WAYS)) {
      if ((RELEASE < 18 && name.startsWith('fetch')) || (!undici && /undici|dispatcher/i.test(name))) {
        continue;
      }
      came[name] = await way().then(JSON.parse).catch((error) => (error.cause ?? error).code ?? String(error));
    }
    console.log(JSON.stringify(came));
    process.exit();
  })();
} else {
  get(https, URL, { agent: new https.Agent() }).then((text) => parentPort.postMessage(text));
}
