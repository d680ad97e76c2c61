// Runs first in every Node process of a run (NODE_OPTIONS=--require). Every TCP connection that leaves the machine goes
// to the proxy, whatever opens it. A blocked call becomes what a dead network gives, and a `throw` outcome becomes the
// error it names; everything else is left as it is.
//
// Written for the oldest Node that may load it. `net` and `tls` are loaded at the start, a few milliseconds: they may be
// used before anything tells that they are there. `http` is patched when its first request begins.
'use strict';

var MARK = 'eve-mocks';
var RELEASE = parseInt(process.versions.node, 10);

// The error that an answer stands for, or null.
function errorOf(mark, text) {
  var body;
  try {
    body = JSON.parse(text);
  } catch (_) {
    body = {};
  }
  if (mark === 'blocked') {
    var blocked = new Error([body.message, body.why, body.fix].filter(Boolean).join('\n') || 'blocked by eve-mocks');
    blocked.code = 'EVE_MOCKS_BLOCKED';
    return blocked;
  }
  var told = body.error || {};
  var thrown = new Error(told.message || '');
  if (told.name) {
    Object.defineProperty(thrown, 'name', { value: told.name, configurable: true, writable: true });
  }
  return thrown;
}

function isOurs(mark) {
  return mark === 'blocked' || mark === 'throw';
}

function patchFetch() {
  var described = Object.getOwnPropertyDescriptor(globalThis, 'fetch');
  var original = described && described.value;
  if (typeof original !== 'function' || !described.writable || !described.configurable) {
    return;
  }
  function fetch(input, init) {
    return original(input, init).then(function (response) {
      var mark = response.headers.get(MARK);
      if (!isOurs(mark)) {
        return response;
      }
      return response.text().then(function (text) {
        var error = errorOf(mark, text);
        if (mark === 'throw') {
          throw error;
        }
        var failed = new TypeError('fetch failed');
        Object.defineProperty(failed, 'cause', { value: error, configurable: true, writable: true });
        throw failed;
      });
    });
  }
  Object.defineProperty(fetch, 'length', { value: original.length, configurable: true });
  Object.defineProperty(globalThis, 'fetch', Object.assign({}, described, { value: fetch }));
}

function patchRequests(ClientRequest) {
  var emit = ClientRequest.prototype.emit;
  ClientRequest.prototype.emit = function (event, response) {
    var mark = event === 'response' && response && response.headers[MARK];
    if (!isOurs(mark)) {
      return emit.apply(this, arguments);
    }
    var request = this;
    var text = '';
    response.setEncoding('utf8');
    response.on('data', function (part) {
      text += part;
    });
    function fail() {
      response.removeListener('end', fail);
      response.removeListener('error', fail);
      emit.call(request, 'error', errorOf(mark, text));
    }
    response.on('end', fail);
    response.on('error', fail);
    return true;
  };
}

function watchRequests() {
  var channel;
  if (RELEASE < 18) { // some of these have the channel, and say nothing on it
    patchRequests(require('http').ClientRequest);
    return;
  }
  try {
    channel = require('diagnostics_channel').channel('http.client.request.start');
    channel.subscribe(first);
  } catch (_) {
    patchRequests(require('http').ClientRequest);
  }
  function first(message) {
    if (channel) {
      // Later: Node 18 does not bear that a channel loses its last listener while it speaks.
      process.nextTick(channel.unsubscribe.bind(channel, first));
      channel = null;
      patchRequests(message.request.constructor);
    }
  }
}

// What `net.connect` and the like take: (options), (port, host), (path), with a callback at the end.
function argumentsOf(given) {
  if (Array.isArray(given[0])) {
    return given[0];
  }
  var first = given[0];
  var last = given[given.length - 1];
  var options = {};
  if (typeof first === 'object' && first !== null) {
    options = first;
  } else if (typeof first === 'string' && !(Number(first) >= 0)) {
    options.path = first;
  } else {
    options.port = first;
    if (typeof given[1] === 'string') {
      options.host = given[1];
    }
  }
  return [options, typeof last === 'function' ? last : null];
}

// The same for `tls.connect`, whose options may also follow the port and the host.
function secureArgumentsOf(given) {
  var found = argumentsOf(given);
  var more = [given[1], given[2]].filter(function (one) {
    return typeof one === 'object' && one !== null;
  });
  return [Object.assign.apply(Object, [{}, found[0]].concat(more)), found[1]];
}

function staysHere(options) {
  var host = String(options.host || 'localhost').toLowerCase().replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return (
    Boolean(options.path) ||
    /^(.*\.)?localhost$/.test(host) ||
    /^(::ffff:)?(127\.[\d.]+|0\.0\.0\.0)$/.test(host) ||
    host === '::1' ||
    host === '::'
  );
}

// Connections to elsewhere begin with a CONNECT that the proxy does not answer (`x-eve-mocks-quiet`): what follows it can
// be sent at once, and nothing has to be read before TLS takes the socket over. No name is looked up.
function patchSockets(proxy, authorization) {
  var net = require('net');
  var tls = require('tls');
  var connectSocket = net.Socket.prototype.connect;
  var connectSecurely = tls.connect;

  function refusal(what) {
    var error = new Error('eve-mocks blocked a connection to ' + what + '\nIt cannot be led to the proxy.');
    error.code = 'EVE_MOCKS_BLOCKED';
    return error;
  }

  function headFor(authority, header) {
    var head = ['CONNECT ' + authority + ' HTTP/1.1', 'Host: ' + authority, header];
    return head.concat(authorization ? ['Proxy-Authorization: ' + authorization] : [], '', '').join('\r\n');
  }

  // Refuses a connection once the proxy knows: the program may end with it.
  function refuse(socket, authority) {
    var telling = new net.Socket();
    telling.on('error', function () {});
    telling.on('close', function () {
      socket.destroy(refusal(authority));
    });
    connectSocket.call(telling, { host: proxy.hostname, port: Number(proxy.port) });
    telling.end(headFor(authority, 'x-eve-mocks-unled: 1'), 'latin1');
    telling.resume();
    return socket;
  }

  function authorityOf(options) {
    var host = String(options.host).replace(/^\[(.*)\]$/, '$1');
    host = net.isIPv6(host) ? '[' + host.replace(/%.*/, '') + ']' : require('url').domainToASCII(host);
    return host && host + ':' + Number(options.port);
  }

  function connect() {
    var given = argumentsOf(arguments);
    var options = given[0];
    if (staysHere(options) || !(Number(options.port) > 0 && Number(options.port) < 65536)) {
      return connectSocket.apply(this, arguments);
    }
    var authority = authorityOf(options);
    if (!authority) {
      return this.destroy(refusal(String(options.host)));
    }
    if (this instanceof tls.TLSSocket) { // it has begun with TLS: nothing can be sent before
      return refuse(this, authority);
    }
    connectSocket.call(this, { host: proxy.hostname, port: Number(proxy.port) }, given[1]);
    this.write(headFor(authority, 'x-eve-mocks-quiet: 1'), 'latin1');
    return this;
  }

  function connectTls() {
    var given = secureArgumentsOf(arguments);
    var options = given[0];
    if (options.socket || staysHere(options)) {
      return connectSecurely.apply(this, arguments);
    }
    var plain = new net.Socket();
    plain.connect({ host: options.host, port: options.port });
    var secure = connectSecurely.call(this, Object.assign(options, { socket: plain }), given[1]);
    plain.on('error', function (error) {
      secure.destroy(error);
    });
    if (options.timeout) {
      secure.setTimeout(options.timeout);
    }
    return secure;
  }

  net.Socket.prototype.connect = named(connect, connectSocket);
  tls.connect = named(connectTls, connectSecurely);
}

function named(made, original) {
  Object.defineProperty(made, 'name', { value: original.name, configurable: true });
  return Object.defineProperty(made, 'length', { value: original.length, configurable: true });
}

// A session may be named by the user of the proxy's URL.
function authorizationFor(proxy) {
  try {
    var given = new URL(process.env.HTTPS_PROXY || process.env.https_proxy);
    var user = decodeURIComponent(given.username) + ':' + decodeURIComponent(given.password);
    return given.host === proxy.host && given.username ? 'Basic ' + Buffer.from(user).toString('base64') : '';
  } catch (_) {
    return '';
  }
}

if (typeof globalThis !== 'undefined') {
  patchFetch();
}
watchRequests();
// Bun's sockets are its own, and heed the proxy's variables. Older versions are not tested.
if (process.env.EVE_MOCKS_PROXY && !process.versions.bun && RELEASE >= 12) {
  var proxy = new URL(process.env.EVE_MOCKS_PROXY);
  patchSockets(proxy, authorizationFor(proxy));
  if (RELEASE >= 18) {
    require('./sessions.cjs')();
  }
}
