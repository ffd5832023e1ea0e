import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { WebSocketServer, type WebSocket as Socket } from "ws";
import { createApiClient } from "../api/client.ts";
import { ACCOUNT, startFakeApi, type FakeApi } from "../cli.testing.ts";
import { eventOfTrace } from "./events.ts";
import { filtersOf } from "./filters.ts";
import { jsonPrinter, prettyPrinter } from "./printer.ts";
import { readTail, type TailOptions } from "./session.ts";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { createOutput } from "../output.ts";

const SCRIPT = `/accounts/${ACCOUNT}/workers/scripts/letters`;

/** Starts a server for tails: each POST creates one; `onSocket` acts as the server. */
async function startTails(
  t: TestContext,
  onSocket: (socket: Socket, number: number) => void,
): Promise<FakeApi & { opened: string[]; deleted(): string[] }> {
  let made = 0;
  const opened: string[] = [];
  const remove = Object.fromEntries(
    Array.from({ length: 12 }, (_, i) => [`DELETE ${SCRIPT}/tails/t${i + 1}`, { result: null }]),
  );
  const api = await startFakeApi(t, {
    [`POST ${SCRIPT}/tails`]: (_, url) => {
      made += 1;
      return {
        result: {
          id: `t${made}`,
          url: `${url.replace(/^http/, "ws").replace("/client/v4", "")}/tail/t${made}`,
          expires_at: "2030-01-01T00:00:00Z",
        },
      };
    },
    ...remove,
  });
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (protocols) => (protocols.has("trace-v1") ? "trace-v1" : false),
  });
  api.server.on("upgrade", (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (opening) => {
      opened.push(request.url!);
      onSocket(opening, opened.length);
    }),
  );
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate();
    sockets.close();
  });
  return { ...api, opened, deleted: () => api.calls().filter((call) => call.startsWith("DELETE")) };
}

function start(fake: FakeApi, options: Partial<TailOptions> = {}) {
  const log: string[] = [];
  const stop = new AbortController();
  const done = readTail({
    api: createApiClient({ url: fake.url, token: "t", version: "1", pause: async () => {} }),
    script: SCRIPT,
    filters: [],
    signal: stop.signal,
    onOpen: () => log.push("open"),
    onFrame: (frame) => log.push(frame),
    onLost: (reason, seconds) => log.push(`lost: ${reason}, ${seconds}`),
    pause: async () => {},
    ...options,
  });
  return { done, log, stop };
}

test("a tail sends a greeting, passes frames on, and is deleted when the client disconnects", async (t) => {
  const { promise: greeted, resolve: greet } = Promise.withResolvers<string>();
  const fake = await startTails(t, (socket) =>
    socket.on("message", (hello: Buffer) => {
      greet(hello.toString());
      socket.send('{"a":1}');
    }),
  );
  const { done, log, stop } = start(fake, {
    filters: [{ query: "x" }],
    onFrame: (frame) => {
      log.push(frame);
      stop.abort();
    },
  });
  await done;
  assert.deepEqual([await greeted, log], ['{"debug":false}', ["open", '{"a":1}']]);
  assert.deepEqual(
    [fake.bodies(`POST ${SCRIPT}/tails`), fake.deleted()],
    [[{ filters: [{ query: "x" }] }], [`DELETE ${SCRIPT}/tails/t1`]],
  );
});

test("a clean close ends the tail, and a lost connection is replaced by a new tail", async (t) => {
  const fake = await startTails(t, (socket, number) => {
    socket.send(`{"n":${number}}`);
    if (number < 3) socket.close(1011, "the server restarts");
    else socket.close(1000);
  });
  const { done, log } = start(fake);
  await done;
  assert.deepEqual(log, [
    "open",
    '{"n":1}',
    "lost: the server restarts, 1",
    "open",
    '{"n":2}',
    "lost: the server restarts, 1",
    "open",
    '{"n":3}',
  ]);
  assert.deepEqual([fake.opened, fake.deleted().length], [["/tail/t1", "/tail/t2", "/tail/t3"], 3]);
});

test("retries five times with increasing delays, then stops", async (t) => {
  const fake = await startTails(t, (socket) => socket.terminate());
  const waits: number[] = [];
  const { done } = start(fake, { onLost: (_, seconds) => waits.push(seconds) });
  await assert.rejects(done, { code: "E_TAIL_LOST" });
  assert.deepEqual([waits, fake.opened.length], [[1, 2, 4, 8, 16], 6]);
});

test("does not retry an error of the first attempt, and Ctrl-C ends a wait", async (t) => {
  const refusing = await startFakeApi(t, {
    [`POST ${SCRIPT}/tails`]: { status: 404, errors: [{ code: 10007, message: "no such worker" }] },
  });
  await assert.rejects(start(refusing).done, { code: 10007 });
  const fake = await startTails(t, (socket) => socket.terminate());
  const stop = new AbortController();
  const { done } = start(fake, {
    signal: stop.signal,
    onLost: () => stop.abort(),
    pause: (_, signal) =>
      new Promise((_resolve, reject) =>
        signal.aborted ? reject(signal.reason) : signal.addEventListener("abort", () => reject(signal.reason)),
      ),
  });
  await done;
  assert.equal(fake.opened.length, 1);
});

test("converts options to filters of the API", () => {
  const none = {
    status: [],
    method: [],
    header: [],
    "sampling-rate": undefined,
    search: undefined,
    "version-id": undefined,
  };
  assert.deepEqual(filtersOf(none), []);
  assert.deepEqual(filtersOf({ ...none, status: ["error"] }), [
    { outcome: ["exception", "exceededCpu", "exceededMemory", "unknown"] },
  ]);
  assert.deepEqual(
    filtersOf({
      status: ["ok", "canceled"],
      method: ["get"],
      header: ["X-A", "x-b: one:two"],
      "sampling-rate": "0.5",
      search: "s",
      "version-id": "v",
    }),
    [
      { sampling_rate: 0.5 },
      { outcome: ["ok", "canceled"] },
      { method: ["GET"] },
      { header: { key: "X-A" } },
      { header: { key: "x-b", query: "one:two" } },
      { query: "s" },
      { scriptVersion: "v" },
    ],
  );
  for (const rate of ["0", "1.1", "x", "NaN"])
    assert.throws(() => filtersOf({ ...none, "sampling-rate": rate }), { code: "E_BAD_CONTENT" });
});

const at = Date.UTC(2026, 10, 20, 12);
const RECORDS = [
  {
    outcome: "ok",
    scriptName: "letters",
    eventTimestamp: at,
    wallTime: 12,
    event: { mailFrom: "ada@example.com", rcptTo: "bob@example.org", rawSize: 2048 },
    logs: [{ message: ["hello", { n: 1 }], level: "log", timestamp: at }],
    exceptions: [],
  },
  {
    outcome: "exception",
    eventTimestamp: at,
    wallTime: 3,
    event: { request: { url: "http://x/boom?a=1", method: "GET" }, response: { status: 500 } },
    logs: [],
    exceptions: [{ name: "TypeError", message: "no\u001B[2J", stack: "    at fetch (index.ts:3:1)", timestamp: at }],
  },
  {
    outcome: "unknown",
    eventTimestamp: at,
    wallTime: 5,
    event: { cron: "* * * * *", scheduledTime: at },
    logs: [],
    exceptions: [],
  },
  { eventTimestamp: at, event: { type: "overload", message: "3 records were left out here" } },
  { outcome: "ok", eventTimestamp: at, event: null, entrypoint: "Other", wallTime: 1 },
  { outcome: "ok", eventTimestamp: at, event: { queue: "jobs", batchSize: 2 }, wallTime: 7 },
  { outcome: "ok", eventTimestamp: at, event: { consumedEvents: [{ scriptName: "a" }, {}, null] }, wallTime: 8 },
  { outcome: "ok", eventTimestamp: at, event: { rpcMethod: "sum" }, entrypoint: "Admin", wallTime: 9 },
];

async function printed(
  make: (out: { stdout: ReturnType<typeof createOutput>; env: Record<string, string> }) => {
    print(frame: string): void;
    flushed(): Promise<void>;
  },
  frames: string[],
): Promise<string> {
  const stream = new PassThrough();
  const printer = make({ stdout: createOutput(stream as unknown as NodeJS.WriteStream, {}, true), env: {} });
  for (const frame of frames) printer.print(frame);
  await printer.flushed();
  stream.end();
  return text(stream);
}

test("prints records with their time in the format of the dev console, and other frames unchanged", async () => {
  const shown = await printed(
    (out) => prettyPrinter(out, "letters"),
    [...RECORDS.map((record) => JSON.stringify(record)), "not JSON\u001B[2J", '{"other":1}'],
  );
  const time = new Date(at).toTimeString().slice(0, 8);
  assert.equal(
    shown,
    `${time} email  ada@example.com -> bob@example.org  2.0 KB  12ms
  log    hello { n: 1 }
  ok
${time} GET /boom?a=1 500 3ms
  TypeError: no
      at fetch (index.ts:3:1)
${time} scheduled "* * * * *" @ 2026-11-20T12:00:00.000Z 5ms
  exception
${time} warning  3 records were left out here
${time} Other 1ms
${time} queue jobs 2 messages 7ms
  ok
${time} tail a, ? 2 invocations 8ms
  ok
${time} sum 9ms
not JSON\\x1b[2J
{"other":1}
`,
  );
});

test("prints JSON records as the server sent them, indented on a terminal and on one line otherwise", async () => {
  const [record] = RECORDS;
  assert.equal(
    await printed((out) => jsonPrinter(out, { lines: false }), [JSON.stringify(record)]),
    `${JSON.stringify(record, undefined, 2)}\n`,
  );
  assert.equal(
    await printed((out) => jsonPrinter(out, { lines: true }), [JSON.stringify(record), "x"]),
    `${JSON.stringify(record)}\n{"message":"x"}\n`,
  );
});

test("no frame from the network makes the printer throw", () => {
  for (const event of [
    null,
    {},
    { request: null },
    { request: { url: 5 } },
    { mailFrom: null, rawSize: "big" },
    { cron: 1 },
    { queue: 1, batchSize: "x" },
    { consumedEvents: 5 },
    { rpcMethod: {} },
  ]) {
    for (const rest of [
      {},
      { logs: [null, {}, { message: 1 }], exceptions: [null, {}], outcome: 5, eventTimestamp: "now", wallTime: null },
    ])
      assert.ok(eventOfTrace({ event, ...rest }, "w"));
  }
  for (const frame of [null, 1, "x", [], {}]) assert.equal(eventOfTrace(frame, "w"), undefined);
});
