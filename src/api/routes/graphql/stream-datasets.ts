import type { Clock } from "../../../kernel/index.ts";
import type { Audience, AudienceColumn } from "../../../stream/index.ts";
import type { DatasetColumn } from "./columns.ts";
import type { Dataset } from "./dataset.ts";
import { sumsDataset, timeColumns } from "./sums-dataset.ts";

const text = (name: string, column: AudienceColumn): DatasetColumn<AudienceColumn> => ({ name, column, type: "text" });

const COLUMNS: DatasetColumn<AudienceColumn>[] = [
  ...timeColumns<AudienceColumn>("start_at", (step) => `at/${step}`),
  text("uid", "uid"),
  text("clientCountryName", "country"),
  text("creator", "creator"),
  text("deviceBrowser", "browser"),
  text("deviceOs", "os"),
  text("deviceType", "device"),
  // Not in the hosted service.
  text("clientRefererHost", "referrer"),
  text("liveInput", "input"),
  { name: "isLive", column: "is_live", type: "flag" },
];

interface Figures {
  views: number;
  viewedMs: number;
}

const count = ({ views }: Figures) => views;
/** Whole minutes, as in the hosted service: clients read integers. */
const minutes = ({ viewedMs }: Figures) => Math.round(viewedMs / 60_000);

/**
 * Views and minutes of videos in the form of the hosted service's datasets. Both count what the server sends: there is
 * no separate count by the player.
 */
export function streamDatasets({
  audience,
  clock,
}: {
  audience: Pick<Audience, "sums" | "days">;
  clock: Pick<Clock, "now">;
}): Record<string, Dataset> {
  const dataset = (minutesName: string) =>
    sumsDataset<AudienceColumn, Figures>({
      permissions: ["Account Analytics Read", "Stream Read"],
      columns: COLUMNS,
      metrics: { "": { count }, sum: { [minutesName]: minutes } },
      days: audience.days,
      clock,
      read: async (request) =>
        (await audience.sums(request)).map(({ values, sums }) => ({
          values,
          figures: { views: sums["views"] ?? 0, viewedMs: sums["viewed_ms"] ?? 0 },
        })),
    });
  return {
    streamMinutesViewedAdaptiveGroups: dataset("minutesViewed"),
    videoPlaybackEventsAdaptiveGroups: dataset("timeViewedMinutes"),
  };
}
