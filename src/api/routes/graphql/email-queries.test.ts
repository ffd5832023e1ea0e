import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { TEST_ZONE } from "../../api.testing.ts";
import { startEmailAnalytics, VARIABLES } from "./email-analytics.testing.ts";

const DAYS = { zoneTag: TEST_ZONE, start: "2026-11-20", end: "2026-11-21" };

onEveryDatabase((engine) => {
  describe("email analytics", () => {
    test("returns inbound messages for the hosted service's example query", async (t) => {
      const { ask } = await startEmailAnalytics(t, engine);
      const { data, errors } = await ask(
        `query EmailRoutingActivity($zoneTag: string, $filter: EmailRoutingAdaptiveFilter_InputObject) {
          viewer { zones(filter: { zoneTag: $zoneTag }) { emailRoutingAdaptive(filter: $filter limit: 3 orderBy: [datetime_DESC]) {
            datetime id: sessionId messageId from to subject status action eventType ruleMatched spf dkim dmarc arc errorCause errorDetail isNDR isSpam isLastEvent spamThreshold spamScore
          } } } }`,
        { zoneTag: TEST_ZONE, filter: { datetime_geq: VARIABLES.start, datetime_leq: VARIABLES.end } },
      );
      assert.equal(errors, null);
      const rows = data!.viewer.zones[0]!["emailRoutingAdaptive"] as Record<string, unknown>[];
      assert.deepEqual(
        rows.map(({ subject, status, action, isNDR }) => [subject, status, action, isNDR]),
        [
          ["Subject 3", "dropped", "drop", 0],
          ["Subject 2", "rejected", "reject", 0],
          ["Subject 1", "delivered", "forward", 1],
        ],
      );
      const { id, ...second } = rows[1]!;
      assert.match(String(id), /^[0-9a-f]{12}$/);
      assert.deepEqual(second, {
        datetime: "2026-11-20T23:30:00Z",
        messageId: "<in2@there.example>",
        from: "Sender2@there.example",
        to: "box@here.example",
        subject: "Subject 2",
        status: "rejected",
        action: "reject",
        eventType: "incoming",
        ruleMatched: "",
        spf: "pass",
        dkim: "none",
        dmarc: "none",
        arc: "none",
        errorCause: "5.1.1",
        errorDetail: "550 5.1.1 No such recipient",
        isNDR: 0,
        isSpam: 0,
        isLastEvent: 1,
        spamThreshold: null,
        spamScore: null,
      });
    });

    test("returns sent and inbound messages in one query without variables", async (t) => {
      const { ask } = await startEmailAnalytics(t, engine);
      const filter = `filter: {datetime_geq: "2026-11-20T00:00:00Z", datetime_leq: "2026-11-22T00:00:00Z"}, limit: 100, orderBy: datetime_ASC`;
      const { data, errors } = await ask(
        `{ viewer { zones(filter: {zoneTag: "${TEST_ZONE}"}) { zoneTag
        emailSendingAdaptive(${filter}) { from to status errorCause errorDetail sendingDomain envelopeTo eventType messageId isLastEvent }
        emailRoutingAdaptive(${filter}) { subject } } } }`,
        {},
      );
      assert.equal(errors, null);
      assert.deepEqual(data!.viewer.zones, [
        {
          zoneTag: TEST_ZONE,
          emailSendingAdaptive: [
            {
              from: "news@here.example",
              to: "reader1@else.example",
              status: "delivered",
              errorCause: "",
              errorDetail: "",
              sendingDomain: "here.example",
              envelopeTo: "reader1@else.example",
              eventType: "newEmail",
              messageId: "<sent1@here.example>",
              isLastEvent: 1,
            },
            {
              from: "news@here.example",
              to: "reader2@else.example",
              status: "deliveryFailed",
              errorCause: "5.1.1",
              errorDetail: "reader2@else.example: 550 5.1.1 no such user",
              sendingDomain: "here.example",
              envelopeTo: "reader2@else.example",
              eventType: "newEmail",
              messageId: "<sent2@here.example>",
              isLastEvent: 1,
            },
          ],
          emailRoutingAdaptive: [0, 1, 2, 3].map((n) => ({ subject: `Subject ${n}` })),
        },
      ]);
    });

    test("counts by day, hour, status and rule, as in the hosted service's examples", async (t) => {
      const { rows } = await startEmailAnalytics(t, engine);
      assert.deepEqual(
        await rows(
          "emailRoutingAdaptiveGroups(filter: { date_geq: $start, date_leq: $end }, limit: 10000, orderBy: [date_DESC, status_ASC]) { count dimensions { date status } }",
          DAYS,
        ),
        [
          { count: 1, dimensions: { date: "2026-11-21", status: "dropped" } },
          { count: 2, dimensions: { date: "2026-11-20", status: "delivered" } },
          { count: 1, dimensions: { date: "2026-11-20", status: "rejected" } },
        ],
      );
      assert.deepEqual(
        await rows(
          "emailRoutingAdaptiveGroups(filter: { datetimeHour_geq: $start, datetimeHour_leq: $end }, limit: 10, orderBy: [datetimeHour_ASC]) { n: count d: dimensions { datetimeHour } avg { sampleInterval } }",
        ),
        [
          { n: 1, d: { datetimeHour: "2026-11-20T22:00:00Z" }, avg: { sampleInterval: 1 } },
          { n: 2, d: { datetimeHour: "2026-11-20T23:00:00Z" }, avg: { sampleInterval: 1 } },
          { n: 1, d: { datetimeHour: "2026-11-21T00:00:00Z" }, avg: { sampleInterval: 1 } },
        ],
      );
      assert.deepEqual(
        await rows(
          "emailRoutingAdaptiveGroups(filter: { date_geq: $start, date_leq: $end }, limit: 10000, orderBy: [count_DESC, action_DESC]) { count dimensions { ruleMatched action } }",
          DAYS,
        ),
        [
          { count: 2, dimensions: { ruleMatched: "7".repeat(32), action: "forward" } },
          { count: 1, dimensions: { ruleMatched: "", action: "reject" } },
          { count: 1, dimensions: { ruleMatched: "", action: "drop" } },
        ],
      );
      assert.deepEqual(
        await rows(
          'emailSendingAdaptiveGroups(filter: { date_geq: $start, date_leq: $end, status: "deliveryFailed" }, limit: 10000, orderBy: [date_DESC]) { count dimensions { date errorCause sendingDomain envelopeTo } }',
          DAYS,
        ),
        [
          {
            count: 1,
            dimensions: {
              date: "2026-11-21",
              errorCause: "5.1.1",
              sendingDomain: "here.example",
              envelopeTo: "reader2@else.example",
            },
          },
        ],
      );
      assert.deepEqual(await rows("emailSendingAdaptiveGroups(limit: 1) { count }"), [{ count: 2 }]);
      assert.deepEqual(await rows('emailSendingAdaptiveGroups(filter: {status: "queued"}) { count }'), []);
    });

    test("finds sessions, and returns the limits in settings", async (t) => {
      const { rows, ask } = await startEmailAnalytics(t, engine);
      const [{ sessionId }] = (await rows('emailRoutingAdaptive(filter: {subject: "Subject 2"}) { sessionId }')) as [
        { sessionId: string },
      ];
      assert.deepEqual(await rows(`emailRoutingAdaptive(filter: {sessionId: "${sessionId}"}) { subject }`), [
        { subject: "Subject 2" },
      ]);
      const { data } = await ask(
        `query ($zoneTag: string!) { viewer { zones(filter: {zoneTag: $zoneTag}) { settings { emailSendingAdaptive { enabled maxDuration maxPageSize notOlderThan availableFields } } } } }`,
      );
      const { availableFields, ...settings } = (
        data!.viewer.zones[0] as unknown as { settings: { emailSendingAdaptive: { availableFields: string[] } } }
      ).settings.emailSendingAdaptive;
      assert.deepEqual(settings, {
        enabled: true,
        maxDuration: 2_678_400,
        maxPageSize: 10_000,
        notOlderThan: 2_678_400,
      });
      assert.ok(availableFields.includes("messageId") && availableFields.includes("isLastEvent"));
    });
  });
});
