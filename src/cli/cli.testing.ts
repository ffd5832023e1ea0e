import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { systemClock } from "../kernel/index.ts";
import { commandsFor, NOUNS } from "./registry.ts";
import { runCommandLine } from "./run.ts";

export interface Scope {
  after(end: () => Promise<void>): void;
}

export const ACCOUNT = "a".repeat(32);
export const TOKEN = "a-token";

/** Creates a folder with these files; it is removed at the end of the test. */
export async function folderWith(t: Scope, files: Record<string, string> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-cli-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

export interface SeenRequest {
  method: string;
  /** Relative to /client/v4, with the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Response of a fake route: a result for the envelope, or a complete response. */
export type Reply =
  | { result: unknown; result_info?: object }
  | { status: number; errors: object[] }
  | { status?: number; headers?: Record<string, string>; raw: string | Uint8Array };

export interface FakeApi {
  url: string;
  server: Server;
  /** In the order received. */
  seen: SeenRequest[];
  /** `METHOD /path` of the received requests, without queries. */
  calls(): string[];
  bodies(call: string): unknown[];
}

/** Starts a fake server: `routes` by `METHOD /path` without the query. Other requests get 404 with code 7000. */
export async function startFakeApi(
  t: Scope,
  routes: Record<string, Reply | ((seen: SeenRequest, url: string) => Reply)>,
): Promise<FakeApi> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const path = request.url!.replace(/^\/client\/v4/, "");
      const one: SeenRequest = { method: request.method!, path, headers: request.headers, body };
      seen.push(one);
      const route = routes[`${one.method} ${path.split("?")[0]}`] ?? {
        status: 404,
        errors: [{ code: 7000, message: "No route for that URI" }],
      };
      const reply = typeof route === "function" ? route(one, url) : route;
      if ("raw" in reply) return response.writeHead(reply.status ?? 200, reply.headers).end(reply.raw);
      const failed = "errors" in reply;
      response
        .writeHead(failed ? reply.status : 200, { "content-type": "application/json" })
        .end(
          JSON.stringify(
            failed
              ? { success: false, errors: reply.errors, messages: [], result: null }
              : { success: true, errors: [], messages: [], ...reply },
          ),
        );
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`;
  const callOf = ({ method, path }: SeenRequest) => `${method} ${path.split("?")[0]}`;
  return {
    url,
    server,
    seen,
    calls: () => seen.map(callOf),
    bodies: (call) =>
      seen.filter((one) => callOf(one) === call).map(({ body }) => JSON.parse(body.toString()) as unknown),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

interface RunSettings {
  cwd: string;
  /** Sets API_BASE_URL, API_TOKEN and ACCOUNT_ID. */
  api?: Pick<FakeApi, "url">;
  env?: Record<string, string>;
  stdin?: string | Uint8Array;
  /** Input to type after each question; if set, the command runs on a terminal. */
  typed?: string[];
}

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
  /** Output of `--json`; any, because tests access arbitrary fields. */
  // oxlint-disable-next-line no-explicit-any
  json: any;
}

/** Runs one command line in this process, in the same way as `main.ts`. */
export async function runCli(
  args: string[],
  { cwd, api, env = {}, stdin = "", typed }: RunSettings,
): Promise<CliResult> {
  const [out, err] = [sink(typed !== undefined), sink(typed !== undefined)];
  const input = Object.assign(new PassThrough(), { isTTY: typed !== undefined, setRawMode: () => input });
  if (typed === undefined) input.end(stdin);
  else answer(typed, err, input);
  const code = await runCommandLine({
    argv: args,
    nouns: NOUNS,
    commandsFor,
    version: "0.0.0",
    cwd,
    env: {
      HOME: cwd,
      NO_COLOR: "1",
      ...(api !== undefined && { API_BASE_URL: api.url, API_TOKEN: TOKEN, ACCOUNT_ID: ACCOUNT }),
      ...env,
    },
    clock: systemClock,
    stdin: input as unknown as NodeJS.ReadStream,
    stdout: out.stream,
    stderr: err.stream,
  });
  const stdout = out.text();
  return {
    code,
    stdout,
    stderr: err.text(),
    json: args.includes("--json") ? (JSON.parse(stdout) as unknown) : undefined,
  };
}

function sink(isTTY: boolean) {
  const chunks: Buffer[] = [];
  const listeners: (() => void)[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(Buffer.from(chunk));
      for (const listener of listeners) listener();
      done();
    },
  });
  return {
    stream: Object.assign(stream, { isTTY, columns: 80 }) as unknown as NodeJS.WriteStream,
    text: () => Buffer.concat(chunks).toString(),
    onWrite: (listener: () => void) => void listeners.push(listener),
  };
}

// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001B\[[0-9;]*[A-Za-z]/g;

/** Types the next line whenever the output ends with a prompt. */
function answer(lines: string[], output: ReturnType<typeof sink>, input: PassThrough) {
  const left = [...lines];
  let seen = 0;
  output.onWrite(() => {
    const text = output.text();
    if (left.length === 0 || !/[\]:?] $/.test(text.slice(seen).replaceAll(ESCAPES, ""))) return;
    seen = text.length;
    const line = left.shift()!;
    setImmediate(() => input.write(line));
  });
}
