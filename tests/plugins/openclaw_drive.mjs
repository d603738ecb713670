// Drives the plugin through a stand-in of OpenClaw's Gateway for two of its lives; prints what came of it as JSON.

import { Gateway } from "openclaw/plugin-sdk/plugin-entry";
import plugin from "./plugin/index.js";

const config = { project: "shop", governed: ["exec"] };
const answers = {};
const ctx = { sessionKey: "agent:main:1", sessionId: "1" };

const first = new Gateway(plugin, config);
answers.tools = [...first.tools.keys()];
answers.first = await first.run("before_prompt_build", { prompt: "Close the books.", messages: [] }, ctx);
answers.exec = await first.call("exec", { command: "rm -r old" }, ctx);
answers.remembered = await first.call("sb_remember", { content: "The till closes at six." }, ctx);
const call = (path) => first.call("sb_call_tool", { tool: "files.write", args: { path, content: "paid\n" } }, ctx);
answers.written = await call("a.txt");
answers.refused = await call("../outside.txt");
answers.unknown = await first.call("sb_request_status", { request: "apr_none" }, ctx);
const messages = [
  { role: "user", content: "Close the books." },
  { role: "assistant", content: [{ type: "text", text: "The books are closed up to May.".padEnd(999, ".") + "😀" }] },
];
await first.run("agent_end", { messages, success: true }, ctx);
await first.run("session_end", { sessionId: "1", sessionKey: ctx.sessionKey, reason: "new", messageCount: 2 }, ctx);
await first.run("gateway_stop", {}, {});

const second = new Gateway(plugin, config);
const next = { sessionKey: "agent:main:2", sessionId: "2" };
answers.second = await second.run("before_prompt_build", { prompt: "When does the till close?", messages: [] }, next);
await second.run("gateway_stop", {}, {});
console.log(JSON.stringify(answers));
