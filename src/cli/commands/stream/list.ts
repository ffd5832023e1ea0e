import type { ApiRequest } from "../../api/client.ts";
import { connect, type Connection } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { moment, printResult, table } from "../../print.ts";
import { readMoment } from "../../read-moment.ts";
import { serverOptions } from "../../shared-options.ts";
import { lengthText, pictureText, stateText, type Video } from "../../stream/video.ts";

/** The most that one answer has. */
const PAGE = 1000;

export const streamList = defineCommand({
  name: "stream list",
  summary: "list videos, newest first",
  options: {
    status: {
      type: "string",
      placeholder: "status",
      choices: ["pendingupload", "downloading", "queued", "inprogress", "ready", "error", "live-inprogress"],
      multiple: true,
      summary: "only videos with this status",
    },
    search: { type: "string", placeholder: "text", summary: "part of the name" },
    name: { type: "string", placeholder: "text", summary: "complete name" },
    creator: { type: "string", placeholder: "text", summary: "only videos of this creator" },
    since: {
      type: "string",
      placeholder: "time",
      summary: "only videos created after, such as 2h, 7d or 2026-11-20T12:00:00Z",
    },
    until: { type: "string", placeholder: "time", summary: "only videos created before" },
    asc: { type: "boolean", summary: "oldest first" },
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 100_000,
      summary: "maximum number of entries",
      defaultText: "100",
    },
    ...serverOptions,
  },
  examples: [
    ["reelpost stream list --status error --since 7d", "failed videos of a week"],
    ["reelpost stream list --search talk --json", "for programs"],
  ],
  async run({ status, search, name, creator, since, until, asc, limit = 100, ...values }, _, surroundings) {
    const now = surroundings.clock.now();
    const query = {
      search,
      creator,
      asc,
      video_name: name,
      status: status.length === 0 ? undefined : status.join(","),
      start: since === undefined ? undefined : readMoment("--since", since, now),
      end: until === undefined ? undefined : readMoment("--until", until, now),
    };
    const { videos, total } = await read(await connect(values, surroundings), query, limit);
    printResult(surroundings, videos, (paint) =>
      videos.length === 0
        ? ["No videos."]
        : table(
            ["uid", "name", "state", "duration", "resolution", "creator", "created"],
            videos.map((video) => [
              video.uid,
              video.meta.name,
              stateText(video),
              lengthText(video),
              pictureText(video),
              video.creator,
              moment(video.created),
            ]),
            paint,
          ),
    );
    if (total > videos.length && !surroundings.json)
      surroundings.stderr.line(`${videos.length} of ${total} videos: --limit shows more`);
    return 0;
  },
});

async function read(
  { api, base }: Connection,
  query: NonNullable<ApiRequest["query"]>,
  limit: number,
): Promise<{ videos: Video[]; total: number }> {
  const size = Math.min(limit, PAGE);
  const videos: Video[] = [];
  let total = 0;
  for (let page = 1; videos.length < limit; page++) {
    const { result, ...beside } = await api.envelope<Video[]>("GET", `${base}/stream`, {
      query: { ...query, limit: size, page, include_counts: page === 1 },
    });
    if (page === 1) total = Number((beside as { total?: number | string }).total ?? 0);
    videos.push(...result.slice(0, limit - videos.length));
    if (result.length < size) break;
  }
  return { videos, total };
}
