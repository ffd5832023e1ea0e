import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { createManualClock } from "../kernel/index.ts";
import { mailErrors, type WrittenMail } from "../mail/index.ts";
import type { EmailOutcome, InboundMail, Invocation, MailActions, WorkerRuntime } from "../workers/index.ts";
import type { DevEvent, EmailEvent } from "./events.ts";
import { createInvocationReports } from "./invocation-reports.ts";

const mail = (id: string): InboundMail => ({
  id,
  from: "a@example.com",
  to: "b@example.org",
  rawSize: 5,
  headers: [
    ["From", "a@example.com"],
    ["To", "b@example.org"],
  ],
  raw: () => Buffer.from("hello"),
  canBeForwarded: true,
});
/** The record arrives after the test has ended. */
const ok: EmailOutcome = { outcome: "ok", ended: new Promise(() => {}) };

/** Returns a runtime whose invocations finish when the test releases them. */
function heldRuntime() {
  let emit: (invocation: Invocation) => void = () => {};
  const runtime = {
    email: async () => ok,
    fetch: async () => ({ outcome: "ok" as const }),
    onInvocation(listener: typeof emit) {
      emit = listener;
      return () => {};
    },
  } as unknown as WorkerRuntime;
  return {
    runtime,
    end: (event: Invocation["event"], more: Partial<Invocation> = {}) =>
      emit({
        script: "inbox",
        version: "1",
        event,
        outcome: "ok",
        startedAt: new Date(0),
        wallMs: 1,
        logs: [],
        exceptions: [],
        ...more,
      }),
  };
}

function setUp(explain: (worker: string) => string | undefined = () => undefined) {
  const events: DevEvent[] = [];
  const { runtime, end } = heldRuntime();
  const reports = createInvocationReports({
    explain,
    clock: createManualClock(),
    report: (event) => void events.push(event),
  });
  const instrumented = reports.instrument(runtime);
  const begin = (id: string) => void instrumented.email("inbox", mail(id), {} as MailActions);
  const endMail = (id: string, more?: Partial<Invocation>) =>
    end({ kind: "email", id, from: "a@example.com", to: "b@example.org", rawSize: 5 }, more);
  return { reports, runtime: instrumented, events, end, begin, endMail };
}

const written = (messageId: string, inbound?: string): WrittenMail => ({
  mail: {
    messageId,
    cause: inbound ? "forward" : "send",
    from: "b@example.org",
    to: ["c@example.net"],
    raw: () => Buffer.from(""),
    script: "inbox",
    ...(inbound && { inbound: { id: inbound } }),
  },
  files: [{ kind: "eml", path: `/mail/${messageId}.eml` }],
});

const summary = (events: DevEvent[]) =>
  events.map((event) => [
    event.event,
    event.event === "email" ? event.id : "",
    "actions" in event ? event.actions.map(({ messageId }) => messageId) : "messageId" in event ? event.messageId : "",
  ]);

describe("rejected replies", () => {
  const rejection = mailErrors.inReplyToMismatch({ messageId: "<in@example.com>", given: "<other@example.com>" });
  const fix = "Set In-Reply-To to <in@example.com>, the Message-ID of the incoming message. Given: <other@example.com>";
  const actions = {
    reply: () => Promise.reject(rejection),
    replyBuilt: () => Promise.reject(new Error("no disk")),
  } as unknown as MailActions;

  async function handle(more: Partial<Invocation>) {
    const events: DevEvent[] = [];
    const { runtime, end } = heldRuntime();
    let given: MailActions | undefined;
    runtime.email = async (_name, _mail, passed) => {
      given = passed;
      return ok;
    };
    const reports = createInvocationReports({
      explain: () => "a binding is wrong",
      clock: createManualClock(),
      report: (event) => void events.push(event),
    });
    void reports.instrument(runtime).email("inbox", mail("1"), actions);
    await assert.rejects(
      given!.reply({ from: "b@example.org", to: "a@example.com", raw: Readable.from([]) }),
      rejection,
    );
    await assert.rejects(given!.replyBuilt({}), /no disk/);
    end({ kind: "email", id: "1", from: "a@example.com", to: "b@example.org", rawSize: 5 }, more);
    reports.close();
    const [event] = events as [EmailEvent];
    return { warnings: event.warnings, helps: event.exceptions.map(({ help }) => help) };
  }

  it("are explained with the exception that ended the handler", async () => {
    const exceptions = [
      { name: "Error", message: rejection.message },
      { name: "TypeError", message: "other" },
    ];
    assert.deepEqual(await handle({ exceptions }), {
      warnings: [],
      helps: [`reply() was rejected.\nFix: ${fix}`, "a binding is wrong"],
    });
  });

  it("are reported as warnings if the worker has caught the error", async () => {
    assert.deepEqual(await handle({}), {
      warnings: [`reply() was rejected: In-Reply-To does not match original Message-ID. ${fix}`],
      helps: [],
    });
  });
});

describe("invocation reports", () => {
  it("attribute a forward to its message while other invocations run", (t) => {
    const { reports, events, begin, endMail } = setUp();
    t.after(reports.close);
    begin("m1");
    begin("m2");
    reports.mailWritten(written("f2", "m2"));
    reports.mailWritten(written("f1", "m1"));
    endMail("m1");
    endMail("m2");
    assert.deepEqual(summary(events), [
      ["email", "m1", ["f1"]],
      ["email", "m2", ["f2"]],
    ]);
  });

  it("attribute a send to the only running invocation, and to none if two are possible", (t) => {
    const { reports, events, begin, endMail } = setUp();
    t.after(reports.close);
    begin("m1");
    reports.mailWritten(written("s1"));
    begin("m2");
    reports.mailWritten(written("s2"));
    endMail("m1");
    reports.mailWritten(written("s3"));
    endMail("m2");
    reports.mailWritten(written("s4"));
    assert.deepEqual(summary(events), [
      ["sent", "", "s2"],
      ["email", "m1", ["s1"]],
      ["email", "m2", ["s3"]],
      ["sent", "", "s4"],
    ]);
  });

  it("do not guess which of two identical requests sent a message", (t) => {
    const { reports, runtime, events, end } = setUp();
    t.after(reports.close);
    const ask = () => void runtime.fetch("inbox", { method: "GET", url: "/a" } as never, {} as never);
    ask();
    reports.mailWritten(written("s1"));
    ask();
    end({ kind: "fetch", method: "GET", url: "/a", status: 200 });
    end({ kind: "fetch", method: "GET", url: "/a", status: 200 });
    assert.deepEqual(summary(events), [
      ["sent", "", "s1"],
      ["fetch", "", []],
      ["fetch", "", []],
    ]);
  });

  it("include a message whose process failed to start, although it has no record", async (t) => {
    const { reports, events } = setUp();
    t.after(reports.close);
    const failing = {
      ...heldRuntime().runtime,
      email: async () => ({
        outcome: "exception" as const,
        exception: { name: "Error", message: "it does not start" },
        ended: Promise.resolve(),
      }),
    };
    await reports.instrument(failing).email("inbox", mail("m1"), {} as MailActions);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(
      events.map((event) => event.event === "email" && [event.id, event.outcome, event.exceptions[0]!.message]),
      [["m1", "exception", "it does not start"]],
    );
  });

  it("include the rejection, envelope warnings and explained exceptions, the handler's own first", (t) => {
    const { reports, runtime, events, endMail } = setUp((worker) => `help for ${worker}`);
    t.after(reports.close);
    void runtime.email("inbox", { ...mail("m1"), from: "other@example.com" }, {} as MailActions);
    endMail("m1", {
      outcome: "exception",
      rejected: "no",
      exception: { name: "Error", message: "first" },
      exceptions: [{ name: "Error", message: "second" }],
    });
    const [event] = events;
    assert.ok(event?.event === "email");
    assert.equal(event.rejected, "no");
    assert.match(event.warnings.join(), /MAIL FROM <other@example\.com>.*a@example\.com/);
    assert.deepEqual(event.exceptions, [
      { name: "Error", message: "first", help: "help for inbox" },
      { name: "Error", message: "second", help: "help for inbox" },
    ]);
  });
});
