import { z } from "@hono/zod-openapi";
import type { Clock } from "../../../kernel/index.ts";
import type { RowFilter } from "../../../store/index.ts";
import { streamErrors, type Audience, type AudienceColumn } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { instant } from "./video-schemas.ts";

interface StreamAnalyticsDeps {
  audience: Pick<Audience, "sums" | "peaks" | "days">;
  clock: Pick<Clock, "now">;
}

const HOUR_MS = 3_600_000;
const STEPS = { hour: HOUR_MS, day: 24 * HOUR_MS };
const MAX_POINTS = 1000;
const MAX_TOP = 100;

/** The dimension of a ranking, and the column that it groups by. */
const DIMENSIONS = {
  video: "uid",
  live_input: "input",
  creator: "creator",
  country: "country",
  browser: "browser",
  os: "os",
  device: "device",
  referrer: "referrer",
} as const satisfies Record<string, AudienceColumn>;

const scope = {
  since: instant.optional(),
  until: instant.optional(),
  uid: z.string().max(64).optional(),
  live_input: z.string().max(64).optional(),
  creator: z.string().max(64).optional(),
};
const figures = { views: z.number().int(), minutesViewed: z.number() };
const summarySchema = z.object({
  ...figures,
  peakViewers: z.number().int(),
  /** Start of the hour or day with the peak; null if there were no viewers. */
  peakAt: z.string().nullable(),
  since: z.string(),
  until: z.string(),
});
const seriesSchema = z.array(z.object({ ts: z.number().int(), ...figures, peakViewers: z.number().int() }));
const topSchema = z.object({
  items: z.array(z.object({ value: z.string(), ...figures })),
  /** The values that are not listed. */
  other: z.object(figures),
});

type Scope = { [Name in keyof typeof scope]?: z.output<(typeof scope)[Name]> | undefined };

/**
 * Views, minutes and peaks of videos and broadcasts, for charts and rankings; the GraphQL datasets contain the same
 * metrics. Not in the hosted service.
 */
export function streamAnalyticsRoutes({ audience, clock }: StreamAnalyticsDeps): Route[] {
  /** Returns the requested range, limited to the time for which metrics are kept. */
  function rangeOf({ since, until }: Scope, step?: number) {
    const now = clock.now();
    const range = { until: until ?? now + 1, since: since ?? (until ?? now) - STEPS.day };
    if (range.since >= range.until) throw streamErrors.badParameter({ reason: "since must be before until" });
    const kept = now - audience.days * STEPS.day;
    const first = Math.max(range.since, kept);
    if (step !== undefined && (range.until - first) / step > MAX_POINTS)
      throw streamErrors.badParameter({
        reason: `the range has more than ${MAX_POINTS} points: request a shorter one, or time_delta=day`,
      });
    return { since: first, until: Math.max(range.until, first) };
  }

  function subjectOf({ uid, live_input: input, creator }: Scope) {
    const given = [uid, input, creator].filter((value) => value !== undefined);
    if (given.length > 1) throw streamErrors.badParameter({ reason: "use only one of uid, live_input and creator" });
    const filter: { all: RowFilter<AudienceColumn>[] } = {
      all: [
        ...(uid === undefined ? [] : [{ column: "uid" as const, operator: "=" as const, value: uid }]),
        ...(input === undefined ? [] : [{ column: "input" as const, operator: "=" as const, value: input }]),
        ...(creator === undefined ? [] : [{ column: "creator" as const, operator: "=" as const, value: creator }]),
      ],
    };
    return { filter, subject: { uid, input, creator } };
  }

  return [
    route(
      {
        id: "stream-analytics-summary",
        method: "get",
        path: "/accounts/{account_id}/stream/analytics",
        tag: "Stream Analytics",
        summary: "Get views, minutes viewed and the peak of concurrent viewers",
        permission: "Stream Read",
        translate: toBadParameter,
        query: z.object(scope),
        result: summarySchema,
      },
      async ({ params, query }) => {
        const account = params.account_id!;
        const range = rangeOf(query);
        const { filter, subject } = subjectOf(query);
        const [[total], peaks] = await Promise.all([
          audience.sums({ account, ...range, filter, groupBy: [] }),
          audience.peaks({ account, ...range, subject, limit: 10_000 }),
        ]);
        const peak = peaks.reduce<(typeof peaks)[number] | undefined>(
          (highest, one) => (highest === undefined || one.viewers > highest.viewers ? one : highest),
          undefined,
        );
        return respond({
          ...shown(total?.sums),
          peakViewers: peak?.viewers ?? 0,
          peakAt: peak === undefined ? null : new Date(peak.at).toISOString(),
          since: new Date(range.since).toISOString(),
          until: new Date(range.until).toISOString(),
        });
      },
    ),
    route(
      {
        id: "stream-analytics-series",
        method: "get",
        path: "/accounts/{account_id}/stream/analytics/series",
        tag: "Stream Analytics",
        summary: "Get views, minutes viewed and peaks per hour or day",
        permission: "Stream Read",
        translate: toBadParameter,
        query: z.object({ ...scope, time_delta: z.enum(["hour", "day"]).default("hour") }),
        result: seriesSchema,
      },
      async ({ params, query }) => {
        const account = params.account_id!;
        const step = STEPS[query.time_delta];
        const range = rangeOf(query, step);
        const { filter, subject } = subjectOf(query);
        // From the start of the first hour or day, so that each point is complete.
        const since = Math.floor(range.since / step) * step;
        const [rows, peaks] = await Promise.all([
          audience.sums({ account, ...range, since, step, filter, groupBy: [`at/${step}`] }),
          audience.peaks({ account, ...range, since, step, subject, limit: 10_000 }),
        ]);
        const sumsByStart = new Map(rows.map(({ values, sums }) => [Number(values[0]), sums]));
        const peakByStart = new Map<number, number>();
        for (const { at, viewers } of peaks) {
          const start = Math.floor(at / step) * step;
          peakByStart.set(start, Math.max(peakByStart.get(start) ?? 0, viewers));
        }
        const points: z.output<typeof seriesSchema> = [];
        for (let start = since; start < range.until; start += step)
          points.push({
            ts: start / 1000,
            ...shown(sumsByStart.get(start)),
            peakViewers: peakByStart.get(start) ?? 0,
          });
        return respond(points);
      },
    ),
    route(
      {
        id: "stream-analytics-top",
        method: "get",
        path: "/accounts/{account_id}/stream/analytics/top",
        tag: "Stream Analytics",
        summary: "Rank videos, live inputs, creators, countries, browsers, devices or embedding pages by views",
        permission: "Stream Read",
        translate: toBadParameter,
        query: z.object({
          ...scope,
          by: z.enum(Object.keys(DIMENSIONS) as [keyof typeof DIMENSIONS]),
          values: z
            .string()
            .transform((list) => list.split(","))
            .pipe(z.array(z.string().max(100)).max(MAX_TOP))
            .optional()
            .describe("Comma-separated list of values; only these values are ranked."),
          order: z.enum(["views", "minutes"]).default("views"),
          limit: z.coerce.number().int().min(1).max(MAX_TOP).default(10),
        }),
        result: topSchema,
      },
      async ({ params, query }) => {
        const column = DIMENSIONS[query.by];
        const { filter } = subjectOf(query);
        const rows = await audience.sums({
          account: params.account_id!,
          ...rangeOf(query),
          filter:
            query.values === undefined
              ? filter
              : { all: [...filter.all, { column, operator: "in", value: query.values }] },
          groupBy: [column],
        });
        const key = query.order === "views" ? "views" : "viewed_ms";
        rows.sort((a, b) => b.sums[key]! - a.sums[key]! || (String(a.values[0]) < String(b.values[0]) ? -1 : 1));
        const rest = rows.slice(query.limit);
        const sumOf = (name: string) => rest.reduce((sum, { sums }) => sum + sums[name]!, 0);
        return respond({
          items: rows
            .slice(0, query.limit)
            .map(({ values, sums }) => ({ value: String(values[0] ?? ""), ...shown(sums) })),
          other: shown({ views: sumOf("views"), viewed_ms: sumOf("viewed_ms") }),
        });
      },
    ),
  ];
}

const shown = (sums: Record<string, number> | undefined) => ({
  views: sums?.["views"] ?? 0,
  minutesViewed: Math.round((sums?.["viewed_ms"] ?? 0) / 600) / 100,
});
