import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { TEST_ZONE } from "../../api.testing.ts";
import { startEmailAnalytics } from "./email-analytics.testing.ts";

onEveryDatabase((engine) => {
  describe("email analytics", () => {
    test("reports invalid queries", async (t) => {
      const { refusal } = await startEmailAnalytics(t, engine);
      const zone = (inner: string) =>
        `query ($zoneTag: string!, $start: Time) { viewer { zones(filter: {zoneTag: $zoneTag}) { ${inner} } } }`;
      const cases: [query: string, why: RegExp][] = [
        [zone("emailRoutingAdaptive(limit: 5) { subjekt }"), /unknown field "subjekt"; available: datetime, /],
        [zone("emailRoutingAdaptive(limit: 5) { subject { length } }"), /subject is a scalar/],
        [zone("emailRoutingAdaptive(limit: 5)"), /emailRoutingAdaptive needs fields/],
        [zone("emailRoutingAdaptive(limit: 10001) { subject }"), /limit must be a whole number from 1 to 10000/],
        [zone("emailRoutingAdaptive(limit: -1) { subject }"), /limit must be a whole number/],
        [zone('emailRoutingAdaptive(limit: "5") { subject }'), /limit must be a whole number/],
        [zone("emailRoutingAdaptive(first: 5) { subject }"), /unknown argument "first"/],
        [zone("emailRoutingAdaptive(orderBy: [datetime]) { subject }"), /orderBy accepts fields with _ASC or _DESC/],
        [zone("emailRoutingAdaptive(orderBy: [colour_ASC]) { subject }"), /unknown orderBy "colour"/],
        [zone("emailRoutingAdaptive(orderBy: [subject_ASC]) { subject }"), /cannot order by/],
        [
          zone("emailRoutingAdaptiveGroups(orderBy: [status_ASC]) { count }"),
          /groups can be ordered only by count or by a requested dimension/,
        ],
        [zone("emailRoutingAdaptiveGroups { count dimensions { subject } }"), /"subject" belongs to single messages/],
        [zone("emailRoutingAdaptiveGroups { count dimensions }"), /dimensions needs fields/],
        [zone("emailRoutingAdaptiveGroups { sum { bytes } }"), /unknown field "sum"/],
        [zone("emailRoutingAdaptiveGroups { avg { bytes } }"), /avg has only sampleInterval/],
        [zone('emailRoutingAdaptive(filter: "x") { subject }'), /filter must be an object/],
        [zone("emailRoutingAdaptive(filter: {colour: 1}) { subject }"), /unknown filter "colour"/],
        [zone('emailRoutingAdaptive(filter: {status_near: "x"}) { subject }'), /unknown filter "status_near"/],
        [zone('emailRoutingAdaptive(filter: {datetime_geq: "yesterday"}) { subject }'), /datetime_geq must be a time/],
        [
          zone("emailRoutingAdaptive(filter: {datetime_geq: $start}) { subject }"),
          /datetime_geq must be a time.*not 7/,
        ],
        [zone("emailRoutingAdaptive(filter: {isSpam: 2}) { subject }"), /isSpam must be 0 or 1/],
        [zone("emailRoutingAdaptive(filter: {status_in: 1}) { subject }"), /status_in must be a list/],
        [zone("emailRoutingAdaptive(filter: {isSpam_like: 1}) { subject }"), /only strings can be compared/],
        [
          zone(`emailRoutingAdaptive(filter: {OR: [${'{status: "x"},'.repeat(101)}]}) { subject }`),
          /more than 100 conditions/,
        ],
        [zone(`emailRoutingAdaptive(filter: {OR: [${"{},".repeat(101)}]}) { subject }`), /more than 100 conditions/],
        [
          zone("httpRequestsAdaptive { count }"),
          /there is no dataset httpRequestsAdaptive on this server\. Use one of: emailRoutingAdaptive, /,
        ],
        [zone("__proto__ { count }"), /there is no dataset __proto__/],
        [
          zone(Array.from({ length: 21 }, (_, i) => `a${i}: emailRoutingAdaptive { subject }`).join(" ")),
          /more than 20 datasets/,
        ],
        ["{ viewer { zones { emailRoutingAdaptive { subject } } } }", /zones needs filter: \{zoneTag/],
        [`{ viewer { zones(filter: {zoneTag_in: [${'"a",'.repeat(11)}]}) { zoneTag } } }`, /no more than 10/],
        ["{ viewer { zones(filter: {name: 1}) { zoneTag } } }", /unknown filter "name" of zones/],
        [`{ viewer { zones(filter: {zoneTag: "${"0".repeat(32)}"}) { zoneTag } } }`, /not authorized for that zone/],
        ["{ viewer { budget } }", /unknown field "budget"/],
        ["{ zones }", /a query must start with viewer/],
        ["{ __schema { types { name } } }", /introspection is not supported/],
        ["not graphql", /syntax error at 1:1/],
        [`${"{a".repeat(2000)}`, /nested more than 16 levels deep/],
      ];
      for (const [query, why] of cases)
        assert.match((await refusal(query, { zoneTag: TEST_ZONE, start: 7 })).message, why, query.slice(0, 200));
      const oddKey = await refusal(
        "query ($zoneTag: string!, $filter: F) { viewer { zones(filter: {zoneTag: $zoneTag}) { emailRoutingAdaptive(filter: $filter) { subject } } } }",
        { zoneTag: TEST_ZONE, filter: { "status\n_in": ["x"] } },
      );
      assert.match(oddKey.message, /unknown filter "status/);
      assert.deepEqual((await refusal(zone("emailRoutingAdaptive { subjekt }"))).path, [
        "viewer",
        "zones",
        "0",
        "emailRoutingAdaptive",
      ]);
    });
  });
});
