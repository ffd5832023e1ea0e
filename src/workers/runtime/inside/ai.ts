// An `ai` binding: runs in the worker's isolate as an internal module and calls the server over plain HTTP.

class InferenceUpstreamError extends Error {
  override name = "InferenceUpstreamError";
}

/** Methods that need products of the hosted service that this server does not have. */
const UNSUPPORTED_METHODS = ["toMarkdown", "models", "gateway", "autorag", "aiSearch"];

class Ai {
  #server: Fetcher;

  constructor(server: Fetcher) {
    this.#server = server;
  }

  async run(model: unknown, inputs: unknown, options: Record<string, unknown> = {}): Promise<unknown> {
    if (typeof model !== "string" || model === "") throw new Error("The first argument of run() must be a model name");
    for (const option of ["gateway", "websocket", "queueRequest"])
      if (options[option]) throw new Error(`The option ${option} of run() is not supported by this server`);
    const response = await this.#server.fetch("http://ai/", {
      method: "POST",
      body: JSON.stringify({ model, inputs }),
    });
    if (options["returnRawResponse"]) return response;
    if (!response.ok) {
      const { error, code } = (await response.json()) as { error?: string; code?: string | number };
      throw new InferenceUpstreamError(`${code === undefined ? "" : `${code}: `}${error ?? "internal error"}`);
    }
    return response.headers.get("content-type") === "text/event-stream" ? response.body : response.json();
  }
}

for (const name of UNSUPPORTED_METHODS)
  Object.defineProperty(Ai.prototype, name, {
    value() {
      throw new Error(`env.AI.${name}() is not supported by this server`);
    },
  });

export default (env: { server: Fetcher }) => new Ai(env.server);
