import assert from "node:assert/strict";
import { test } from "node:test";
import { ACCOUNT, folderWith, runCli, startFakeApi, type Reply } from "../cli.testing.ts";
import { followLog } from "./log-follow.ts";
import { parseTimeOption } from "../time-option.ts";
import type { LogEntry, LogDetails } from "./log.ts";

const LOG = `/accounts/${ACCOUNT}/email/activity`;
const QUEUE = `/accounts/${ACCOUNT}/email/queue`;
const ZONE = "b".repeat(32);

const entry = (message: string, rcpt: string, more: Partial<LogEntry> = {}): LogEntry => ({
  id: message.padEnd(22, "0") + rcpt.padEnd(10, "0"),
  kind: "routing",
  session_id: message.padEnd(22, "0").slice(0, 12),
  created: "2026-11-20T12:00:00.123Z",
  modified: "2026-11-20T12:00:01.000Z",
  from: "ada@example.org",
  to: "inbox@example.com",
  subject: "Notes",
  message_id: "<1@example.org>",
  status: "handled",
  action: "worker",
  rule_id: null,
  worker: "inbox",
  spf: "pass",
  dkim: "none",
  dmarc: "pass",
  arc: null,
  error_detail: null,
  is_spam: false,
  size: 1200,
  ip: "192.0.2.1",
  ...more,
});
const detailsOf = (of: LogEntry): LogDetails => ({
  ...of,
  deliveries: [
    {
      message_id: "<c@x>",
      to: "me@example.net",
      status: "delivered",
      modified: "2026-11-20T12:00:02.000Z",
      queue_id: "9".repeat(32),
      host: "mx.example.net [192.0.2.9]:25",
      code: 250,
      enhanced_code: "2.0.0",
      response: "Ok",
    },
  ],
  events: [
    { datetime: "2026-11-20T12:00:00.123Z", step: "received", detail: { ip: "192.0.2.1", tls: true } },
    {
      datetime: "2026-11-20T12:00:01.000Z",
      step: "handled",
      detail: { text: "one\u001B[31m", script: "acc/inbox", rule: { id: "r", name: "" }, to: ["a@x", "b@x"] },
    },
  ],
});

const found = (...entries: LogEntry[]): Reply => ({
  result: entries,
  result_info: { count: entries.length, per_page: 50, next_cursor: null },
});

test("lists the log as a table, with untrusted text escaped on its line", async (t) => {
  const api = await startFakeApi(t, {
    [`GET ${LOG}`]: found(
      entry("a1", "1"),
      entry("a1", "2", {
        status: "delivered",
        action: "forward",
        worker: null,
        to: "hello@example.com",
        spf: null,
        dkim: null,
        dmarc: null,
        subject: null,
      }),
      entry("a2", "1", {
        status: "rejected",
        action: "reject",
        worker: null,
        from: "",
        error_detail: `550 5.1.1 ${"x".repeat(200)}`,
        subject: "\u001B[2J",
        is_spam: true,
      }),
      entry("a3", "1", { kind: "sending", status: "sent", action: null, spf: null, dmarc: null, dkim: null }),
      entry("a4", "1", { status: "unheard-of" }),
    ),
  });
  const cwd = await folderWith(t);
  const { stdout } = await runCli(["email", "log"], { cwd, api });
  assert.deepEqual(
    stdout.split("\n").map((line) => line.replace(/ {2,}/g, "|")),
    [
      "time (UTC)|from|to|result|spf/dkim/dmarc|message|subject",
      "2026-11-20 12:00:00|ada@example.org|inbox@example.com|handled by inbox|pass/none/pass|a10000000000|Notes",
      "2026-11-20 12:00:00|ada@example.org|hello@example.com|forwarded|a10000000000",
      `2026-11-20 12:00:00|<>|inbox@example.com|rejected: 550 5.1.1 ${"x".repeat(69)}… (spam)|pass/none/pass|a20000000000|\\x1b[2J`,
      "2026-11-20 12:00:00|ada@example.org|inbox@example.com|sent|a30000000000|Notes",
      "2026-11-20 12:00:00|ada@example.org|inbox@example.com|unheard-of|pass/none/pass|a40000000000|Notes",
      "",
    ],
  );
  assert.equal((await runCli(["email", "log", "--json"], { cwd, api })).json.length, 5);
});

test("reads the log of a domain from its zone, with filters and limit applied by the server", async (t) => {
  let page = 0;
  const pages: Reply[] = [
    { result: [entry("a1", "1"), entry("a2", "1")], result_info: { cursor: "next" } },
    { result: [], result_info: { cursor: "last" } },
    { result: [entry("a3", "1"), entry("a4", "1")], result_info: { cursor: "more" } },
  ];
  const api = await startFakeApi(t, {
    "GET /zones": ({ path }) => ({
      result: path.includes("name=example.com&") ? [{ id: ZONE, name: "example.com", status: "active" }] : [],
    }),
    [`GET /zones/${ZONE}/email/activity`]: () => pages[page++]!,
  });
  const cwd = await folderWith(t);
  const { json } = await runCli(
    [
      "email",
      "log",
      "--zone",
      "mail.example.com",
      "--status",
      "deliveryFailed",
      "--search",
      "a b",
      "--since",
      "2026-11-20",
      "--limit",
      "3",
      "--json",
    ],
    { cwd, api },
  );
  assert.deepEqual(
    json.map(({ session_id: session }: LogEntry) => session.slice(0, 2)),
    ["a1", "a2", "a3"],
  );
  const requested = api.seen
    .filter(({ path }) => path.includes("activity"))
    .map(({ path }) => Object.fromEntries(new URLSearchParams(path.split("?")[1])));
  assert.deepEqual(
    requested,
    [undefined, "next", "last"].map((cursor) => ({
      status: "deliveryFailed",
      search: "a b",
      since: "2026-11-20T00:00:00.000Z",
      per_page: "3",
      ...(cursor !== undefined && { cursor }),
    })),
  );
  const nothing = await startFakeApi(t, { [`GET ${LOG}`]: found() });
  assert.equal((await runCli(["email", "log"], { cwd, api: nothing })).stdout, "No messages.\n");
});

test("accepts times in the forms that users type", () => {
  const now = Date.parse("2026-11-20T12:00:00Z");
  const cases: [string, string][] = [
    ["90s", "2026-11-20T11:58:30.000Z"],
    ["2h", "2026-11-20T10:00:00.000Z"],
    ["7d", "2026-11-13T12:00:00.000Z"],
    ["2026-11-01", "2026-11-01T00:00:00.000Z"],
    ["2026-11-20T13:00:00+01:00", "2026-11-20T12:00:00.000Z"],
  ];
  for (const [text, time] of cases) assert.equal(parseTimeOption("--since", text, now), time);
  for (const text of ["", "yesterday", "2 h", "-1h", "2026-13-01", "5", "1w"])
    assert.throws(() => parseTimeOption("--since", text, now), { code: "E_BAD_CONTENT", fix: /30m, 2h or 7d/ }, text);
});

test("a message is found by the short id shown in the log, with all its recipients", async (t) => {
  const all = [
    entry("a1b2c3d4e5f6", "1"),
    entry("a1b2c3d4e5f6", "2", { to: "hello@example.com" }),
    entry("a1b2c3000000", "1"),
  ];
  const api = await startFakeApi(t, {
    [`GET ${LOG}`]: found(...all),
    ...Object.fromEntries(all.map((one) => [`GET ${LOG}/${one.id}`, { result: detailsOf(one) }])),
  });
  const cwd = await folderWith(t);
  const { stdout } = await runCli(["email", "log", "get", "a1b2c3d4e5f6"], { cwd, api });
  assert.match(stdout, /to +hello@example\.com\n[^]*\n\n\nid [^]*to +inbox@example\.com\n/);
  assert.match(stdout, /checks +spf=pass dkim=none dmarc=pass\n/);
  assert.match(
    stdout,
    /^copy to +state +since \(UTC\) .*\nme@example\.net +delivered +2026-11-20 12:00:02 +mx\.example\.net \[192\.0\.2\.9\]:25 +250 2\.0\.0 Ok +9{32}\n/m,
  );
  assert.match(
    stdout,
    /^2026-11-20 12:00:00 +received +ip=192\.0\.2\.1 tls=true\n2026-11-20 12:00:01 +handled +text=one\\x1b\[31m script=inbox rule=r to=a@x,b@x$/m,
  );
  assert.equal((await runCli(["email", "log", "get", all[2]!.id, "--json"], { cwd, api })).json[0].id, all[2]!.id);
  assert.match(
    (await runCli(["email", "log", "get", "a1b2c3"], { cwd, api })).stderr,
    /The id prefix a1b2c3 is ambiguous/,
  );
  assert.match(
    (await runCli(["email", "log", "get", "ffffff"], { cwd, api })).stderr,
    /No id among the newest 10000 log entries begins with ffffff/,
  );
  assert.match((await runCli(["email", "log", "get", "0"], { cwd, api })).stderr, /No route/);
});

test("following the log prints each new entry and each status change once", async () => {
  const stop = new AbortController();
  const [one, two, three] = ["a1", "a2", "a3"].map((name) => entry(name, "1", { status: "queued" })) as [
    LogEntry,
    LogEntry,
    LogEntry,
  ];
  const looks = [
    [two, one],
    [two, one],
    [three, two, { ...one, status: "delivered" }],
    [],
    [entry("a9", "1")],
    [entry("b1", "1")],
  ];
  const [printed, gaps]: [string[], number[]] = [[], []];
  let look = 0;
  await followLog({
    read: async () => looks[look++]!,
    first: 1,
    signal: stop.signal,
    print: (entries) =>
      printed.push(entries.map(({ session_id: session, status }) => `${session.slice(0, 2)} ${status}`).join(", ")),
    onGap: () => gaps.push(look),
    pause: async () => {
      if (look === looks.length) stop.abort();
    },
  });
  assert.deepEqual(printed, ["a2 queued", "a1 delivered, a3 queued", "a9 handled", "b1 handled"]);
  assert.deepEqual(gaps, [6]);
});

const item = (id: string, to: string, state: string, more: object = {}) => ({
  id,
  zone_id: null,
  cause: "send",
  from: "news@example.com",
  message_id: "<1@example.com>",
  worker: null,
  size: 20,
  can_resend: true,
  created: "2026-11-20T12:00:00.000Z",
  platform: false,
  to,
  state,
  attempts: 2,
  next_attempt: "2026-11-20T12:05:00.000Z",
  paused_until: null,
  paused_because: null,
  host: null,
  code: 451,
  enhanced_code: "4.3.0",
  response: "later",
  finished: null,
  ...more,
});

test("the queue lists undelivered messages, and a message is removed after confirmation", async (t) => {
  const whole = {
    ...item("q1", "a@x", "failed"),
    recipients: [
      item("q1", "a@x", "failed", { next_attempt: null }),
      item("q1", "b@x", "delivered", { next_attempt: null }),
    ],
  };
  const api = await startFakeApi(t, {
    [`GET ${QUEUE}`]: ({ path }) => {
      const state = new URLSearchParams(path.split("?")[1]).get("state")!;
      return {
        result:
          {
            deferred: [
              item("q1", "a@x", "deferred"),
              item("q3", "c@x", "deferred", {
                paused_until: "2026-11-20T12:30:00.000Z",
                paused_because: "connection refused",
              }),
            ],
            failed: [item("q2", "d@x", "failed", { created: "2026-11-21T12:00:00.000Z", next_attempt: null })],
            delivered: [item("q4", "e@x", "delivered")],
          }[state] ?? [],
      };
    },
    [`GET ${QUEUE}/q1`]: { result: whole },
    [`POST ${QUEUE}/q1/resend`]: { result: whole },
    [`POST ${QUEUE}/q1/cancel`]: { result: whole },
  });
  const cwd = await folderWith(t);
  const { stdout } = await runCli(["email", "queue", "list", "--domain", "x"], { cwd, api });
  assert.deepEqual(
    stdout
      .split("\n")
      .map((line) => line.split(/ {2,}/))
      .map(([id, , , to, state, tries, next, said]) => [id, to, state, tries, next, said])
      .slice(1, -1),
    [
      ["q2", "d@x", "failed", "2", "451 4.3.0 later", undefined],
      ["q1", "a@x", "deferred", "2", "2026-11-20 12:05:00", "451 4.3.0 later"],
      [
        "q3",
        "c@x",
        "deferred",
        "2",
        "2026-11-20 12:05:00",
        "451 4.3.0 later; paused until 2026-11-20 12:30:00: connection refused",
      ],
    ],
  );
  assert.ok(api.seen.every(({ path }) => path.includes("domain=x")));
  assert.deepEqual(
    (await runCli(["email", "queue", "list", "--state", "delivered", "--json"], { cwd, api })).json.map(
      ({ id }: { id: string }) => id,
    ),
    ["q4"],
  );
  assert.match(
    (await runCli(["email", "queue", "get", "q1"], { cwd, api })).stdout,
    /can be resent +yes\n\nto .*\na@x +failed[^]*b@x +delivered/,
  );
  assert.equal((await runCli(["email", "queue", "cancel", "q1"], { cwd, api })).code, 1);
  assert.equal(api.calls().includes(`POST ${QUEUE}/q1/cancel`), false);
  assert.equal((await runCli(["email", "queue", "cancel", "q1", "--yes"], { cwd, api })).code, 0);
  assert.equal((await runCli(["email", "queue", "resend", "q1", "--json"], { cwd, api })).json.id, "q1");
});

test("doctor shows the fixes and fails if it finds a problem", async (t) => {
  const findings = [
    { check: "MX", status: "ok", found: "mx1.example.com" },
    { check: "DMARC", status: "warning", expected: "a record", fix: "Add it." },
  ];
  let result: object[] = findings;
  const api = await startFakeApi(t, {
    "GET /zones": ({ path }) => ({
      result: path.includes("name=example.com&") ? [{ id: ZONE, name: "example.com", status: "active" }] : [],
    }),
    [`GET /zones/${ZONE}/email/doctor`]: () => ({ result }),
  });
  const cwd = await folderWith(t);
  const well = await runCli(["doctor", "mail.example.com"], { cwd, api });
  assert.deepEqual(
    [well.code, well.stdout],
    [
      0,
      "ok       MX: mx1.example.com\nwarning  DMARC\n         expected: a record\n         fix: Add it.\n\n0 errors, 1 warning, 1 passed\n",
    ],
  );
  assert.ok(api.seen.at(-1)!.path.endsWith("/email/doctor?name=mail.example.com"));
  result = [...findings, { check: "port 25", status: "error", found: "refused", fix: "Open it." }];
  const ill = await runCli(["doctor", "example.com", "--json"], { cwd, api });
  assert.deepEqual([ill.code, ill.json], [1, result]);
  assert.ok(api.seen.at(-1)!.path.endsWith("/email/doctor"));
  result = [findings[0]!];
  assert.match((await runCli(["doctor", "example.com"], { cwd, api })).stdout, /\n\nNo problems found\.\n$/);
});
