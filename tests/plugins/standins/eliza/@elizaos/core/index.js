// A stand-in of the part of ElizaOS that calls plugins, as its documentation of the plugin interface describes it.

export const ModelType = { OBJECT_SMALL: "OBJECT_SMALL", TEXT_SMALL: "TEXT_SMALL" };

export class Service {
  constructor(runtime) {
    this.runtime = runtime;
  }
}

export class AgentRuntime {
  constructor({ character, plugins }) {
    Object.assign(this, { character, plugins, services: new Map(), loading: new Map(), models: {} });
  }

  async initialize() {
    for (const plugin of this.plugins) {
      Object.assign(this.models, plugin.models);
      for (const kind of plugin.services ?? []) {
        const started = kind.start(this).then((service) => this.services.set(kind.serviceType, service));
        this.loading.set(kind.serviceType, started);
        await started.catch(() => undefined);
      }
    }
  }

  getService(name) {
    return this.services.get(name) ?? null;
  }

  getServiceLoadPromise(name) {
    return this.loading.get(name);
  }

  getSetting(name) {
    return this.character.settings?.[name] ?? null;
  }

  useModel(type, params) {
    return this.models[type](this, params);
  }

  #all(kind) {
    return this.plugins.flatMap((plugin) => plugin[kind] ?? []);
  }

  async composeState(message, names) {
    const providers = this.#all("providers").filter(({ name }) => names.includes(name));
    const results = await Promise.all(providers.map((provider) => provider.get(this, message, {})));
    return { text: results.map(({ text }) => text).join("\n"), values: {}, data: {} };
  }

  async processActions(message, responses, state, callback) {
    for (const name of responses.flatMap(({ content }) => content.actions ?? [])) {
      const action = this.#all("actions").find((one) => one.name === name);
      await action.handler(this, message, state, {}, callback, responses);
    }
  }

  async evaluate(message, state, didRespond, callback, responses) {
    for (const one of this.#all("evaluators")) {
      if ((didRespond || one.alwaysRun) && (await one.validate(this, message, state))) {
        await one.handler(this, message, state, {}, callback, responses);
      }
    }
  }

  async stop() {
    for (const service of this.services.values()) await service.stop();
  }
}
