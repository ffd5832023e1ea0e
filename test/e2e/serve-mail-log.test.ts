import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ServeServer } from "../../src/server/index.ts";
import { openEventStream } from "../support/event-stream.ts";
import { createScope } from "./dev-bench.ts";
import { createApi, sendMail, servePlatform, TOKEN, type Api } from "./serve-client.ts";

/** The full path of a message through a running server, and its log entries afterwards. */

describe("the message log", () => {
  const scope = createScope();
  let server: ServeServer;
  let api: Api;
  let zone: string;
  before(async () => {
    server = await servePlatform(scope, { env: { REELPOST_AUTHENTICATION_ENABLED: "false" } });
    api = createApi(server, TOKEN);
    zone = (await api.ok("post", "/zones", { body: { name: "example.com", account: { id: api.account } } })).id;
    await api.ok("post", `/zones/${zone}/email/routing/dns`, { body: {} });
    await api.deploy(
      "inbox",
      `export default { async email(message) { if (message.from.startsWith("spam")) message.setReject("no thanks"); } }`,
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

  test("announces each message to the clients that show the log", async (t) => {
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
