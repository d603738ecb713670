// A stand-in of the part of OpenClaw that loads plugins and calls their hooks, as its documentation describes it.

export const definePluginEntry = (entry) => entry;

/** A Gateway with one plugin. */
export class Gateway {
  constructor(plugin, pluginConfig) {
    this.hooks = new Map();
    this.tools = new Map();
    plugin.register({
      pluginConfig,
      on: (name, handler) => this.hooks.set(name, handler),
      registerTool: (tool) => this.tools.set(tool.name, tool),
    });
  }

  /** What a hook returns; a handler that fails is logged and skipped, except where it gates. */
  async run(name, event, ctx) {
    try {
      return await this.hooks.get(name)?.(event, ctx);
    } catch (error) {
      console.error(error);
      return name === "before_tool_call" ? { block: true, blockReason: String(error) } : undefined;
    }
  }

  /** A tool's call, after the hooks have let it; required arguments are checked before. */
  async call(name, params, ctx) {
    const gate = await this.run("before_tool_call", { toolName: name, params }, ctx);
    if (gate?.block) return { blocked: gate.blockReason };
    const tool = this.tools.get(name);
    const missing = tool.parameters.required.filter((argument) => !(argument in params));
    if (missing.length) return { error: `missing ${missing}` };
    try {
      return await tool.execute("call_1", params);
    } catch (error) {
      return { error: error.message };
    }
  }
}
