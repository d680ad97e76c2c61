// node:https
import { once } from "node:events";
import https from "node:https";
import { each, text } from "./ask.mjs";

await each(async (url) => {
  const [response] = await once(https.get(url), "response");
  return [response.statusCode, await text(response)];
});
