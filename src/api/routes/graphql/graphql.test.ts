import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { onEveryDatabase, type Scope, type TestEngine } from "../../../../test/support/databases.ts";
import type { Caller, Permission } from "../../../accounts/index.ts";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { activityMigrations, createActivity } from "../../../mail/activity/index.ts";
import type { TraceEvent } from "../../../mail/messages/index.ts";
import { unrestrictedCaller, startApi, TEST_ACCOUNT, TEST_ZONE } from "../../api.testing.ts";
import { emailDatasets } from "./email-datasets.ts";
import { graphqlRoutes, type GraphqlDeps } from "./routes.ts";

const START = Date.UTC(2026, 10, 20, 22, 30);
const MINUTE = 60_000;
const VARIABLES = { zoneTag: TEST_ZONE, start: "2026-11-20T00:00:00Z", end: "2026-11-22T00:00:00Z" };
const DAYS = { zoneTag: TEST_ZONE, start: "2026-11-20", end: "2026-11-21" };

async function start(
  scope: Scope,
  engine: TestEngine,
  {
    allowed,
    allows,
    limits = {},
  }: { allowed?: Permission[]; allows?: Caller["allows"]; limits?: GraphqlDeps["limits"] & object } = {},
) {
  const { db } = await engine.open(scope, activityMigrations);
  const clock = createManualClock(START);
  const activity = createActivity({ db, clock, log: silentLog });
  scope.after(() => activity.close());
  const caller = {
    ...unrestrictedCaller,
    ...(allowed !== undefined && { allows: (permission: Permission) => allowed.includes(permission) }),
    ...(allows !== undefined && { allows }),
  };
  const { call } = await startApi(scope, {
    caller,
    routes: graphqlRoutes({
      limits,
      datasets: { zones: emailDatasets({ activity, days: 31 }) },
      zoneAccount: async (zone) => (zone === TEST_ZONE ? TEST_ACCOUNT : undefined),
    }),
  });

  const tell = (message: string, step: TraceEvent["step"], detail: TraceEvent["detail"], rcpt?: string) => {
    activity.trace({
      message,
      at: new Date(clock.now()),
      step,
      account: TEST_ACCOUNT,
      zone: TEST_ZONE,
      detail,
      ...(rcpt !== undefined && { rcpt }),
    });
    clock.advance(1);
  };
  /** Messages half an hour apart: two forwarded, one rejected, one dropped, and two sent, one of which bounced. */
  for (let n = 0; n < 4; n++) {
    const [message, rcpt, messageId] = [`m${n}`, `box@here.example`, `<copy${n}@here.example>`];
    tell(message, "received", {
      from: n === 1 ? "" : `Sender${n}@there.example`,
      to: [rcpt],
      subject: `Subject ${n}`,
      messageId: `<in${n}@there.example>`,
    });
    tell(message, "authenticated", {
      spf: "pass",
      dkim: n === 0 ? "pass" : "none",
      dmarc: "none",
      arc: "none",
      accept: true,
      ...(n === 0 && { spamScore: 1.5, spamThreshold: 5 }),
    });
    if (n < 2) {
      tell(
        message,
        "matched",
        { kind: "forward", to: ["me@else.example"], rule: { id: "7".repeat(32), name: "" } },
        rcpt,
      );
      tell(message, "delivered", { messageId, to: "me@else.example", code: 250, text: "Ok" }, rcpt);
    } else
      tell(
        message,
        n === 2 ? "rejected" : "dropped",
        n === 2 ? { code: 550, enhanced: "5.1.1", text: "No such recipient" } : {},
        rcpt,
      );
    clock.advance(START + (n + 1) * 30 * MINUTE - clock.now());
  }
  for (const n of [1, 2]) {
    const messageId = `<sent${n}@here.example>`;
    tell("x".repeat(32), "sent", {
      from: "news@here.example",
      to: [`reader${n}@else.example`],
      messageId,
      subject: `News ${n}`,
    });
    tell(
      messageId,
      n === 1 ? "delivered" : "bounced",
      {
        messageId,
        code: n === 1 ? 250 : 550,
        enhanced: n === 1 ? "2.0.0" : "5.1.1",
        text: n === 1 ? "Ok" : "no such user",
      },
      `reader${n}@else.example`,
    );
  }

  async function ask(query: string, variables: object = VARIABLES, more: object = {}) {
    const { status, body } = await call("post", "/graphql", { body: { query, variables, ...more } });
    assert.equal(status, 200);
    return body as {
      data: { viewer: { zones: Record<string, unknown[]>[]; accounts: Record<string, unknown[]>[] } } | null;
      errors: { message: string; path: string[] | null }[] | null;
    };
  }
  return {
    call,
    ask,
    async rows(dataset: string, variables: object = VARIABLES) {
      const { data, errors } = await ask(
        `query Q($zoneTag: string!, $start: Time!, $end: Time!) { viewer { zones(filter: {zoneTag: $zoneTag}) { rows: ${dataset} } } }`,
        variables,
      );
      assert.equal(errors, null, JSON.stringify(errors));
      return data!.viewer.zones[0]!["rows"] as Record<string, unknown>[];
    },
    async refusal(query: string, variables?: object) {
      const { data, errors } = await ask(query, variables);
      assert.equal(data, null);
      assert.equal(errors!.length, 1);
      return errors![0]!;
    },
  };
}

onEveryDatabase((engine) => {
  describe("email analytics", () => {
    test("rejects a response with more values than allowed across all datasets", async (t) => {
      const { ask, refusal } = await start(t, engine, { limits: { cells: 12 } });
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
      const { ask } = await start(t, engine, { limits: { characters: 36 } });
      assert.equal((await ask(query)).errors, null);
      const short = await start(t, engine, { limits: { characters: 35 } });
      assert.match((await short.refusal(query)).message, /more than 35 characters/);
      const late = await start(t, engine, { limits: { ms: -1 } });
      assert.match((await late.refusal(query)).message, /took longer than/);
    });

    test("returns inbound messages for the hosted service's example query", async (t) => {
      const { ask } = await start(t, engine);
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
      const { ask } = await start(t, engine);
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
      const { rows } = await start(t, engine);
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

    test("filters", async (t) => {
      const { rows } = await start(t, engine);
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

    test("finds sessions, and returns the limits in settings", async (t) => {
      const { rows, ask } = await start(t, engine);
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

    test("reports invalid queries", async (t) => {
      const { refusal } = await start(t, engine);
      const zone = (inner: string) =>
        `query ($zoneTag: string!, $start: Time) { viewer { zones(filter: {zoneTag: $zoneTag}) { ${inner} } } }`;
      const cases: [query: string, why: RegExp][] = [
        [zone("emailRoutingAdaptive(limit: 5) { subjekt }"), /unknown field "subjekt": there are datetime, /],
        [zone("emailRoutingAdaptive(limit: 5) { subject { length } }"), /subject is a value/],
        [zone("emailRoutingAdaptive(limit: 5)"), /emailRoutingAdaptive needs fields/],
        [zone("emailRoutingAdaptive(limit: 10001) { subject }"), /limit is a whole number from 1 to 10000/],
        [zone("emailRoutingAdaptive(limit: -1) { subject }"), /limit is a whole number/],
        [zone('emailRoutingAdaptive(limit: "5") { subject }'), /limit is a whole number/],
        [zone("emailRoutingAdaptive(first: 5) { subject }"), /unknown argument "first"/],
        [zone("emailRoutingAdaptive(orderBy: [datetime]) { subject }"), /orderBy takes fields with _ASC or _DESC/],
        [zone("emailRoutingAdaptive(orderBy: [colour_ASC]) { subject }"), /unknown orderBy "colour"/],
        [zone("emailRoutingAdaptive(orderBy: [subject_ASC]) { subject }"), /no order of texts/],
        [
          zone("emailRoutingAdaptiveGroups(orderBy: [status_ASC]) { count }"),
          /groups are ordered by count or by a dimension/,
        ],
        [zone("emailRoutingAdaptiveGroups { count dimensions { subject } }"), /"subject" is of single messages/],
        [zone("emailRoutingAdaptiveGroups { count dimensions }"), /dimensions needs fields/],
        [zone("emailRoutingAdaptiveGroups { sum { bytes } }"), /unknown field "sum"/],
        [zone("emailRoutingAdaptiveGroups { avg { bytes } }"), /avg has sampleInterval only/],
        [zone('emailRoutingAdaptive(filter: "x") { subject }'), /filter is an object/],
        [zone("emailRoutingAdaptive(filter: {colour: 1}) { subject }"), /unknown filter "colour"/],
        [zone('emailRoutingAdaptive(filter: {status_near: "x"}) { subject }'), /unknown filter "status_near"/],
        [zone('emailRoutingAdaptive(filter: {datetime_geq: "yesterday"}) { subject }'), /datetime_geq takes a time/],
        [zone("emailRoutingAdaptive(filter: {datetime_geq: $start}) { subject }"), /datetime_geq takes a time.*not 7/],
        [zone("emailRoutingAdaptive(filter: {isSpam: 2}) { subject }"), /isSpam takes 0 or 1/],
        [zone("emailRoutingAdaptive(filter: {status_in: 1}) { subject }"), /status_in takes a list/],
        [zone("emailRoutingAdaptive(filter: {isSpam_like: 1}) { subject }"), /only texts are compared/],
        [
          zone(`emailRoutingAdaptive(filter: {OR: [${'{status: "x"},'.repeat(101)}]}) { subject }`),
          /more than 100 conditions/,
        ],
        [zone(`emailRoutingAdaptive(filter: {OR: [${"{},".repeat(101)}]}) { subject }`), /more than 100 conditions/],
        [
          zone("httpRequestsAdaptive { count }"),
          /there is no dataset httpRequestsAdaptive: .* There are emailRoutingAdaptive, /,
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
        ["{ zones }", /a query begins with viewer/],
        ["{ __schema { types { name } } }", /introspection is not offered/],
        ["not graphql", /syntax error at 1:1/],
        [`${"{a".repeat(2000)}`, /nested more than 16 deep/],
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

    test("a token sees only the data that it may read", async (t) => {
      const query = (dataset: string) =>
        `query ($zoneTag: string!) { viewer { zones(filter: {zoneTag: $zoneTag}) { ${dataset} { status } } } }`;
      const sender = await start(t, engine, { allowed: ["Email Sending Read"] });
      assert.equal((await sender.ask(query("emailSendingAdaptive"))).errors, null);
      assert.match(
        (await sender.refusal(query("emailRoutingAdaptive"))).message,
        /not authorized for emailRoutingAdaptive: the API token needs one of Account Analytics Read, Email Routing Rules Read/,
      );
      const analyst = await start(t, engine, { allowed: ["Account Analytics Read"] });
      assert.equal((await analyst.ask(query("emailRoutingAdaptive"))).errors, null);
      const denied = await start(t, engine, {
        allows: (permission, on) =>
          permission === "Email Sending Read" || (permission === "Email Routing Rules Read" && !("zone" in on)),
      });
      for (const dataset of ["emailRoutingAdaptive", "emailRoutingAdaptiveGroups"])
        assert.match((await denied.refusal(query(dataset))).message, /not authorized for emailRouting/);
      const nobody = await start(t, engine, { allowed: ["DNS Read"] });
      assert.match((await nobody.refusal(query("emailRoutingAdaptive"))).message, /not authorized for that zone/);
      assert.match(
        (
          await nobody.refusal(
            `{ viewer { accounts(filter: {accountTag: "${TEST_ACCOUNT}"}) { d1AnalyticsAdaptiveGroups { count } } } }`,
          )
        ).message,
        /not authorized for that account/,
      );
    });
  });
});

test("`wrangler d1 info` reads zeros; unknown datasets are rejected; a body that is not a query is rejected like invalid JSON", async (t) => {
  const { call } = await startApi(t, { routes: graphqlRoutes() });
  const ask = async (query: string) =>
    (
      await call("post", "/graphql", {
        body: {
          query,
          operationName: null,
          variables: {
            accountTag: TEST_ACCOUNT,
            filter: { AND: [{ datetimeHour_geq: "2026-11-20T00:00:00Z", databaseId: "x" }] },
          },
        },
      })
    ).body;
  const overview =
    "query getD1MetricsOverviewQuery($accountTag: string, $filter: ZoneWorkersRequestsFilter_InputObject) { viewer { accounts(filter: {accountTag: $accountTag}) { d1AnalyticsAdaptiveGroups(limit: 10000, filter: $filter) { sum { readQueries } dimensions { datetimeHour } } } } }";
  assert.deepEqual(await ask(overview), {
    data: { viewer: { accounts: [{ d1AnalyticsAdaptiveGroups: [] }] } },
    errors: null,
  });
  assert.match(
    (await ask(overview.replace("d1AnalyticsAdaptiveGroups", "d1QueriesAdaptiveGroups"))).errors[0].message,
    /there is no dataset d1QueriesAdaptiveGroups/,
  );
  assert.equal((await call("post", "/graphql", { body: "{ viewer }" })).status, 400);
  assert.equal((await call("post", "/graphql", { body: { query: 7 } })).status, 400);
  assert.equal((await call("post", "/graphql", { body: { query: "x".repeat(200_000) } })).status, 413);
});
