// The fetch that a runtime has built in: Node's, Bun's, Deno's.
import { each } from "./ask.mjs";

await each(async (url) => {
  const response = await fetch(url);
  return [response.status, await response.text()];
});
