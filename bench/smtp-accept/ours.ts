import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { BenchContext } from "../harness/bench.ts";
import { startServerProcess, type ServerProcess } from "../harness/server-process.ts";

const main = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

export interface ReelpostMailServer extends ServerProcess {
  smtpPort: number;
  /** Returns the result of an API call that must succeed. `path` is relative to /client/v4. */
  // oxlint-disable-next-line no-explicit-any
  call(method: string, path: string, body?: unknown): Promise<any>;
  account: string;
  /** Base URL of the API. */
  api: string;
  token: string;
}

/** `reelpost serve` on SQLite in one process; outgoing mail goes to the sink. */
export async function startReelpostMailServer(
  kit: BenchContext,
  { sinkPort, env = {} }: { sinkPort: number; env?: Record<string, string> },
): Promise<ReelpostMailServer> {
  const cwd = join(kit.dir, "reelpost");
  await mkdir(cwd);
  let ready: { url: string; api: string; token: string; account: { id: string }; smtp: { port: number } } | undefined;
  const server = await startServerProcess({
    name: "reelpost serve",
    cwd,
    args: [main, "serve", "--json", "--data-dir", cwd, "--port", "0", "--smtp-port", "0", "--log-level", "warn"],
    env: {
      REELPOST_OUTBOUND_DELIVER: "smart_host",
      REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${sinkPort}`,
      ...env,
    },
    ready(line) {
      const event = JSON.parse(line) as { event?: string } & NonNullable<typeof ready>;
      if (event.event !== "ready") return undefined;
      ready = event;
      return event.url;
    },
  });
  kit.onStop(server.stop);
  const { api, token, account, smtp } = ready!;
  return { ...server, smtpPort: smtp.port, account: account.id, api, token, call: createCall(api, token) };
}

/** Returns a function that calls the v4 API. */
export function createCall(api: string, token: string): ReelpostMailServer["call"] {
  return async (method, path, body) => {
    const response = await fetch(`${api}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as { success: boolean; result: unknown };
    if (!answer.success)
      throw new Error(`${method} ${path} returned ${response.status}: ${JSON.stringify(answer).slice(0, 500)}`);
    return answer.result;
  };
}

/** Forwards all mail for the domain to one address. */
export async function routeAll(
  { call, account }: Pick<ReelpostMailServer, "call" | "account">,
  domain: string,
  to: string,
): Promise<{ zone: string }> {
  const { id: zone } = await call("POST", "/zones", { name: domain, account: { id: account } });
  await call("POST", `/zones/${zone}/email/routing/enable`, {});
  const address = await call("POST", `/accounts/${account}/email/routing/addresses`, { email: to });
  await call("PATCH", `/accounts/${account}/email/routing/addresses/${address.id}`, { status: "verified" });
  await call("PUT", `/zones/${zone}/email/routing/rules/catch_all`, {
    enabled: true,
    matchers: [{ type: "all" }],
    actions: [{ type: "forward", value: [to] }],
  });
  return { zone };
}
