// SecondBrain as an ElizaOS plugin: recall before each answer, a handoff at the end, facts on request, governed calls.
// @ts-check

import { ModelType, Service } from "@elizaos/core";

import { Client } from "./sb_client.js";

const LONGEST = 1_000; // characters of a message that go into a handoff
const REMEMBER = /\bremember\b(?:\s+that\b)?[\s:,]*(?<fact>\S.*)/is;
const REQUEST = /\bapr_\w+/;

/** @typedef {import("@elizaos/core").IAgentRuntime} Runtime */
/** @typedef {import("@elizaos/core").Memory} Message */

/** The connection to `sb`, and what a session knows. */
export class SecondBrain extends Service {
  static serviceType = "secondbrain";
  capabilityDescription = "Memory that lasts, and calls that are judged, approved and undone.";
  project = "eliza";
  oriented = "";
  /** @type {{asked: string, answered: string}} */
  last = { asked: "", answered: "" };
  /** @type {Map<string, Record<string, unknown>>} calls that wait for a person, by their request */
  waiting = new Map();
  client = new Client("eliza");

  /** @param {Runtime} runtime */
  static async start(runtime) {
    const started = new SecondBrain(runtime);
    started.project = String(runtime.getSetting("SECONDBRAIN_PROJECT") ?? runtime.character.name);
    const answer = await started.client.call("orient", { project: started.project });
    if (!answer.worked) throw new Error(answer.text);
    started.oriented = answer.text;
    return started;
  }

  async stop() {
    const { asked, answered } = this.last;
    if (answered) {
      const summary = `The user asked: ${asked.slice(0, LONGEST)}\nThe agent answered: ${answered.slice(0, LONGEST)}`;
      await this.client.call("wrap_up", { summary, project: this.project });
    }
    await this.client.close();
  }
}

/** @param {Runtime} runtime @returns {SecondBrain} */
function service(runtime) {
  const running = runtime.getService("secondbrain");
  if (running === null) throw new Error("SecondBrain is not running: see the log of its start");
  return /** @type {SecondBrain} */ (running);
}

/** @param {Message} message */
const textOf = (message) => (message.content.text ?? "").trim();

/** @type {import("@elizaos/core").Provider} */
const recall = {
  name: "SECONDBRAIN",
  description: "What earlier sessions left, and what fits the message.",
  async get(runtime, message) {
    const running = runtime.getService("secondbrain");
    if (running === null) return { text: "Memory of earlier sessions is missing: SecondBrain does not run." };
    const brain = /** @type {SecondBrain} */ (running);
    const query = textOf(message).slice(0, 2_000);
    const hits = query ? await brain.client.call("search", { query, limit: 5, project: brain.project }) : null;
    const found = hits?.worked ? hits.value : [];
    const lines = found.map((/** @type {{text: string}} */ hit) => `- ${hit.text}`);
    return { text: [brain.oriented, ...lines].join("\n").trim(), data: { hits: found } };
  },
};

/** @type {import("@elizaos/core").Evaluator} */
const follow = {
  name: "SECONDBRAIN_FOLLOW",
  description: "Notes the last exchange, from which the handoff is made.",
  alwaysRun: true,
  examples: [],
  validate: async () => true,
  async handler(runtime, message, _state, _options, _callback, responses) {
    const answered = (responses ?? []).map(textOf).filter(Boolean).join("\n");
    if (answered) service(runtime).last = { asked: textOf(message), answered };
  },
};

/** @type {import("@elizaos/core").Action} */
const remember = {
  name: "SECONDBRAIN_REMEMBER",
  similes: ["REMEMBER", "SAVE_FACT"],
  description: "Save a fact for later sessions, when the user asks to remember it.",
  validate: async (_runtime, message) => REMEMBER.test(textOf(message)),
  async handler(runtime, message, _state, _options, callback) {
    const brain = service(runtime);
    const content = REMEMBER.exec(textOf(message))?.groups?.fact ?? textOf(message);
    const saved = await brain.client.call("remember", { content, project: brain.project });
    await callback?.({ text: saved.worked ? "I will remember that." : `Not saved: ${saved.text}` });
    return { success: saved.worked, text: saved.text, data: saved.value };
  },
};

/** @type {import("@elizaos/core").Action} */
const call = {
  name: "SECONDBRAIN_CALL",
  similes: ["GOVERNED_CALL"],
  description: "Call a tool through the kernel of SecondBrain. With the id of a request (apr_…), repeat that call.",
  validate: async () => true,
  async handler(runtime, message, _state, _options, callback) {
    const brain = service(runtime);
    const request = REQUEST.exec(textOf(message))?.[0] ?? "";
    const args = brain.waiting.get(request) ?? (await chosen(runtime, textOf(message)));
    const { worked, text, value } = await brain.client.call("call_tool", args);
    const success = worked && value.state === "done";
    brain.waiting.delete(request);
    if (worked && value.state === "waiting") brain.waiting.set(value.request, args);
    await callback?.({ text: success ? "Done." : spoken(worked ? value : { reason: text }) });
    return { success, text, data: worked ? value : {} };
  },
};

/** The call that a message asks for, as a model understands it. @param {Runtime} runtime @param {string} wish */
async function chosen(runtime, wish) {
  const tools = await service(runtime).client.call("list_tools", {});
  const prompt = `Tools:\n${tools.text}\n\nThe user wrote: ${wish}\n\nAnswer with JSON alone: {"tool": "…", "args": {…}}`;
  const choice = /** @type {{tool?: string, args?: object}} */ (
    await runtime.useModel(ModelType.OBJECT_SMALL, { prompt })
  );
  return { tool: String(choice.tool), args: choice.args ?? {} };
}

/** What a user is told of a call that was not done. @param {Record<string, string>} value */
function spoken(value) {
  if (value.state === "waiting") {
    return `Not done: a person has to approve ${value.request}. Tell me "go on with ${value.request}" when they have.`;
  }
  return `Not done: ${value.reason}`;
}

/** @type {import("@elizaos/core").Plugin} */
const plugin = {
  name: "secondbrain",
  description: "Memory that lasts, and calls that are judged, approved and undone.",
  services: [SecondBrain],
  providers: [recall],
  evaluators: [follow],
  actions: [remember, call],
};

export default plugin;
