// What the MCP TypeScript SDKs' clients see of a mock: mcp_client.mjs URL MODE, one line of JSON.
// MODE is v1 (the SDK of the handshake), legacy or auto (its successor, with and without the handshake).
// Two sessions at a time list the tools, create an issue, list the issues, and call the counter fifty times in parallel.

const [url, mode] = process.argv.slice(2);
const v1 = mode === "v1";
const { Client } = await import(v1 ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const { StreamableHTTPClientTransport } = await import(
  v1 ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client"
);

async function use(session) {
  const client = new Client({ name: "test", version: "1" }, v1 ? {} : { versionNegotiation: { mode } });
  const requestInit = { headers: { "x-eve-mocks-session": session } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const result = (name, args) => client.callTool({ name, arguments: args });
  const call = async (name, args = {}) => (await result(name, args)).content[0].text;

  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  await call("create_issue", { title: `of ${session}` });
  const issues = JSON.parse(await call("list_issues"));
  const counts = (await Promise.all(Array.from({ length: 50 }, () => call("count")))).map(Number);
  const refused = await result("create_issue", {});
  const protocol = client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion;
  await client.close();
  return {
    protocol,
    tools,
    issues,
    counts: counts.sort((a, b) => a - b),
    refused: [refused.isError, refused.content[0].text],
  };
}

console.log(JSON.stringify(await Promise.all(["a", "b"].map(use))));
