// Node's own WebSocket to serve_websocket.py, given as HOST:PORT; prints what was said as JSON.
import process from "node:process";

const url = `wss://${process.argv[2]}`;

// `said` holds a message for each one heard; after the last, the client closes.
function talk(path, said, close) {
  const heard = [];
  return new Promise((resolve) => {
    const socket = new WebSocket(url + path);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => said.length && socket.send(said.shift());
    socket.onmessage = ({ data }) => {
      heard.push(typeof data === "string" ? data : [...new Uint8Array(data)]);
      if (said.length) socket.send(said.shift());
      else socket.close(...close);
    };
    socket.onerror = ({ message }) => heard.push(message);
    socket.onclose = ({ code, reason, wasClean }) => resolve([...heard, code, reason, wasClean]);
  });
}

console.log(JSON.stringify({ client_first: await talk("/echo", ["word ü", new Uint8Array([0, 255])], [4000, "enough"]) }));
console.log(JSON.stringify({ server_first: await talk("/greet", [], []) }));
console.log(JSON.stringify({ left: await talk("/leave", [], []) }));
