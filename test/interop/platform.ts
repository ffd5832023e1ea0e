import { request } from "node:http";
import { text } from "node:stream/consumers";
import { createTransport } from "nodemailer";
import { spawnServe, type ServeProcess } from "../support/serve.ts";
import { createWrangler, credentialsOf, type Wrangler } from "../support/wrangler.ts";

export interface Scope {
  after(stop: () => Promise<void>): void;
}

/** Resources started by one file's tests; closes them in reverse order. */
export function createScope(): Scope & { close(): Promise<void> } {
  const stops: (() => Promise<void>)[] = [];
  return {
    after: (stop) => void stops.unshift(stop),
    async close() {
      for (const stop of stops.splice(0)) await stop();
    },
  };
}

interface Heard {
  status: number;
  text: string;
}

/** A separate server with an empty data directory, and its public details. */
export interface Platform {
  server: ServeProcess;
  /** `http://127.0.0.1:<port>` */
  url: string;
  api: string;
  token: string;
  account: string;
  /** The account's label under the workers domain: workers are at `<name>.<label>.localhost`. */
  label: string;
  wrangler(files?: Record<string, string>): Promise<Wrangler>;
  /** Sends one API request, for results that clients do not show. Rejects if it fails. */
  ask<Result>(path: string, init?: RequestInit): Promise<Result>;
  /** Requests a worker of the account by path. */
  visit(worker: string, path?: string, init?: RequestInit): Promise<Heard>;
  /** Requests a worker by hostname, without a resolver. */
  visitHost(worker: string, path?: string): Promise<Heard>;
  /** Sends one real SMTP message. Rejects like nodemailer if the server rejects it. */
  mail(message: { from: string; to: string; subject?: string; body?: string }): Promise<string>;
}

export async function startPlatform(
  scope: Scope,
  env: Record<string, string> = {},
  args: string[] = [],
): Promise<Platform> {
  const server = await spawnServe(scope, { env, args });
  const { url, smtp } = server.ready;
  // In a test, the public URL does not resolve to this server.
  const credentials = { ...credentialsOf(server.ready), api: `${url}/client/v4` };
  const { api, token, account } = credentials;

  async function ask<Result>(path: string, init: RequestInit = {}): Promise<Result> {
    const response = await fetch(`${api}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) },
    });
    const envelope = (await response.json()) as { success: boolean; result: Result };
    if (!envelope.success)
      throw new Error(`${init.method ?? "GET"} ${path}: ${response.status} ${JSON.stringify(envelope)}`);
    return envelope.result;
  }
  const { subdomain: label } = await ask<{ subdomain: string }>(`/accounts/${account}/workers/subdomain`);

  return {
    server,
    url,
    api,
    token,
    account,
    label,
    ask,
    wrangler: (files) => createWrangler(scope, credentials, files),
    async visit(worker, path = "/", init) {
      const response = await fetch(`${url}/workers/${worker}${path}`, init);
      return { status: response.status, text: await response.text() };
    },
    visitHost: (worker, path = "/") =>
      new Promise((resolve, reject) => {
        const sent = request(
          `${url}${path}`,
          { headers: { host: `${worker}.${label}.localhost` }, agent: false },
          (response) => {
            text(response).then((body) => resolve({ status: response.statusCode ?? 0, text: body }), reject);
          },
        );
        sent.on("error", reject).end();
      }),
    async mail({ from, to, subject = "hello", body = "text" }) {
      const transport = createTransport({ ...smtp!, secure: false, ignoreTLS: true, connectionTimeout: 10_000 });
      try {
        const { response } = (await transport.sendMail({
          envelope: { from, to: [to] },
          from,
          to,
          subject,
          text: body,
        })) as { response: string };
        return response;
      } finally {
        transport.close();
      }
    },
  };
}
