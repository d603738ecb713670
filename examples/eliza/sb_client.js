// A client of `sb serve mcp` over stdio: one process, one request at a time. It needs nothing but Node or Bun.
// @ts-check

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const REVISION = "2025-11-25"; // of the Model Context Protocol

/** @typedef {{worked: boolean, text: string, value: any}} Answer what a model should read, and the same as a value */

/** Asks `sb` as one agent. The process starts with the first request, and again if it has ended. */
export class Client {
  /**
   * @param {string} agent the name that permissions and memories go by
   * @param {number} [timeoutMs] how long an answer may take
   */
  constructor(agent, timeoutMs = 60_000) {
    this.args = ["serve", "mcp", "--agent", agent, "--toolset", "core", "--toolset", "kernel"];
    this.timeoutMs = timeoutMs;
    /** @type {import("node:child_process").ChildProcess | null} */
    this.process = null;
    /** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void}>} */
    this.asked = new Map();
    this.lastId = 0;
    /** @type {Promise<any>} */
    this.before = Promise.resolve();
  }

  /** @returns {Promise<{name: string, description: string, inputSchema: Record<string, unknown>}[]>} */
  async tools() {
    return (await this.#next("tools/list", {})).tools;
  }

  /**
   * Call a tool. Rejects if there is no answer.
   * @param {string} tool
   * @param {Record<string, unknown>} args
   * @returns {Promise<Answer>}
   */
  async call(tool, args) {
    const answer = await this.#next("tools/call", { name: tool, arguments: args });
    const text = answer.content.map((/** @type {any} */ part) => part.text ?? "").join("\n");
    const value = answer.structuredContent;
    return { worked: !answer.isError, text, value: value && "result" in value ? value.result : value };
  }

  /** End the process, once what was asked is answered. */
  async close() {
    await this.before;
    const ended = this.process;
    this.process = null;
    if (ended === null || ended.exitCode !== null) return;
    await new Promise((resolve) => {
      ended.once("exit", resolve);
      ended.stdin?.end();
      setTimeout(() => ended.kill(), 5_000).unref();
    });
  }

  /** @param {string} method @param {object} params */
  #next(method, params) {
    const answer = this.before.then(async () => {
      if (this.process === null) await this.#start();
      return this.#request(method, params);
    });
    this.before = answer.catch(() => undefined);
    return answer;
  }

  async #start() {
    const program = process.env.SECONDBRAIN_SB ?? "sb";
    const started = spawn(program, this.args, { stdio: ["pipe", "pipe", "inherit"] });
    this.process = started;
    started.on("error", (error) => this.#ended(started, `${program} cannot be started: ${error.message}`));
    started.on("exit", () => this.#ended(started, "sb has ended: see `sb serve mcp --doctor`"));
    started.stdin.on("error", () => this.#ended(started, "sb has ended: see `sb serve mcp --doctor`"));
    createInterface({ input: started.stdout }).on("line", (line) => this.#read(line));
    const clientInfo = { name: "secondbrain-plugin", version: "0.1.0" };
    await this.#request("initialize", { protocolVersion: REVISION, capabilities: {}, clientInfo });
    this.#send({ method: "notifications/initialized" });
  }

  /** @param {string} method @param {object} params @returns {Promise<any>} */
  #request(method, params) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.asked.delete(id);
        reject(new Error(`no answer to ${method}: see \`sb serve mcp --doctor\``));
      }, this.timeoutMs);
      const settled = (/** @type {(value: any) => void} */ settle) => (/** @type {any} */ value) => {
        clearTimeout(late);
        settle(value);
      };
      this.asked.set(id, { resolve: settled(resolve), reject: settled(reject) });
      this.#send({ id, method, params });
    });
  }

  /** @param {object} message */
  #send(message) {
    this.process?.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message }, whole)}\n`);
  }

  /** @param {string} line */
  #read(line) {
    const message = JSON.parse(line);
    const asked = "method" in message ? undefined : this.asked.get(message.id);
    if (asked === undefined) return;
    this.asked.delete(message.id);
    if (message.error) asked.reject(new Error(message.error.message));
    else asked.resolve(message.result);
  }

  /** @param {import("node:child_process").ChildProcess} which @param {string} why */
  #ended(which, why) {
    if (this.process === which) this.process = null;
    for (const { reject } of this.asked.values()) reject(new Error(why));
    this.asked.clear();
  }
}

/** A text without half characters, such as cutting it leaves: no JSON may hold them. @param {string} _ @param {any} value */
function whole(_, value) {
  return typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "\ufffd") : value;
}
