import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { TEST_ACCOUNT } from "../../api.testing.ts";
import { startEmailAnalytics } from "./email-analytics.testing.ts";

onEveryDatabase((engine) => {
  describe("email analytics", () => {
    test("a token sees only the data that it may read", async (t) => {
      const query = (dataset: string) =>
        `query ($zoneTag: string!) { viewer { zones(filter: {zoneTag: $zoneTag}) { ${dataset} { status } } } }`;
      const sender = await startEmailAnalytics(t, engine, { allowed: ["Email Sending Read"] });
      assert.equal((await sender.ask(query("emailSendingAdaptive"))).errors, null);
      assert.match(
        (await sender.refusal(query("emailRoutingAdaptive"))).message,
        /not authorized for emailRoutingAdaptive: the API token requires one of Account Analytics Read, Email Routing Rules Read/,
      );
      const analyst = await startEmailAnalytics(t, engine, { allowed: ["Account Analytics Read"] });
      assert.equal((await analyst.ask(query("emailRoutingAdaptive"))).errors, null);
      const denied = await startEmailAnalytics(t, engine, {
        allows: (permission, on) =>
          permission === "Email Sending Read" || (permission === "Email Routing Rules Read" && !("zone" in on)),
      });
      for (const dataset of ["emailRoutingAdaptive", "emailRoutingAdaptiveGroups"])
        assert.match((await denied.refusal(query(dataset))).message, /not authorized for emailRouting/);
      const unauthorized = await startEmailAnalytics(t, engine, { allowed: ["DNS Read"] });
      assert.match((await unauthorized.refusal(query("emailRoutingAdaptive"))).message, /not authorized for that zone/);
      assert.match(
        (
          await unauthorized.refusal(
            `{ viewer { accounts(filter: {accountTag: "${TEST_ACCOUNT}"}) { d1AnalyticsAdaptiveGroups { count } } } }`,
          )
        ).message,
        /not authorized for that account/,
      );
    });
  });
});
