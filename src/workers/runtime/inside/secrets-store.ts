// A `secrets_store_secret` binding: runs in the worker's isolate as an internal module and calls the server by plain
// HTTP. The worker reads the current value at each call.

class SecretsStoreSecret {
  #server: Fetcher;

  constructor(server: Fetcher) {
    this.#server = server;
  }

  async get(): Promise<string> {
    const response = await this.#server.fetch("http://secrets-store/", { method: "POST", body: "{}" });
    const answer = (await response.json()) as { value: string; error?: string };
    if (!response.ok) throw new Error(answer.error ?? "internal error");
    return answer.value;
  }
}

export default (env: { server: Fetcher }) => new SecretsStoreSecret(env.server);
