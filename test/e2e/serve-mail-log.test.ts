import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PlatformServer } from "../../src/server/index.ts";
import { openEventStream } from "../support/event-stream.ts";
import { createScope } from "./dev-bench.ts";
import { createApi, sendMail, servePlatform, TOKEN, type Api } from "./serve-client.ts";

/** The full path of a message through a running server, and its log entries afterwards. */

describe("the message log", () => {
  const scope = createScope();
  let server: PlatformServer;
  let api: Api;
  let zone: string;
  before(async () => {
    server = await servePlatform(scope, {
      env: { REELPOST_AUTHENTICATION_ENABLED: "false", REELPOST_EMAIL_STORE_DAYS: "1" },
    });
    api = createApi(server, TOKEN);
    zone = (await api.ok("post", "/zones", { body: { name: "example.com", account: { id: api.account } } })).id;
    await api.ok("post", `/zones/${zone}/email/routing/dns`, { body: {} });
    await api.deploy(
      "inbox",
      `export default { async email(message) {
        console.warn("from", message.from, { size: message.rawSize > 0 });
        if (message.from.startsWith("spam")) message.setReject("no thanks");
      } }`,
    );
    const rule = (to: string, action: object) =>
      api.ok("post", `/zones/${zone}/email/routing/rules`, {
        body: { matchers: [{ type: "literal", field: "to", value: to }], actions: [action], enabled: true },
      });
    await rule("inbox@example.com", { type: "worker", value: ["inbox"] });
    await rule("drop@example.com", { type: "drop" });
  });
  after(() => scope.close());

  test("shows each recipient, in the API and in GraphQL", async () => {
    const codes = [];
    for (const [to, from] of [
      ["inbox@example.com"],
      ["drop@example.com"],
      ["inbox@example.com", "spam@there.example"],
      ["nobody@example.com"],
    ] as [string, string?][])
      codes.push((await sendMail(server, to, from === undefined ? {} : { from })).code);
    assert.deepEqual(codes, [250, 250, 555, 550]);
    const entries = await api.ok("get", `/zones/${zone}/email/activity`);
    assert.deepEqual(
      entries.map(({ to, status, action, worker, zone_id: of }: Record<string, string>) => [
        to,
        status,
        action,
        worker,
        of,
      ]),
      [
        ["nobody@example.com", "rejected", "reject", null, zone],
        ["inbox@example.com", "rejected", "worker", "inbox", zone],
        ["drop@example.com", "dropped", "drop", null, zone],
        ["inbox@example.com", "handled", "worker", "inbox", zone],
      ],
    );
    assert.match(entries[1].error_detail, /555 5\.7\.1 no thanks/);
    const details = await api.ok("get", `email/activity/${entries[3].id}`);
    assert.deepEqual(
      details.events.map(({ step }: { step: string }) => step),
      ["received", "matched", "handled"],
    );
    assert.equal(details.subject, "Hello");

    const { body } = await api.call("post", "/graphql", {
      body: {
        query:
          "query ($zoneTag: string!) { viewer { zones(filter: {zoneTag: $zoneTag}) { emailRoutingAdaptiveGroups(limit: 10, orderBy: [status_ASC]) { count dimensions { status } } } } }",
        variables: { zoneTag: zone },
      },
    });
    assert.deepEqual(body, {
      data: {
        viewer: {
          zones: [
            {
              emailRoutingAdaptiveGroups: [
                { count: 1, dimensions: { status: "dropped" } },
                { count: 1, dimensions: { status: "handled" } },
                { count: 2, dimensions: { status: "rejected" } },
              ],
            },
          ],
        },
      },
      errors: null,
    });
  });

  test("shows the whole path of a message, and passes it to the worker again", async () => {
    const { code } = await sendMail(server, "inbox@example.com", { from: "path@there.example" });
    assert.equal(code, 250);
    const entryOf = async () => (await api.ok("get", "email/activity?from=path@there.example"))[0].id as string;
    const id = await entryOf();
    let path = await api.ok("get", `email/activity/${id}`);
    // The worker's invocation ends a moment after its handler.
    while (path.worker_logs.length === 0 || path.transcript.length === 0)
      path = await api.ok("get", `email/activity/${id}`);
    assert.deepEqual(
      path.worker_logs.map(({ level, text }: Record<string, string>) => [level, text]),
      [["warn", "from path@there.example { size: true }"]],
    );
    const lines = path.transcript.map(({ by, text }: Record<string, string>) => `${by}: ${text}`);
    assert.match(lines[0], /^connection: connection from 127\.0\.0\.1/);
    for (const line of [
      /^client: EHLO /,
      /^client: MAIL FROM:<path@there\.example>/,
      /^client: RCPT TO:<inbox@example\.com>/,
      /^client: DATA$/,
      /^server: 250 /,
    ])
      assert.ok(
        lines.some((one: string) => line.test(one)),
        `${line} in ${lines.join("\n")}`,
      );
    assert.ok(path.rule.id.length === 32 && path.stored);
    const content = await api.ok("get", `email/activity/${id}/content`);
    assert.deepEqual(
      content.headers.filter(({ name }: { name: string }) => name === "Subject"),
      [{ name: "Subject", value: "Hello" }],
    );
    const replayed = await api.ok("post", `email/activity/${id}/replay`, { body: {} });
    assert.deepEqual([replayed.outcome, replayed.rejected], ["ok", null]);
    const again = await api.ok("get", `email/activity/${await entryOf()}`);
    assert.notEqual(again.id, id);
    assert.deepEqual([again.status, again.worker, again.subject], ["handled", "inbox", "Hello"]);
    const missing = await api.call("post", `email/activity/${id}/replay`, { body: { worker: "absent" } });
    assert.equal(missing.status, 404);
  });

  test("publishes each message to the clients that show the log", async (t) => {
    const { next, stop } = await openEventStream(
      `${server.api}/accounts/${api.account}/events?topics=mail,routing`,
      TOKEN,
    );
    t.after(stop);
    assert.deepEqual(await next(), { event: "open", data: { topics: ["mail", "routing"] } });
    assert.equal((await sendMail(server, "inbox@example.com")).code, 250);
    const { data } = (await next())!;
    assert.deepEqual([data["topic"], data["zone_id"]], ["mail", zone]);
    assert.equal((await api.ok("get", `email/activity/${String(data["id"])}`)).to, "inbox@example.com");
    await api.ok("put", `/zones/${zone}/email/routing/rules/catch_all`, {
      body: { matchers: [{ type: "all" }], actions: [{ type: "drop" }], enabled: false },
    });
    for (;;) if ((await next())!.data["topic"] === "routing") break;
  });

  test("contains nothing about mail for unknown recipients", async () => {
    assert.equal((await sendMail(server, "somebody@elsewhere.example")).code, 550);
    assert.equal((await api.ok("get", "email/activity?to=somebody@elsewhere.example")).length, 0);
  });
});
