import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { redactUrl } from "./redact-url.ts";
import { invocationOf, logOf } from "./tails.testing.ts";
import { traceOf } from "./trace.ts";

const AT = 1_800_000_000_000;

describe("a trace-v1 record", () => {
  test("of a failed message contains the exception without its first line, at the time it ended", () => {
    const exception = {
      name: "TypeError",
      message: "no\nwords",
      stack: "TypeError: no\nwords\n    at email (src/index.ts:3:5)",
    };
    const failed = { name: "Error", message: "late", stack: "    at src/index.ts:9:1", at: new Date(AT + 5) };
    assert.deepEqual(
      traceOf(invocationOf({ outcome: "exception", exception, exceptions: [failed], logs: logOf("word", { a: 1 }) })),
      {
        outcome: "exception",
        scriptName: "mailer",
        scriptVersion: { id: "v1" },
        exceptions: [
          { name: "TypeError", message: "no\nwords", stack: "    at email (src/index.ts:3:5)", timestamp: AT + 12 },
          { name: "Error", message: "late", stack: "    at src/index.ts:9:1", timestamp: AT + 5 },
        ],
        logs: [{ message: ["word", { a: 1 }], level: "log", timestamp: AT + 1 }],
        eventTimestamp: AT,
        event: { mailFrom: "a@example.com", rcptTo: "b@example.net", rawSize: 5 },
        cpuTime: 0,
        wallTime: 12,
        truncated: false,
        executionModel: "stateless",
        diagnosticsChannelEvents: [],
      },
    );
  });

  test("of a request contains the full requested URL and the status", () => {
    const event = {
      kind: "fetch" as const,
      method: "GET",
      url: "/a?token=0123456789abcdef0123456789ABCDEF",
      headers: { host: "w.example:8787", "x-forwarded-proto": "https" },
      cf: { httpProtocol: "HTTP/1.1" },
      status: 204,
    };
    assert.deepEqual(traceOf(invocationOf({ event })).event, {
      request: { url: "https://w.example:8787/a?token=REDACTED", method: "GET", headers: event.headers, cf: event.cf },
      response: { status: 204 },
    });
    const { status: _status, ...unanswered } = event;
    assert.deepEqual(Object.keys(traceOf(invocationOf({ event: unanswered })).event!), ["request"]);
  });

  test("describes a schedule and other invocations", () => {
    assert.deepEqual(
      traceOf(invocationOf({ event: { kind: "scheduled", cron: "* * * * *", scheduledTime: new Date(AT) } })).event,
      { cron: "* * * * *", scheduledTime: AT },
    );
    const { event, entrypoint } = traceOf(invocationOf({ event: { kind: "other", name: "Admin" } }));
    assert.deepEqual([event, entrypoint], [null, "Admin"]);
    const call = traceOf(invocationOf({ event: { kind: "other", name: "Admin", rpcMethod: "sum" } }));
    assert.deepEqual(call.event, { rpcMethod: "sum" });
    const tailTrace = traceOf(invocationOf({ event: { kind: "tail", consumed: ["a", "b"], origins: ["a", "b"] } }));
    assert.deepEqual(tailTrace.event, { consumedEvents: [{ scriptName: "a" }, { scriptName: "b" }] });
  });

  test("of a Durable Object event contains the class, the object and the event", () => {
    const id = "0".repeat(64);
    const request = { url: "https://w.example/", method: "GET", headers: {}, cf: {} };
    for (const event of [
      { request, response: { status: 204 } },
      { rpcMethod: "sum" },
      { scheduledTime: "2027-01-15T08:00:00.000Z" },
      { getWebSocketEvent: { webSocketEventType: "close", code: 1000, wasClean: true } },
      null,
    ]) {
      const trace = traceOf(invocationOf({ event: { kind: "other", name: "Counter", object: { id, event } } }));
      assert.deepEqual(
        [trace.entrypoint, trace.durableObjectId, trace.executionModel, trace.event],
        ["Counter", id, "durableObject", event],
      );
    }
  });

  test("reports exceeded limits with the outcomes of the protocol", () => {
    const wire = (["exceededCpu", "exceededMemory", "exceededWallTime", "canceled"] as const).map(
      (outcome) => traceOf(invocationOf({ outcome })).outcome,
    );
    assert.deepEqual(wire, ["exceededCpu", "exceededMemory", "unknown", "canceled"]);
  });
});

test("redacts ids and secrets in a URL, but not words", () => {
  const cases: [string, string][] = [
    ["https://a.example/users/023e105f-4ecef8ad-9ca31a83-72d0c353/x", "https://a.example/users/REDACTED/x"],
    ["/a/023e105f4ecef8ad9ca31a8372d0c35", "/a/023e105f4ecef8ad9ca31a8372d0c35"],
    ["/a?t=AbCdefghij12klmnopqrs", "/a?t=REDACTED"],
    ["/a?t=AbCdefghij12klmnopqr", "/a?t=AbCdefghij12klmnopqr"],
    ["/a-rather-long-but-readable-path-of-words/2027", "/a-rather-long-but-readable-path-of-words/2027"],
  ];
  for (const [url, expected] of cases) assert.equal(redactUrl(url), expected);
});
