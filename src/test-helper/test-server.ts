import { buffer } from "node:stream/consumers";
import type {
  BuiltEmail,
  CronRun,
  Duration,
  EmailResult,
  FaultOptions,
  Message,
  RawEmail,
  ServerEvent,
  TestServer,
  TestWorker,
} from "./api.ts";
import { createEventLog } from "./event-log.ts";
import { fetchWithHost } from "./fetch-with-host.ts";
import type { HostProcess } from "./host-process.ts";
import { TestServerError } from "./test-server-error.ts";
import type { StartParams, StartResult } from "./wire.ts";

/** Tests may replace these with fake ones. */
const { setTimeout, clearTimeout } = globalThis;
const systemNow = Date.now;

const DEFAULT_TIMEOUT_MS = 5000;

/** Starts a server in the host process. */
export async function openTestServer(
  host: HostProcess,
  params: StartParams,
  startTimeoutMs: number,
): Promise<TestServer> {
  const log = createEventLog();
  const { call, release } = host.open(log.add);
  let started: StartResult;
  try {
    started = await within(
      call<StartResult>("start", params),
      startTimeoutMs,
      () =>
        new TestServerError(
          `The test server did not start within ${startTimeoutMs} ms.`,
          "Increase `startTimeout`, or run fewer test files concurrently.",
        ),
    );
  } catch (err) {
    release();
    // If the server starts too late, it is closed as soon as it has started.
    void call("close").catch(() => {});
    throw err;
  }
  let closing: Promise<void> | undefined;
  let clockOffset = 0;

  const server: TestServer = {
    get url() {
      return started.url;
    },
    get smtp() {
      return started.smtp;
    },
    get api() {
      return started.api;
    },
    get dataDir() {
      return started.dataDir;
    },
    worker: (name = started.workers[0]!) => worker(name),
    fetch: (url, init) => request("", url, init),
    inbox: {
      async waitFor(filter = {}, { timeout = DEFAULT_TIMEOUT_MS } = {}) {
        const message = await call<Message & { attachments: { content: unknown }[] }>("waitForMessage", {
          filter,
          timeout,
        });
        return {
          ...message,
          attachments: message.attachments.map((attachment) => ({
            ...attachment,
            content: bytesOf(attachment.content as unknown as string),
          })),
        };
      },
      list: (filter = {}) => call("listInbox", filter),
      clear: (filter = {}) => call("clearInbox", filter),
    },
    stream: {
      upload: (file, { name, wait = true, timeout = 60_000 } = {}) =>
        call("upload", { file: typeof file === "string" ? file : { base64: base64Of(file) }, name, wait, timeout }),
      get: (uid) => call("video", { uid }),
    },
    clock: {
      now: () => systemNow() + clockOffset,
      async advance(duration) {
        const ms = millisecondsOf(duration);
        const { offset, runs } = await call<{
          offset: number;
          runs: (Omit<CronRun, "scheduledTime"> & { scheduledTime: number })[];
        }>("advance", { ms });
        clockOffset = offset;
        return { runs: runs.map((run) => ({ ...run, scheduledTime: new Date(run.scheduledTime) })) };
      },
    },
    upstream: {
      fail: (reply, options) => addFault({ kind: "reply", reply }, options),
      slow: (ms, options) => addFault({ kind: "delay", ms }, options),
      drop: (options) => addFault({ kind: "drop" }, options),
      hang: ({ milliseconds = 10_000, ...options } = {}) => addFault({ kind: "timeout", ms: milliseconds }, options),
      recover: () => call("clearFaults"),
    },
    disk: {
      fill: () => call("setDiskFull", { isFull: true }),
      free: () => call("setDiskFull", { isFull: false }),
    },
    events: log.events,
    async waitForEvent(properties, { after = 0, timeout = DEFAULT_TIMEOUT_MS } = {}) {
      const wait = log.first((event) => matches(event, properties), after);
      try {
        return await within(
          wait.found,
          timeout,
          () =>
            new TestServerError(
              `No event matched ${JSON.stringify(properties)} within ${timeout} ms; the server reported ${log.describe()}.`,
              "Trigger the event before you wait, or wait longer with `timeout`.",
            ),
        );
      } finally {
        wait.cancel();
      }
    },
    getLogs: log.lines,
    clearLogs: log.clearLines,
    async reset() {
      log.clear();
      started = await call<StartResult>("reset");
      clockOffset = 0;
    },
    close() {
      closing ??= call<void>("close").finally(release);
      return closing;
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
  return server;

  function worker(name: string): TestWorker {
    if (!started.workers.includes(name))
      throw new TestServerError(
        `The test server has no worker ${JSON.stringify(name)}.`,
        `Use one of its workers (${started.workers.join(", ")}), or add the configuration to \`config\`.`,
      );
    return {
      name,
      async email(message) {
        return call<EmailResult>("email", { worker: name, ...(await emailParams(message)) });
      },
      fetch: (url, init) => request(name === started.workers[0] ? "" : `/cdn-cgi/worker/${name}`, url, init),
      scheduled: ({ cron, scheduledTime } = {}) =>
        call("scheduled", { worker: name, cron, time: scheduledTime?.getTime() }),
    };
  }

  async function request(prefix: string, url: string | URL, init?: RequestInit): Promise<Response> {
    const base = new URL(started.url);
    const target = new URL(url, base);
    if (target.host !== base.host) return fetchWithHost(base, prefix, new Request(target, init));
    return fetch(`${base.origin}${prefix}${target.pathname}${target.search}`, init);
  }

  function addFault(fault: Record<string, unknown>, options: FaultOptions = {}): Promise<void> {
    return call("addFault", { ...fault, ...options });
  }
}

async function emailParams(message: RawEmail | BuiltEmail) {
  const { from, to } = message;
  if (typeof from !== "string" || typeof to !== "string")
    throw new TestServerError(
      "worker.email() needs a sender and a recipient.",
      'Pass `from` and `to`, each one address: { from: "ada@example.com", to: "me@example.org", text: "Hello" }.',
    );
  if (!("raw" in message)) return { from, to, built: builtOf(message) };
  const { raw } = message;
  if (typeof raw === "string") return { from, to, raw: base64Of(Buffer.from(raw.replace(/\r?\n/g, "\r\n"))) };
  if (ArrayBuffer.isView(raw)) return { from, to, raw: base64Of(raw) };
  return { from, to, raw: base64Of(await buffer(raw as unknown as AsyncIterable<Uint8Array>)) };
}

/** On the channel, binary attachments are JSON objects with base64. */
const builtOf = ({ attachments, ...message }: BuiltEmail) => ({
  ...message,
  ...(attachments !== undefined && {
    attachments: attachments.map(({ content, disposition = "attachment", ...attachment }) => ({
      ...attachment,
      disposition,
      content: typeof content === "string" ? content : { base64: base64Of(content) },
    })),
  }),
});

const base64Of = (bytes: ArrayBufferView): string =>
  Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength).toString("base64");

/** Not a Buffer: jest compares the types of typed arrays. */
const bytesOf = (base64: string): Uint8Array => Uint8Array.from(Buffer.from(base64, "base64"));

function millisecondsOf(duration: number | Duration): number {
  if (typeof duration === "number") return duration;
  const { days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 } = duration;
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;
}

const matches = (event: ServerEvent, properties: Partial<ServerEvent>) =>
  Object.entries(properties).every(([name, value]) => event[name] === value);

async function within<Result>(promise: Promise<Result>, ms: number, error: () => Error): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(error()), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
