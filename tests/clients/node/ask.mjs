// What each program beside this one does: ask for the URLs it is given, and print a line of JSON for each.
// `get(url)` resolves to status and body.

import process from "node:process";

export async function each(get) {
  for (const url of process.argv.slice(2)) {
    let line;
    try {
      const [status, body] = await get(url);
      line = { status, body };
    } catch (error) {
      const { name, code, message } = error.cause ?? error;
      line = { error: [name, code, message].filter(Boolean).join(": ") };
    }
    console.log(JSON.stringify({ url, ...line }));
  }
  process.exit(); // some clients keep a connection, and with it the process
}

// A stream's text.
export async function text(stream) {
  let all = "";
  for await (const chunk of stream) all += chunk;
  return all;
}
