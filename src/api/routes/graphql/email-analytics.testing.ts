import assert from "node:assert/strict";
import type { Scope, TestEngine } from "../../../../test/support/databases.ts";
import type { Caller, Permission } from "../../../accounts/index.ts";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { activityMigrations, createActivity } from "../../../mail/activity/index.ts";
import type { TraceEvent } from "../../../mail/messages/index.ts";
import { startApi, TEST_ACCOUNT, TEST_ZONE, unrestrictedCaller } from "../../api.testing.ts";
import { emailAnalyticsRoutes } from "../email/analytics.ts";
import { emailAccountDatasets, emailDatasets } from "./email-datasets.ts";
import { graphqlRoutes, type GraphqlDeps } from "./routes.ts";

const START = Date.UTC(2026, 10, 20, 22, 30);
const MINUTE = 60_000;
/** A period of two days that contains all the messages. */
export const VARIABLES = { zoneTag: TEST_ZONE, start: "2026-11-20T00:00:00Z", end: "2026-11-22T00:00:00Z" };

/** Starts the API on an account and a zone with four inbound and two sent messages. */
export async function startEmailAnalytics(
  scope: Scope,
  engine: TestEngine,
  {
    allowed,
    allows,
    deniedZones,
    limits = {},
  }: {
    allowed?: Permission[];
    allows?: Caller["allows"];
    deniedZones?: string[];
    limits?: GraphqlDeps["limits"] & object;
  } = {},
) {
  const { db } = await engine.open(scope, activityMigrations);
  const clock = createManualClock(START);
  const activity = createActivity({ db, clock, log: silentLog });
  scope.after(() => activity.close());
  const caller = {
    ...unrestrictedCaller,
    ...(allowed !== undefined && { allows: (permission: Permission) => allowed.includes(permission) }),
    ...(allows !== undefined && { allows }),
    ...(deniedZones !== undefined && { deniedZones }),
  };
  const { call } = await startApi(scope, {
    caller,
    routes: [
      ...graphqlRoutes({
        limits,
        datasets: {
          accounts: emailAccountDatasets({ activity, days: 31 }),
          zones: emailDatasets({ activity, days: 31 }),
        },
        zoneAccount: async (zone) => (zone === TEST_ZONE ? TEST_ACCOUNT : undefined),
      }),
      ...emailAnalyticsRoutes({ activity, clock }),
    ],
  });

  const recordStep = (message: string, step: TraceEvent["step"], detail: TraceEvent["detail"], rcpt?: string) => {
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
    recordStep(message, "received", {
      from: n === 1 ? "" : `Sender${n}@there.example`,
      to: [rcpt],
      subject: `Subject ${n}`,
      messageId: `<in${n}@there.example>`,
    });
    recordStep(message, "authenticated", {
      spf: "pass",
      dkim: n === 0 ? "pass" : "none",
      dmarc: "none",
      arc: "none",
      accept: true,
      ...(n === 0 && { spamScore: 1.5, spamThreshold: 5 }),
    });
    if (n < 2) {
      recordStep(
        message,
        "matched",
        { kind: "forward", to: ["me@else.example"], rule: { id: "7".repeat(32), name: "" } },
        rcpt,
      );
      recordStep(message, "delivered", { messageId, to: "me@else.example", code: 250, text: "Ok" }, rcpt);
    } else
      recordStep(
        message,
        n === 2 ? "rejected" : "dropped",
        n === 2 ? { code: 550, enhanced: "5.1.1", text: "No such recipient" } : {},
        rcpt,
      );
    clock.advance(START + (n + 1) * 30 * MINUTE - clock.now());
  }
  for (const n of [1, 2]) {
    const messageId = `<sent${n}@here.example>`;
    recordStep("x".repeat(32), "sent", {
      from: "news@here.example",
      to: [`reader${n}@else.example`],
      messageId,
      subject: `News ${n}`,
    });
    recordStep(
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
