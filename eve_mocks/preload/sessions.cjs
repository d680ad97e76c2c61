// Says of each call which session it belongs to: a header that the proxy reads, and takes off again. And finds
// `eve-mocks/evals` for programs that have it in no node_modules.
//
// eve keeps the session of what runs in a store of its own, made at its first use; a subagent's calls belong to the root
// session. A program that is no agent of eve's opens one with `session` of `eve-mocks/evals`.
'use strict';

var SESSION = 'x-eve-mocks-session';
var AGENT = 'x-eve-mocks-agent';
// A server on this machine is none of the run's, and is asked as ever.
var STAYS = /^https?:\/\/([^/@]*@)?(([\w-]+\.)*localhost\.?|127\.[\d.]+|0\.0\.0\.0|\[?::1?\]?)(:\d+)?$/i;

// The session of this call, and the subagent's own where it is one's.
function current() {
  var own = globalThis[Symbol.for('eve-mocks.session')];
  var opened = own && own.getStore();
  if (opened) {
    return [opened];
  }
  try {
    var store = globalThis[Symbol.for('eve.context-storage')].getStore();
    var id = store.get({ name: 'eve.sessionId' });
    var parent = store.get({ name: 'eve.parentSession' });
    var root = parent && parent.rootSessionId;
    return root && root !== id ? [root, id] : [id];
  } catch (_) { // not inside of an agent
    return [];
  }
}

function stamp(says, add) {
  var found = current();
  if (!found[0] || says(SESSION)) {
    return;
  }
  add(SESSION, String(found[0]));
  if (found[1]) {
    add(AGENT, String(found[1]));
  }
}

// fetch, and whatever else is made of undici, in Node or from npm.
function stampUndici(message) {
  var request = message.request;
  var isToProxy = /^https?:/.test(request.path); // a whole URL is what a proxy is asked for (RFC 9112, section 3.2.2)
  if (request.method === 'CONNECT' || typeof request.addHeader !== 'function' || (!isToProxy && STAYS.test(request.origin))) {
    return;
  }
  stamp(
    function (name) {
      return String(request.headers).toLowerCase().indexOf(name) !== -1;
    },
    function (name, value) {
      request.addHeader(name, value);
    }
  );
}

function stampHttp(message) {
  var request = message.request;
  var isToProxy = /^https?:/.test(request.path);
  // A list of headers is sent as it is.
  if (request.method === 'CONNECT' || request.headersSent || (!isToProxy && STAYS.test('http://' + request.host))) {
    return;
  }
  stamp(request.hasHeader.bind(request), request.setHeader.bind(request));
}

function resolveEvals() {
  var nodeModule = require('module');
  if (typeof nodeModule.registerHooks !== 'function') { // since Node 22.15
    return;
  }
  var evals = require('url').pathToFileURL(require('path').join(__dirname, 'evals', 'evals.mjs')).href;
  nodeModule.registerHooks({
    resolve: function (specifier, context, next) {
      return specifier === 'eve-mocks/evals' ? { url: evals, format: 'module', shortCircuit: true } : next(specifier, context);
    },
  });
}

function watch() {
  var channels = require('diagnostics_channel');
  channels.channel('undici:request:create').subscribe(stampUndici);
  channels.channel('http.client.request.created').subscribe(stampHttp); // since Node 22.12
}

module.exports = function () {
  watch();
  resolveEvals();
};
