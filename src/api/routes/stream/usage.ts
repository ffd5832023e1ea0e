import { z } from "@hono/zod-openapi";
import type { Clock } from "../../../kernel/index.ts";
import { PERIODS, type VideoCatalog, type ViewedMinutes } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { instant } from "./video-schemas.ts";

interface StreamUsageDeps {
  videos: Pick<VideoCatalog, "storageUsage">;
  /** `stream.storage_minutes`; 0: no limit. */
  storageMinutes: number;
  viewed: Pick<ViewedMinutes, "minutes">;
  clock: Pick<Clock, "now">;
}

/** Reported if usage is unlimited, because clients subtract the used minutes from it. */
const UNLIMITED = 1_000_000_000;

const usageSchema = z.object({
  creator: z.string().optional(),
  totalStorageMinutes: z.number(),
  totalStorageMinutesLimit: z.number().int(),
  videoCount: z.number().int(),
  x_reservedStorageMinutes: z.number(),
});

const SIX_HOURS_MS = 6 * 3_600_000;
const viewsQuery = z.object({
  since: instant.optional(),
  until: instant.optional(),
  time_delta: z.enum(PERIODS).default("hour"),
  limit: z.coerce.number().int().min(1).max(10_000).default(100),
  metrics: z.string().optional(),
  filters: z.string().optional(),
});
const viewedSchema = z.array(z.object({ streamMinutesViewed: z.number().int(), ts: z.number().int() }));

export const streamUsageRoutes = ({ videos, storageMinutes, viewed, clock }: StreamUsageDeps): Route[] => [
  route(
    {
      id: "stream-videos-storage-usage",
      method: "get",
      path: "/accounts/{account_id}/stream/storage-usage",
      tag: "Stream Videos",
      summary: "Get the minutes of video stored by the account or one creator",
      permission: "Stream Read",
      translate: toBadParameter,
      query: z.object({ creator: z.string().optional() }),
      result: usageSchema,
    },
    async ({ params, query: { creator } }) => {
      const {
        usedSeconds,
        reservedSeconds,
        videos: videoCount,
      } = await videos.storageUsage(params.account_id!, creator === "" ? undefined : creator);
      return respond({
        ...(creator && { creator }),
        totalStorageMinutes: usedSeconds / 60,
        totalStorageMinutesLimit: storageMinutes === 0 ? UNLIMITED : storageMinutes,
        videoCount,
        x_reservedStorageMinutes: reservedSeconds / 60,
      });
    },
  ),
  route(
    {
      id: "stream-usage-account",
      method: "get",
      path: "/accounts/{account_id}/stream/usage",
      tag: "Stream Videos",
      summary: "Get the minutes of video viewed, per hour or longer period",
      permission: "Stream Read",
      translate: toBadParameter,
      query: viewsQuery,
      result: viewedSchema,
    },
    async ({ params, query: { until = clock.now(), since = until - SIX_HOURS_MS, time_delta: period, limit } }) => {
      const points = await viewed.minutes(params.account_id!, { since, until, period, limit });
      return respond(
        points.map(({ begin, minutes }) => ({ streamMinutesViewed: Math.round(minutes), ts: begin / 1000 })),
      );
    },
  ),
  // Videos belong to accounts, so the usage of a zone is always zero.
  route(
    {
      id: "stream-usage-zone",
      method: "get",
      path: "/zones/{zone_id}/stream/usage",
      tag: "Stream Videos",
      summary: "Get the minutes of video viewed through a zone; always empty",
      permission: "Stream Read",
      translate: toBadParameter,
      query: viewsQuery,
      result: viewedSchema,
    },
    async () => respond([]),
  ),
];
