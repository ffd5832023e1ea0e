import { request as httpRequest, type Agent, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { createTransport } from "nodemailer";
import { silentLog } from "../../src/kernel/index.ts";
import { startServe, type ServeOptions, type PlatformServer } from "../../src/server/index.ts";
import { temporaryFolder } from "../support/serve.ts";
import { FREE_PORTS } from "../support/free-ports.ts";

export interface Scope {
  after(stop: () => Promise<void>): void;
}

/** A server as clients see it, in this process or in a separate one. */
export interface Target {
  url: string;
  api?: string | undefined;
  account?: { id: string } | undefined;
  smtp?: { host: string; port: number } | undefined;
}

interface Answer {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line no-explicit-any
  body: any;
}

interface CallOptions {
  body?: unknown;
  headers?: Record<string, string>;
  token?: string;
}

export interface Api {
  readonly account: string;
  /**
   * `path` is under /client/v4, or under the account if it does not begin with a slash. Forms, strings and bytes are
   * sent unchanged, everything else as JSON.
   */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Resolves with the result of a call that is expected to succeed. */
  ok(method: string, path: string, options?: CallOptions): Promise<Answer["body"]>;
  /** Status and code of a call that is expected to fail. */
  refused(method: string, path: string, options?: CallOptions): Promise<[status: number, code: number]>;
  /** Uploads and deploys a worker, and enables its subdomain. */
  deploy(name: string, source: string, metadata?: Record<string, unknown>): Promise<Answer["body"]>;
}

/** Creates a client of the raw API, as used by a program that only has fetch. */
export function createApi(target: Target, token: string): Api {
  const account = target.account!.id;
  const api: Api = {
    account,
    async call(method, path, { body, headers = {}, token: other = token } = {}) {
      const plain =
        body === undefined ||
        body instanceof FormData ||
        typeof body === "string" ||
        body instanceof Uint8Array ||
        body instanceof ReadableStream;
      const response = await fetch(`${target.api}${path.startsWith("/") ? path : `/accounts/${account}/${path}`}`, {
        method: method.toUpperCase(),
        headers: {
          authorization: `Bearer ${other}`,
          ...(!plain && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: (plain ? body : JSON.stringify(body)) as RequestInit["body"] }),
        ...(body instanceof ReadableStream && { duplex: "half" as const }),
      });
      const words = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: response.headers.get("content-type")?.startsWith("application/json") ? JSON.parse(words) : words,
      };
    },
    async ok(method, path, options) {
      const { status, body } = await api.call(method, path, options);
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
      return body.result;
    },
    async refused(method, path, options) {
      const { status, body } = await api.call(method, path, options);
      if (status < 400) throw new Error(`${method} ${path} succeeded: ${JSON.stringify(body)}`);
      return [status, body.errors[0].code];
    },
    async deploy(name, source, metadata) {
      const uploaded = await api.ok("put", `workers/scripts/${name}`, { body: formOf(source, metadata) });
      await api.ok("post", `workers/scripts/${name}/subdomain`, { body: { enabled: true } });
      return uploaded;
    },
  };
  return api;
}

/** Returns the upload form for a worker. */
export function formOf(source: string, metadata: Record<string, unknown> = {}): FormData {
  const form = new FormData();
  form.set(
    "metadata",
    new Blob([JSON.stringify({ main_module: "index.js", compatibility_date: "2026-10-01", ...metadata })], {
      type: "application/json",
    }),
  );
  form.set("index.js", new Blob([source], { type: "application/javascript+module" }), "index.js");
  return form;
}

interface HttpResponse {
  status: number;
  body: string;
  headers: IncomingHttpHeaders;
}

interface AskOptions {
  /** Sent as the Host header; the connection still goes to the server. */
  host?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  agent?: Agent;
}

/**
 * Sends one HTTP request, with any Host header. Errors have `reusedSocket`: true if the server may have closed the idle
 * connection before the request arrived (RFC 9112 9.5).
 */
export function sendHttpRequest(
  { url }: Pick<Target, "url">,
  path: string,
  { host, method = "GET", headers = {}, body, agent }: AskOptions = {},
): Promise<HttpResponse> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: hostname,
        port,
        path,
        method,
        headers: { ...headers, ...(host !== undefined && { host }) },
        ...(agent && { agent }),
      },
      (response) => {
        text(response).then(
          (words) => resolve({ status: response.statusCode!, body: words, headers: response.headers }),
          reject,
        );
      },
    );
    request.on("error", (err) => reject(Object.assign(err, { reusedSocket: request.reusedSocket }))).end(body);
  });
}

/** Sends a message over SMTP and returns "250", or the code and text of the rejection. */
export async function sendMail(
  { smtp }: Pick<Target, "smtp">,
  to: string | string[],
  { subject = "Hello", from = "ada@example.com" } = {},
): Promise<{ code: number; text: string }> {
  const transport = createTransport({ host: smtp!.host, port: smtp!.port, secure: false, ignoreTLS: true });
  try {
    const { response } = await transport.sendMail({ from, to, subject, text: "Hello" });
    return { code: Number(response.slice(0, 3)), text: response };
  } catch (err) {
    const { responseCode, response, message } = err as { responseCode?: number; response?: string; message: string };
    if (responseCode === undefined) throw err;
    return { code: responseCode, text: response ?? message };
  } finally {
    transport.close();
  }
}

/** 40 characters, as an operator would set it. */
export const TOKEN = "t0ken-of-the-tests-0123456789-abcdefghij";

/**
 * Starts a platform in this process, on free ports, with responses checked against the API description; its first token
 * is TOKEN.
 */
export async function servePlatform(
  t: Scope,
  { env = {}, ...options }: Partial<ServeOptions> & { dataDir?: string } = {},
): Promise<PlatformServer> {
  const { dataDir = await temporaryFolder(t), ...rest } = options;
  const server = await startServe({
    cwd: dataDir,
    version: "0.0.0",
    log: silentLog,
    checkResponses: true,
    ...rest,
    env: {
      REELPOST_DATA_DIR: dataDir,
      REELPOST_API_TOKEN: TOKEN,
      REELPOST_API_RATE_LIMIT: "0",
      REELPOST_HTTP_PORT: "0",
      REELPOST_SMTP_PORT: "0",
      REELPOST_DNS_RESOLVERS: "127.0.0.1:9",
      ...FREE_PORTS,
      ...env,
    },
  });
  t.after(() => server.close());
  return server;
}
