import { z } from "@hono/zod-openapi";
import type { Caller } from "../../../accounts/index.ts";
import type { Clock } from "../../../kernel/index.ts";
import {
  activityErrors,
  type Activity,
  type CountColumn,
  type CountFilter,
  type EntryKind,
} from "../../../mail/index.ts";
import { hiddenZones } from "../../hidden-zones.ts";
import { respond, route, type Route } from "../../operation.ts";

interface EmailAnalyticsDeps {
  activity: Pick<Activity, "count">;
  clock: Pick<Clock, "now">;
}

const HOUR_MS = 3_600_000;
const STEPS = { hour: HOUR_MS, day: 24 * HOUR_MS };
const MAX_POINTS = 1000;

const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .pipe(z.number());
const query = z.object({
  since: time.optional(),
  until: time.optional(),
  time_delta: z.enum(["hour", "day"]).default("hour"),
});
const count = z.number().int();
const countsSchema = z.object({
  received: count,
  forwarded: count,
  handled: count,
  rejected: count,
  dropped: count,
  failed: count,
  pending: count,
  sent: count,
  delivered: count,
  bounced: count,
  sendingRejected: count,
  sendingPending: count,
});
const resultSchema = z.object({
  totals: countsSchema,
  series: z.array(z.object({ ts: count, ...countsSchema.shape })),
  zones: z.array(z.object({ zone_id: z.string(), ...countsSchema.shape })),
});
type Counts = z.output<typeof countsSchema>;

/** The count to which a message with this status is added, in addition to `received` or `sent`. */
const COUNT_NAMES: Record<EntryKind, Record<string, keyof Counts>> = {
  routing: {
    delivered: "forwarded",
    handled: "handled",
    rejected: "rejected",
    dropped: "dropped",
    deliveryFailed: "failed",
    error: "failed",
    unknown: "failed",
    received: "pending",
    sent: "pending",
    queued: "pending",
    deferred: "pending",
  },
  sending: {
    delivered: "delivered",
    handled: "delivered",
    deliveryFailed: "bounced",
    error: "bounced",
    unknown: "bounced",
    rejected: "sendingRejected",
    dropped: "sendingRejected",
    received: "sendingPending",
    sent: "sendingPending",
    queued: "sendingPending",
    deferred: "sendingPending",
  },
};

function add(counts: Counts, kind: EntryKind, status: string, messages: number): void {
  counts[kind === "routing" ? "received" : "sent"] += messages;
  const name = COUNT_NAMES[kind][status];
  if (name !== undefined) counts[name] += messages;
}

const noCounts = (): Counts => Object.fromEntries(Object.keys(countsSchema.shape).map((name) => [name, 0])) as Counts;

/**
 * Counts of received and sent messages per hour or day and per zone, for charts; the GraphQL datasets contain the same
 * entries. Not in the hosted service.
 */
export function emailAnalyticsRoutes({ activity, clock }: EmailAnalyticsDeps): Route[] {
  async function read(
    owner: { account: string; hidden: string[] } | { zone: string },
    { since, until, time_delta: delta }: z.output<typeof query>,
  ) {
    const step = STEPS[delta];
    const end = until ?? clock.now() + 1;
    const begin = Math.floor((since ?? end - STEPS.day) / step) * step;
    if ((end - begin) / step > MAX_POINTS) throw activityErrors.tooManyPoints({ limit: MAX_POINTS });
    const filter: CountFilter =
      "zone" in owner ? { all: [] } : { column: "zone_id", operator: "not in", value: owner.hidden };
    const series = new Map<number, Counts>();
    for (let start = begin; start < end; start += step) series.set(start, noCounts());
    const totals = noCounts();
    const zones = new Map<string, Counts>();
    const countBy = (kind: EntryKind, column: CountColumn) =>
      activity.count({
        ...("zone" in owner ? { zone: owner.zone } : { account: owner.account }),
        kind,
        since: begin,
        until: end,
        filter,
        groupBy: [column, "status"],
      });
    for (const kind of ["routing", "sending"] as const) {
      for (const { count: messages, values } of await countBy(kind, `at/${step}`)) {
        const status = String(values[1]);
        add(totals, kind, status, messages);
        add(
          series.getOrInsertComputed(Number(values[0]), () => noCounts()),
          kind,
          status,
          messages,
        );
      }
      for (const { count: messages, values } of await countBy(kind, "zone_id"))
        add(
          zones.getOrInsertComputed(String(values[0]), () => noCounts()),
          kind,
          String(values[1]),
          messages,
        );
    }
    return {
      totals,
      series: [...series].map(([start, counts]) => ({ ts: start / 1000, ...counts })),
      zones: [...zones]
        .map(([zone, counts]) => ({ zone_id: zone, ...counts }))
        .sort((a, b) => b.received + b.sent - (a.received + a.sent)),
    };
  }

  const hiddenOf = (caller: Caller, account: string) => hiddenZones(caller, account, "Account Analytics Read");

  return [
    route(
      {
        id: "email-analytics-account",
        method: "get",
        path: "/accounts/{account_id}/email/analytics",
        tag: "Email log",
        summary: "Count received and sent messages per hour or day, and per zone",
        permission: "Account Analytics Read",
        query,
        result: resultSchema,
      },
      async ({ params, query: input, caller }) =>
        respond(await read({ account: params.account_id!, hidden: hiddenOf(caller, params.account_id!) }, input)),
    ),
    route(
      {
        id: "email-analytics-zone",
        method: "get",
        path: "/zones/{zone_id}/email/analytics",
        tag: "Email log",
        summary: "Count received and sent messages of a zone per hour or day",
        permission: "Account Analytics Read",
        query,
        result: resultSchema,
      },
      async ({ params, query: input }) => respond(await read({ zone: params.zone_id! }, input)),
    ),
  ];
}
