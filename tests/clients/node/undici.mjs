// undici with an Agent of its own, which is no proxy's.
import { Agent, request } from "undici";
import { each } from "./ask.mjs";

const dispatcher = new Agent({ connectTimeout: 10_000 });

await each(async (url) => {
  const response = await request(url, { dispatcher });
  return [response.statusCode, await response.body.text()];
});
