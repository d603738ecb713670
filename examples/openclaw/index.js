// SecondBrain as an OpenClaw plugin: recall before each turn, a handoff after each session, governed tools.
// @ts-check

import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

import { Client } from "./sb_client.js";

const LONGEST = 1_000; // characters of a message that go into a handoff
const USE =
  "SecondBrain remembers across sessions: save what a later session needs with sb_remember or sb_decide. sb_call_tool " +
  "makes governed calls: `waiting` means that a person has to agree first; `refused` means no, so do not work around " +
  "it, ask the user.";

/** @param {string} description */
const text = (description) => ({ type: "string", description });

/** What a model may ask for: the tool's name with sb_ before it, its description, and its arguments. */
const TOOLS = [
  { name: "search", description: "Search what is remembered.", args: { query: text("Words or a question.") } },
  { name: "remember", description: "Save a fact for later sessions.", args: { content: text("One fact, in a sentence.") } },
  {
    name: "decide",
    description: "Record a decision with its reasons.",
    args: { title: text("What was decided."), rationale: text("Why, and what else there was.") },
  },
  { name: "list_tools", description: "List the tools for sb_call_tool, and their arguments.", args: {} },
  {
    name: "call_tool",
    description: "Make a governed call; what it changes can be undone.",
    args: { tool: text("A tool's id, as sb_list_tools gives it."), args: { type: "object", description: "Its arguments." } },
  },
  {
    name: "request_status",
    description: "See whether a person has decided on a request.",
    args: { request: text("The request's id, such as apr_1a2b.") },
  },
];
const OF_A_PROJECT = new Set(["search", "remember", "decide"]);

/** The text of a message, however its content is kept. @param {any} message */
function textOf(message) {
  const content = message?.content ?? "";
  if (typeof content === "string") return content;
  return content.map((/** @type {any} */ part) => part.text ?? "").join("\n");
}

/** The last exchange of a session as a summary, or "". @param {any[]} messages */
function summaryOf(messages) {
  const last = (/** @type {string} */ role) => textOf(messages.findLast((message) => message?.role === role));
  const [asked, answered] = [last("user"), last("assistant")];
  if (!answered) return "";
  return `The user asked: ${asked.slice(0, LONGEST)}\nThe agent answered: ${answered.slice(0, LONGEST)}`;
}

export default definePluginEntry({
  id: "secondbrain",
  name: "SecondBrain",
  description: "Memory that lasts, and calls that are judged, approved and undone.",
  register(api) {
    const project = String(api.pluginConfig?.project ?? "openclaw");
    const governed = /** @type {string[]} */ (api.pluginConfig?.governed ?? []);
    const client = new Client("openclaw");
    /** @type {Map<string, string>} what each session began with */
    const oriented = new Map();
    /** @type {Map<string, string>} */
    const summaries = new Map();

    for (const { name, description, args } of TOOLS) {
      api.registerTool({
        name: `sb_${name}`,
        label: `SecondBrain: ${name}`,
        description,
        parameters: { type: "object", properties: args, required: Object.keys(args), additionalProperties: false },
        async execute(_id, params) {
          const more = OF_A_PROJECT.has(name) ? { project } : {};
          const answer = await client.call(name, { .../** @type {object} */ (params), ...more });
          if (!answer.worked) throw new Error(answer.text);
          return { content: [{ type: "text", text: answer.text }], details: answer.value };
        },
      });
    }

    api.on("before_prompt_build", async (event, ctx) => {
      const session = ctx.sessionKey ?? "";
      const query = event.prompt.trim().slice(0, 2_000);
      if (!oriented.has(session)) oriented.set(session, (await client.call("orient", { project })).text);
      const hits = query ? await client.call("search", { query, limit: 5, project }) : null;
      const found = hits?.worked ? hits.value : [];
      const lines = found.map((/** @type {{text: string}} */ hit) => `- ${hit.text}`);
      return { prependContext: [USE, oriented.get(session), ...lines].join("\n").trim() };
    });

    api.on("before_tool_call", (event) => {
      if (!governed.includes(event.toolName)) return;
      return { block: true, blockReason: `${event.toolName} is governed here: use sb_list_tools and sb_call_tool.` };
    });

    api.on("agent_end", (event, ctx) => {
      const summary = summaryOf(event.messages);
      if (summary) summaries.set(ctx.sessionKey ?? "", summary);
    });

    api.on("session_end", async (event, ctx) => {
      const session = event.sessionKey ?? ctx.sessionKey ?? "";
      const summary = summaries.get(session);
      oriented.delete(session);
      summaries.delete(session);
      if (summary) await client.call("wrap_up", { summary, project });
    });

    api.on("gateway_stop", () => client.close());
  },
});
