// The real services, for tests: upstream.mjs ADDRESS CERTIFICATE. Prints a line once it listens.
// One TLS server speaks HTTP/1.1 and HTTP/2 and opens WebSockets; a plain one speaks HTTP/1.1. Whatever is asked is
// answered with the word REAL in the form that the client expects: by path, or by content type.

import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import process from "node:process";
import { WebSocketServer } from "ws";
import { text } from "./ask.mjs";

const REAL = "from-the-upstream";
const [address, certificate] = process.argv.slice(2);

function mcp({ id, method, params }) {
  const serverInfo = { name: REAL, version: "1" };
  const { protocolVersion } = params ?? {};
  const tool = { name: REAL, inputSchema: { type: "object" } };
  const results = {
    initialize: { protocolVersion, capabilities: { tools: {} }, serverInfo },
    "tools/list": { tools: [tool] },
  };
  return { jsonrpc: "2.0", id, result: results[method] };
}

// gRPC over HTTP/2: a message behind its length, and the status in trailers.
function grpc(response) {
  const length = Buffer.alloc(5);
  length.writeUInt32BE(REAL.length, 1);
  response.writeHead(200, { "content-type": "application/grpc" });
  response.setTrailer("grpc-status", "0");
  response.end(Buffer.concat([length, Buffer.from(REAL)]));
}

async function answer(request, response) {
  const json = (value, status = 200) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(value && JSON.stringify(value));
  };
  if (request.headers["content-type"]?.startsWith("application/grpc")) {
    grpc(response);
  } else if (request.url === "/mcp" && request.method === "POST") {
    const message = JSON.parse(await text(request));
    json(message.id === undefined ? null : mcp(message), message.id === undefined ? 202 : 200);
  } else if (request.url === "/mcp") {
    json({ error: "no stream of its own" }, 405);
  } else if (request.url.startsWith("/repo.git/info/refs")) {
    response.end(`${"0".repeat(39)}1\trefs/heads/${REAL}\n`);
  } else {
    json({ data: [{ id: REAL, type: "model", object: "model" }], has_more: false });
  }
}

const pem = readFileSync(certificate);
const secure = http2.createSecureServer({ key: pem, cert: pem, allowHTTP1: true }, answer);
new WebSocketServer({ server: secure }).on("connection", (socket) => socket.on("message", () => socket.send(REAL)));
const plain = http.createServer(answer);
secure.listen(443, address, () => plain.listen(80, address, () => console.log("listening")));
