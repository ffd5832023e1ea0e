// Implements `ratelimit` bindings. Runs in the worker's isolate as an internal module and calls the server over plain
// HTTP.

class RateLimit {
  #server: Fetcher;

  constructor(server: Fetcher) {
    this.#server = server;
  }

  async limit(options: unknown): Promise<{ success: boolean }> {
    if (typeof options !== "object" || options === null) throw new Error("invalid rate limit options");
    const unknownOptions = Object.keys(options).filter((name) => name !== "key");
    if (unknownOptions.length > 0) throw new Error(`bad rate limit options: [${unknownOptions.join(",")}]`);
    const { key = "" } = options as { key?: unknown };
    if (typeof key !== "string") throw new Error(`invalid key: ${String(key)}`);
    const response = await this.#server.fetch("http://ratelimit/", { method: "POST", body: JSON.stringify({ key }) });
    const answer = (await response.json()) as { success: boolean } & { error?: string };
    if (!response.ok) throw new Error(answer.error ?? "internal error");
    return answer;
  }
}

export default (env: { server: Fetcher }) => new RateLimit(env.server);
