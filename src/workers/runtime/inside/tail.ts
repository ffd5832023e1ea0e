// Sits behind every worker as its tail: posts what an invocation left behind, once its waitUntil() work has ended too.
export default {
  async tail(items: TraceItem[], env: { server: Fetcher }): Promise<void> {
    await env.server.fetch("http://tail/", { method: "POST", body: JSON.stringify(items) });
  },
};
