import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { startEmailAnalytics } from "./email-analytics.testing.ts";

onEveryDatabase((engine) => {
  describe("email analytics", () => {
    test("filters", async (t) => {
      const { rows } = await startEmailAnalytics(t, engine);
      const found = async (filter: string) =>
        (await rows(`emailRoutingAdaptive(filter: ${filter}, orderBy: [datetime_ASC]) { subject }`))
          .map(({ subject }) => String(subject).slice(-1))
          .join("");
      const cases: [filter: string, expected: string][] = [
        ["{}", "0123"],
        ['{to: "BOX@here.example", from_neq: ""}', "023"],
        ['{from: ""}', "1"],
        ['{from: "sender0@THERE.example"}', "0"],
        ['{subject_like: "%ject 2"}', "2"],
        ['{subject_notlike: "%ject 2"}', "013"],
        ['{status_in: ["dropped", "rejected"]}', "23"],
        ['{status_notin: ["dropped", "rejected"], isNDR: 0}', "0"],
        ["{isNDR_neq: 0}", "1"],
        ['{OR: [{status: "dropped"}, {AND: [{status: "delivered"}, {dkim: "pass"}]}]}', "03"],
        ['{OR: [{datetime_geq: "2026-11-21T00:00:00Z"}, {datetime_lt: "2026-11-20T22:30:00.001Z"}]}', "03"],
        ['{datetime_gt: "2026-11-20T22:30:00Z", datetime_lt: "2026-11-20T23:30:00Z"}', "1"],
        ['{datetime: "2026-11-20T23:30:00Z"}', "2"],
        ['{datetime_leq: "2026-11-21T00:30:00+01:00"}', "012"],
        ['{date: "2026-11-21"}', "3"],
        ['{date_gt: "2026-11-20"}', "3"],
        ['{date_lt: "2026-11-21"}', "012"],
        ['{datetimeHour_leq: "2026-11-20T22:00:00Z"}', "0"],
        ['{datetimeHour_lt: "2026-11-20T23:30:00Z"}', "012"],
        ['{datetimeFifteenMinutes: "2026-11-20T23:00:00Z"}', "1"],
        ["{spamScore_gt: 1}", "0"],
        ['{ruleMatched: ""}', "23"],
        ['{ruleMatched_neq: ""}', "01"],
        ["{isLastEvent: 1}", "0123"],
        ["{isLastEvent: 0}", ""],
        ['{subject: "\' or 1=1 --"}', ""],
        ['{subject: "\\u0000"}', ""],
      ];
      for (const [filter, expected] of cases) assert.equal(await found(filter), expected, filter);
    });
  });
});
