import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { TEST_ZONE } from "../../api.testing.ts";
import { startEmailAnalytics } from "./email-analytics.testing.ts";

onEveryDatabase((engine) => {
  describe("email analytics", () => {
    test("rejects a response with more values than allowed across all datasets", async (t) => {
      const { ask, refusal } = await startEmailAnalytics(t, engine, { limits: { cells: 12 } });
      const query = (...datasets: string[]) =>
        `{ viewer { zones(filter: {zoneTag: "${TEST_ZONE}"}) { ${datasets.join(" ")} } } }`;
      const all = (fields: string, name = "a") => `${name}: emailRoutingAdaptive { ${fields} }`;
      // Four messages: 12 values are within the limit; one more alias exceeds it.
      assert.equal((await ask(query(all("subject status from")))).errors, null);
      assert.match((await refusal(query(all("subject status from to")))).message, /more than 12 values/);
      assert.match(
        (await refusal(query(all("subject again: subject more: subject most: subject")))).message,
        /more than 12 values/,
      );
      assert.match(
        (await refusal(query(all("subject status"), all("subject status", "b")))).message,
        /more than 12 values/,
      );
      assert.equal(
        (await ask(query(all("subject status"), "b: emailRoutingAdaptive(limit: 2) { subject status }"))).errors,
        null,
      );
      assert.match(
        (await refusal(query("emailRoutingAdaptiveGroups { count dimensions { status action from: spf dkim dmarc } }")))
          .message,
        /more than 12 values/,
      );
    });

    test("rejects a response that exceeds the character limit or the time limit", async (t) => {
      const query = `{ viewer { zones(filter: {zoneTag: "${TEST_ZONE}"}) { emailRoutingAdaptive { subject } } } }`;
      const { ask } = await startEmailAnalytics(t, engine, { limits: { characters: 36 } });
      assert.equal((await ask(query)).errors, null);
      const short = await startEmailAnalytics(t, engine, { limits: { characters: 35 } });
      assert.match((await short.refusal(query)).message, /more than 35 characters/);
      const late = await startEmailAnalytics(t, engine, { limits: { ms: -1 } });
      assert.match((await late.refusal(query)).message, /took longer than/);
    });
  });
});
