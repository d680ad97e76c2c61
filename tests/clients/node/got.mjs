// got
import got from "got";
import { each } from "./ask.mjs";

await each(async (url) => {
  const response = await got(url, { retry: { limit: 0 }, throwHttpErrors: false });
  return [response.statusCode, response.body];
});
