// A session by an official TypeScript client: node session.mjs PACKAGE MODE COMMAND-AS-JSON | URL
// PACKAGE is sdk (1.x) or client (2.x); MODE is the revision that a client of 2.x asks for: legacy or 2026-07-28.
import { createRequire } from "node:module";

const [name, mode, target] = process.argv.slice(2);
const require = createRequire(`${process.env.SB_DOORS}/package.json`);
const part = (inside) => require(`@modelcontextprotocol/${name}${inside}`);
const old = name === "sdk";

const { Client } = part(old ? "/client/index.js" : "");
const { StdioClientTransport } = part(old ? "/client/stdio.js" : "/stdio");
const { StreamableHTTPClientTransport } = part(old ? "/client/streamableHttp.js" : "");

const options = old || mode === "legacy" ? {} : { versionNegotiation: { mode: { pin: mode } } };
const client = new Client({ name: "doors", version: "1" }, options);
const headers = { Authorization: `Bearer ${process.env.SB_TOKEN}` };
await client.connect(
  target.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } })
    : new StdioClientTransport({ ...JSON.parse(target), stderr: "ignore" }),
);

const call = async (tool, given) => {
  const answer = await client.callTool({ name: tool, arguments: given });
  return answer.isError ? { error: answer.content[0].text } : answer.structuredContent;
};
const saved = await call("remember", { content: "The shop ships on Fridays." });
const hits = (await call("search", { query: "when does the shop ship?" })).result;
const record = (await client.readResource({ uri: `sb://record/${saved.id}` })).contents[0].text;
console.log(
  JSON.stringify({
    tools: (await client.listTools()).tools.map((tool) => tool.name),
    prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
    found: hits.map((hit) => hit.id).includes(saved.id),
    record: JSON.parse(record).content,
    wrong: (await call("search", { query: "x", limitt: 3 })).error,
  }),
);
await client.close();
