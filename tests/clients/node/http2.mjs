// node:http2, which speaks nothing older.
import { once } from "node:events";
import http2 from "node:http2";
import { each, text } from "./ask.mjs";

await each(async (url) => {
  const { origin, pathname } = new URL(url);
  const session = http2.connect(origin);
  try {
    await once(session, "connect");
    const request = session.request({ ":path": pathname });
    const [headers] = await once(request, "response");
    return [headers[":status"], await text(request)];
  } finally {
    session.destroy();
  }
});
