import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { TEST_ACCOUNT, TEST_ZONE } from "../../api.testing.ts";
import { startEmailAnalytics } from "../graphql/email-analytics.testing.ts";

const RANGE = { since: "2026-11-20T22:00:00Z", until: "2026-11-21T01:00:00Z" };

onEveryDatabase((engine) => {
  describe("email analytics", () => {
    test("counts received and sent messages by hour and zone", async (t) => {
      const { call } = await startEmailAnalytics(t, engine);
      const { body } = await call("GET", `/accounts/${TEST_ACCOUNT}/email/analytics`, { query: RANGE });
      const nothing = {
        received: 0,
        forwarded: 0,
        handled: 0,
        rejected: 0,
        dropped: 0,
        failed: 0,
        pending: 0,
        sent: 0,
        delivered: 0,
        bounced: 0,
        sendingRejected: 0,
        sendingPending: 0,
      };
      const totals = {
        ...nothing,
        received: 4,
        forwarded: 2,
        rejected: 1,
        dropped: 1,
        sent: 2,
        delivered: 1,
        bounced: 1,
      };
      assert.deepEqual(body.result, {
        totals,
        series: [
          { ts: Date.UTC(2026, 10, 20, 22) / 1000, ...nothing, received: 1, forwarded: 1 },
          { ts: Date.UTC(2026, 10, 20, 23) / 1000, ...nothing, received: 2, forwarded: 1, rejected: 1 },
          {
            ts: Date.UTC(2026, 10, 21) / 1000,
            ...nothing,
            received: 1,
            dropped: 1,
            sent: 2,
            delivered: 1,
            bounced: 1,
          },
        ],
        zones: [{ zone_id: TEST_ZONE, ...totals }],
      });
      const ofZone = await call("GET", `/zones/${TEST_ZONE}/email/analytics`, {
        query: { ...RANGE, time_delta: "day" },
      });
      assert.deepEqual(ofZone.body.result.totals, totals);
      assert.equal(ofZone.body.result.series.length, 2);
      const tooMany = await call("GET", `/accounts/${TEST_ACCOUNT}/email/analytics`, {
        query: { since: "2026-01-01T00:00:00Z" },
      });
      assert.equal(tooMany.status, 400);
      assert.match(tooMany.body.errors[0].message, /more than 1000 data points/);
    });

    test("excludes zones that the caller may not see", async (t) => {
      const denied = await startEmailAnalytics(t, engine, {
        allows: (_, on) => !("zone" in on && on.zone === TEST_ZONE),
        deniedZones: [TEST_ZONE],
      });
      const { body } = await denied.call("GET", `/accounts/${TEST_ACCOUNT}/email/analytics`, { query: RANGE });
      assert.deepEqual([body.result.totals.received, body.result.zones], [0, []]);
    });

    test("GraphQL counts the messages of all zones of an account that the caller may see", async (t) => {
      const query = `{ viewer { accounts(filter: {accountTag: "${TEST_ACCOUNT}"}) {
        received: emailRoutingAdaptiveGroups(orderBy: [count_DESC, status_DESC]) { count dimensions { zoneTag status } }
        sent: emailSendingAdaptiveGroups(filter: {sendingDomain: "here.example"}) { count }
      } } }`;
      const { ask } = await startEmailAnalytics(t, engine);
      assert.deepEqual((await ask(query)).data!.viewer.accounts, [
        {
          received: [
            { count: 2, dimensions: { zoneTag: TEST_ZONE, status: "delivered" } },
            { count: 1, dimensions: { zoneTag: TEST_ZONE, status: "rejected" } },
            { count: 1, dimensions: { zoneTag: TEST_ZONE, status: "dropped" } },
          ],
          sent: [{ count: 2 }],
        },
      ]);
      const denied = await startEmailAnalytics(t, engine, {
        allows: (_, on) => !("zone" in on && on.zone === TEST_ZONE),
        deniedZones: [TEST_ZONE],
      });
      assert.deepEqual((await denied.ask(query)).data!.viewer.accounts, [{ received: [], sent: [] }]);
    });
  });
});
