// A WebSocket by ws; an answer that opens none is told as it is.
import WebSocket from "ws";
import { each, text } from "./ask.mjs";

await each(
  (url) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url);
      socket.on("open", () => socket.send("hello"));
      socket.on("message", (data) => resolve([101, data.toString()]));
      socket.on("unexpected-response", async (_, response) => resolve([response.statusCode, await text(response)]));
      socket.on("error", reject);
    }),
);
