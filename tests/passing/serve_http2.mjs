// A real HTTP/2 server for tests: serve_http2.mjs ADDRESS PORT CERTIFICATE. Prints a line once it listens.
// It takes HTTP/1.1 as well. By path: /together answers when as many ask as ?of= says, /large sends 100 MiB and /sent
// says how much of it has gone, /leave is on a connection that the server is leaving. A PUT is answered by its SHA-256.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import http2 from "node:http2";
import process from "node:process";

const PIECE = Buffer.alloc(64 * 1024, Buffer.from([...Array(256).keys()]));
const PIECES = 1600;
const [address, port, certificate] = process.argv.slice(2);
const waiting = [];
let sent = 0;

async function large(response) {
  sent = 0;
  for (let n = 0; n < PIECES && !response.destroyed; n++) {
    sent += PIECE.length;
    if (!response.write(PIECE)) await new Promise((resolve) => response.once("drain", resolve));
  }
  response.end();
}

async function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url, "https://host");
  if (pathname === "/together") {
    waiting.push(response);
    if (waiting.length === Number(searchParams.get("of"))) {
      for (const each of waiting.splice(0)) each.end(String(each.stream.id));
    }
  } else if (pathname === "/large") {
    await large(response);
  } else if (pathname === "/sent") {
    response.end(String(sent));
  } else if (request.method === "PUT") {
    const digest = createHash("sha256");
    for await (const piece of request) digest.update(piece);
    response.end(JSON.stringify({ sha256: digest.digest("hex") }));
  } else if (pathname === "/leave") {
    response.write("before ");
    request.stream.session.close(); // GOAWAY, and then what is left of the streams
    response.end("after");
  } else {
    response.end(request.httpVersion);
  }
}

const pem = readFileSync(certificate);
const settings = { maxConcurrentStreams: 100 };
const server = http2.createSecureServer({ key: pem, cert: pem, allowHTTP1: true, settings }, answer);
server.listen(port, address, () => console.log("listening"));
