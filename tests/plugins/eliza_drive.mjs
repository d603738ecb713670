// Drives the plugin through ElizaOS's own runtime, or its stand-in, for two sessions; prints what came of it as JSON.

import { execFileSync } from "node:child_process";

import { AgentRuntime } from "@elizaos/core";
import plugin from "./plugin/index.js";

const id = (n) => `00000000-0000-4000-8000-00000000000${n}`;
const choices = []; // what a model would understand, in turn
const models = {
  name: "models",
  description: "Answers of a model, made by hand.",
  models: { OBJECT_SMALL: async () => choices.shift(), TEXT_SMALL: async () => "<response></response>" },
};
// A database that has nothing, and forgets what it is given; what agents remember is elsewhere.
const known = { ready: true, isReady: true, init: true, getAgents: [], createAgent: true, ensureAgentExists: true };
const adapter = new Proxy({}, {
  get(_target, name) {
    if (name === "then") return undefined;
    return async (...args) => {
      if (name in known) return known[name];
      if (name === "getAgent") return { id: args[0], name: "Shop" };
      if (name === "createRooms") return args[0].map((one) => one.id);
      if (name === "getEntitiesByIds") return args[0].map((one) => ({ id: one, names: ["Shop"], agentId: one }));
      return String(name).match(/^(create|update|ensure|add)/) ? true : [];
    };
  },
});

function said(text, more = {}) {
  return { id: id(5), entityId: id(2), roomId: id(3), content: { text, ...more } };
}

async function session(play) {
  const character = { name: "Shop", bio: [], settings: { SECONDBRAIN_PROJECT: "shop" } };
  const runtime = new AgentRuntime({ agentId: id(1), character, plugins: [plugin, models], adapter });
  await runtime.initialize({ skipMigrations: true });
  answers.failed = await runtime.getServiceLoadPromise("secondbrain").then(() => "", String);
  await play(runtime);
  await runtime.stop();
}

async function acted(runtime, action, text) {
  const told = [];
  const callback = async (content) => (told.push(content.text), []);
  await runtime.processActions(said(text), [said("", { actions: [action] })], { values: {}, data: {}, text: "" }, callback);
  return told.join(" ");
}

async function recalled(runtime, text) {
  return (await runtime.composeState(said(text), ["SECONDBRAIN"], true, true)).text;
}

const answers = {};
if (process.argv[2] === "without") {
  await session(async (runtime) => {
    answers.second = await recalled(runtime, "when does the till close?");
  });
  console.log(JSON.stringify(answers));
  process.exit();
}
await session(async (runtime) => {
  answers.remembered = await acted(runtime, "SECONDBRAIN_REMEMBER", "Please remember that the till closes at six.");
  choices.push({ tool: "files.write", args: { path: "a.txt", content: "paid\n" } });
  answers.written = await acted(runtime, "SECONDBRAIN_CALL", "Note that it is paid.");
  choices.push({ tool: "files.write", args: { path: "../outside.txt", content: "paid\n" } });
  answers.refused = await acted(runtime, "SECONDBRAIN_CALL", "Note it elsewhere.");
  choices.push({ tool: "shell.run", args: { argv: ["rm", "-r", "old"] } });
  answers.waiting = await acted(runtime, "SECONDBRAIN_CALL", "Remove what is old.");
  const request = answers.waiting.match(/apr_\w+/)?.[0];
  execFileSync(process.env.SECONDBRAIN_SB, ["approvals", "approve", request, "--reason", "it is old"]);
  answers.approved = await acted(runtime, "SECONDBRAIN_CALL", `Go on with ${request}, please.`);
  const state = { values: {}, data: {}, text: "" };
  const answered = [said("The books are closed up to May.")];
  await runtime.evaluate(said("Close the books."), state, true, async () => [], answered);
});
await session(async (runtime) => {
  answers.second = await recalled(runtime, "when does the till close?");
});
console.log(JSON.stringify(answers));
