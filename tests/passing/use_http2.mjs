// node:http2 to serve_http2.mjs, given as HOST:PORT; prints what was answered as JSON.
import { once } from "node:events";
import http2 from "node:http2";
import process from "node:process";

const origin = `https://${process.argv[2]}`;
const MIB = 2 ** 20;

async function text(stream) {
  let all = "";
  for await (const piece of stream) all += piece;
  return all;
}

async function get(session, path) {
  const request = session.request({ ":path": path });
  const [headers] = await once(request, "response");
  return [headers[":status"], await text(request)];
}

const calls = {
  async together(session) {
    const answers = await Promise.all(Array.from({ length: 75 }, () => get(session, "/together?of=75")));
    return [answers.length, answers.every(([status]) => status === 200)];
  },

  // A reader that is slow: with each MiB it asks how far the server has got, which is not held up by what waits.
  async slowly(session) {
    const request = session.request({ ":path": "/large" });
    let received = 0;
    let most = 0;
    for await (const piece of request) {
      received += piece.length;
      if (received % MIB >= piece.length) continue;
      const [, sent] = await get(session, "/sent");
      most = Math.max(most, Number(sent) - received);
      if (received > 30 * MIB) break;
    }
    return most < 20 * MIB ? "in step" : `${most} bytes behind`;
  },

  // The client says that it will ask for nothing more, and waits for what it has asked.
  async leaving(session) {
    const request = session.request({ ":path": "/large" });
    session.close();
    let received = 0;
    for await (const piece of request) received += piece.length;
    return received;
  },

  async left(session) {
    return [await get(session, "/leave"), (await get(session, "/"))[1]];
  },
};

for (const [name, call] of Object.entries(calls)) {
  const session = http2.connect(origin);
  await once(session, "connect");
  console.log(JSON.stringify({ [name]: await call(session) }));
  session.destroy();
}
