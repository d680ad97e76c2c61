// Runs first in every Node process of a run (NODE_OPTIONS=--require). A blocked call becomes what a dead network
// gives, and a `throw` outcome becomes the error it names; everything else is left as it is.
//
// Written for the oldest Node that may load it, and for a start that costs nothing: no module is loaded that Node has
// not loaded by itself, `http` is patched when its first request begins.
'use strict';

var MARK = 'eve-mocks';

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

function isLoopback(input) {
  try {
    var host = new URL(typeof input === 'object' && 'url' in input ? input.url : input).hostname;
    return host === 'localhost' || /\.localhost$/.test(host) || /^127\./.test(host) || host === '[::1]';
  } catch (_) {
    return true;
  }
}

function patchFetch() {
  var described = Object.getOwnPropertyDescriptor(globalThis, 'fetch');
  var original = described && described.value;
  if (typeof original !== 'function' || !described.writable || !described.configurable) {
    return;
  }
  function fetch(input, init) {
    // A dispatcher of the caller's own would lead past the proxy.
    if (init && init.dispatcher && !isLoopback(input)) {
      init = Object.assign({}, init);
      delete init.dispatcher;
    }
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
  try {
    channel = require('diagnostics_channel').channel('http.client.request.start');
    channel.subscribe(first);
  } catch (_) {
    patchRequests(require('http').ClientRequest);
  }
  function first(message) {
    channel.unsubscribe(first);
    patchRequests(message.request.constructor);
  }
}

if (typeof globalThis !== 'undefined') {
  patchFetch();
}
watchRequests();
