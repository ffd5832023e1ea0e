// An `ai` binding: runs in the worker's isolate as an internal module and calls the server over plain HTTP.

class InferenceUpstreamError extends Error {
  override name = "InferenceUpstreamError";
}
class AiGatewayInternalError extends Error {
  override name = "AiGatewayInternalError";
}
class AiGatewayLogNotFound extends Error {
  override name = "AiGatewayLogNotFound";
}

/** Methods that need products of the hosted service that this server does not have. */
const UNSUPPORTED_METHODS = ["toMarkdown", "models", "autorag", "aiSearch"];

type Options = Record<string, unknown>;

class Ai {
  #server: Fetcher;
  /** Id of the log of the last call that used a gateway. */
  aiGatewayLogId: string | null = null;

  constructor(server: Fetcher) {
    this.#server = server;
  }

  async run(model: unknown, inputs: unknown, options: Options = {}): Promise<unknown> {
    if (typeof model !== "string" || model === "") throw new Error("The first argument of run() must be a model name");
    for (const option of ["websocket", "queueRequest"])
      if (options[option]) throw new Error(`The option ${option} of run() is not supported by this server`);
    const response = await this.#server.fetch("http://ai/", {
      method: "POST",
      body: JSON.stringify({ model, inputs, ...gatewayOf(options["gateway"], options["extraHeaders"]) }),
      ...signalOf(options),
    });
    this.aiGatewayLogId = response.headers.get("cf-aig-log-id");
    if (options["returnRawResponse"]) return response;
    if (!response.ok) throw new InferenceUpstreamError(await errorText(response));
    return response.headers.get("content-type") === "text/event-stream" ? response.body : response.json();
  }

  gateway(id: unknown): AiGateway {
    if (typeof id !== "string" || id === "") throw new Error("The argument of gateway() must be the id of a gateway");
    return new AiGateway(this.#server, id, (logId) => (this.aiGatewayLogId = logId));
  }
}

class AiGateway {
  #server: Fetcher;
  #id: string;
  #setLogId: (logId: string | null) => void;

  constructor(server: Fetcher, id: string, setLogId: (logId: string | null) => void) {
    this.#server = server;
    this.#id = id;
    this.#setLogId = setLogId;
  }

  /** Sends one request, or a list of a request and its fallbacks. */
  async run(data: unknown, options: Options = {}): Promise<Response> {
    const { headers = {} } = gatewayOf({ ...(options["gateway"] as Options), id: this.#id }, options["extraHeaders"]);
    const response = await this.#call("run", { data, headers }, options);
    this.#setLogId(response.headers.get("cf-aig-log-id"));
    return response;
  }

  async getLog(log: unknown): Promise<unknown> {
    const entry = (await this.#result("getLog", { log: String(log) })) as { created_at: string };
    return { ...entry, created_at: new Date(entry.created_at) };
  }

  async patchLog(log: unknown, change: unknown): Promise<void> {
    await this.#result("patchLog", { log: String(log), change: change ?? {} });
  }

  async getUrl(provider?: unknown): Promise<string> {
    const { url } = (await this.#result("getUrl", provider === undefined ? {} : { provider: String(provider) })) as {
      url: string;
    };
    return url;
  }

  #call(method: string, body: object, options: Options = {}): Promise<Response> {
    return this.#server.fetch(`http://ai/gateway/${method}`, {
      method: "POST",
      body: toJson({ id: this.#id, ...body }),
      ...signalOf(options),
    });
  }

  async #result(method: string, body: object): Promise<unknown> {
    const response = await this.#call(method, body);
    if (response.ok) return response.json();
    const text = await errorText(response);
    throw response.status === 404 ? new AiGatewayLogNotFound(text) : new AiGatewayInternalError(text);
  }
}

const signalOf = ({ signal }: Options) => (signal instanceof AbortSignal ? { signal } : {});

/** Metadata may contain bigints. */
const toJson = (value: unknown) =>
  JSON.stringify(value, (_key, field: unknown) => (typeof field === "bigint" ? String(field) : field));

async function errorText(response: Response): Promise<string> {
  const { error, code } = (await response.json()) as { error?: string; code?: string | number };
  return `${code === undefined ? "" : `${code}: `}${error ?? "internal error"}`;
}

/** Escapes the characters that a header cannot contain. In JSON, the escapes stand for these characters. */
const headerValue = (value: unknown) =>
  (typeof value === "string" ? value : toJson(value)).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Headers of the gateway options that are sent as headers. */
const OPTION_HEADERS: Record<string, string> = {
  skipCache: "cf-aig-skip-cache",
  cacheTtl: "cf-aig-cache-ttl",
  cacheKey: "cf-aig-cache-key",
  collectLog: "cf-aig-collect-log",
  metadata: "cf-aig-metadata",
  eventId: "cf-aig-event-id",
  requestTimeoutMs: "cf-aig-request-timeout",
};

/** Returns the gateway of a call and its options as headers. Empty without a gateway. */
function gatewayOf(gateway: unknown, extraHeaders: unknown): { gateway?: string; headers?: Record<string, string> } {
  if (gateway === undefined || gateway === null) return {};
  const { id, ...options } = gateway as Options;
  if (typeof id !== "string" || id === "") throw new Error("The option gateway must have the id of a gateway");
  if (options["retries"]) throw new Error("The option retries of a gateway is not supported by this server");
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries((extraHeaders ?? {}) as Options))
    headers[name.toLowerCase()] = headerValue(value);
  for (const [option, header] of Object.entries(OPTION_HEADERS)) {
    const value = options[option];
    if (value !== undefined && value !== null) headers[header] = headerValue(value);
  }
  return { gateway: id, headers };
}

for (const name of UNSUPPORTED_METHODS)
  Object.defineProperty(Ai.prototype, name, {
    value() {
      throw new Error(`env.AI.${name}() is not supported by this server`);
    },
  });

export default (env: { server: Fetcher }) => new Ai(env.server);
