import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ScheduledEvent } from "../../src/dev/index.ts";
import { createScope, makeProject, serve, type TestServer } from "./dev-bench.ts";

const WORKER = `
export default {
  async scheduled(controller, env, ctx) {
    if (controller.cron === "throw") throw new TypeError("not today");
    ctx.waitUntil(scheduler.wait(20).then(() => console.log("late", controller.cron, controller.scheduledTime)));
    if (controller.cron === "mail") await env.MAIL.send({ from: "a@example.com", to: "b@example.net", subject: "s", text: "t" });
  },
};
`;

describe("a scheduled handler triggered by a request", () => {
  const scope = createScope();
  let server: TestServer;
  before(async () => {
    const folder = await makeProject(scope, { "src/index.ts": WORKER }, { send_email: [{ name: "MAIL" }] });
    server = await serve(scope, folder);
  });
  after(scope.close);

  const ask = async (query: string, init?: RequestInit) => {
    const response = await fetch(`${server.url}/cdn-cgi/handler/scheduled${query}`, init);
    return { status: response.status, text: await response.text() };
  };
  const eventOf = (cron: string) =>
    server.event((event): event is ScheduledEvent => event.event === "scheduled" && event.cron === cron);

  it("receives the pattern and the time, and the response waits for waitUntil() work", async () => {
    assert.deepEqual(await ask("?cron=*/5+*+*+*+*&time=1800000000000"), { status: 200, text: "ok" });
    const { outcome, logs, scheduledTime } = await eventOf("*/5 * * * *");
    assert.deepEqual(
      [outcome, logs[0]?.message, scheduledTime.getTime()],
      ["ok", ["late", "*/5 * * * *", 1_800_000_000_000], 1_800_000_000_000],
    );
  });

  it("uses the current time by default, accepts POST too, and reports sent mail", async () => {
    const before = Date.now();
    assert.deepEqual(await ask("?cron=mail", { method: "POST" }), { status: 200, text: "ok" });
    const { scheduledTime, actions } = await eventOf("mail");
    assert.ok(scheduledTime.getTime() >= before && scheduledTime.getTime() <= Date.now());
    assert.deepEqual(
      actions.map(({ action, to }) => [action, to]),
      [["send", ["b@example.net"]]],
    );
  });

  it("responds with 500 and the thrown error, as JSON on request", async () => {
    const { status, text } = await ask("?cron=throw");
    assert.equal(status, 500);
    assert.match(text, /^exception\nTypeError: not today\n {4}at .*index\.ts:4:/);
    const { exception, ...rest } = JSON.parse((await ask("?cron=throw&format=json")).text) as {
      exception: { message: string };
    };
    assert.deepEqual([rest, exception.message], [{ outcome: "exception", noRetry: false }, "not today"]);
  });

  it("rejects an invalid time and other methods", async () => {
    for (const time of ["soon", "-1", "1e400", "9".repeat(20)])
      assert.equal((await ask(`?time=${time}`)).status, 400, time);
    assert.equal((await ask("", { method: "DELETE" })).status, 405);
    assert.deepEqual(await ask("?worker=other"), {
      status: 404,
      text: 'There is no worker named "other" here. Running: test',
    });
  });
});
