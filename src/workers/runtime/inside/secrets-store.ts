// A `secrets_store_secret` binding: runs in the worker's isolate as an internal module and calls the server over plain
// HTTP. Each call reads the current value.

class SecretsStoreSecret {
  #server: Fetcher;

  constructor(server: Fetcher) {
    this.#server = server;
  }

  async get(): Promise<string> {
    const response = await this.#server.fetch("http://secrets-store/", { method: "POST", body: "{}" });
    const { value, error } = (await response.json()) as { value: string; error?: string };
    if (!response.ok) throw new Error(error ?? "internal error");
    return value;
  }
}

export default (env: { server: Fetcher }) => new SecretsStoreSecret(env.server);
