// axios, by its adapter for Node.
import axios from "axios";
import { each } from "./ask.mjs";

await each(async (url) => {
  const response = await axios.get(url, { responseType: "text" });
  return [response.status, response.data];
});
