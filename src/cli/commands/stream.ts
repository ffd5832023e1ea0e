import { messageOf } from "../../kernel/index.ts";
import { oneLine } from "../../kernel/text.ts";
import { type ApiRequestOptions } from "../api/client.ts";
import { connectToApi, type ApiConnection } from "../api/connect.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { printResult, formatUtcTime, table, nameValueLines } from "../print.ts";
import { limitOption, periodOptions, serverOptions, statisticsPeriodOptions, yesOption } from "../shared-options.ts";
import { videoPropertyOptions, videoBodyFields } from "../stream/about.ts";
import { readRenditions, renditionTable, type Rendition } from "../stream/renditions.ts";
import { uploadFile } from "../stream/upload-file.ts";
import {
  uploadedLines,
  videoPath,
  type ApiVideo,
  lengthText,
  dimensionsText,
  stateText,
  videoArgument,
  videoLines,
} from "../stream/video.ts";
import { waitOption, waitUntilPlayable } from "../stream/waiting.ts";
import { parseTimeOption } from "../time-option.ts";
import { streamDeliveryCommands } from "./stream-delivery.ts";

const streamUpload = defineCommand({
  name: "stream upload",
  summary: "upload a video",
  description: `Uploads in chunks (TUS). If the connection is lost, the upload resumes when the server responds again; after a timeout or Ctrl-C, the command prints how to resume later.

Without --name the video has the name of its file.`,
  arguments: [{ name: "file", summary: "video file", required: true, complete: "file" }],
  options: {
    ...videoPropertyOptions,
    ...waitOption,
    resume: {
      type: "string",
      placeholder: "address",
      summary: "resume an interrupted upload",
    },
    ...serverOptions,
  },
  examples: [
    ["reelpost stream upload talk.mp4 --wait", "waits until the video is playable, about a second after the upload"],
    ["reelpost stream upload talk.mp4 --name 'The talk' --creator ada --signed", "playable with tokens only"],
  ],
  async run({ wait, resume, url, token, account, ...about }, [file], context) {
    const connection = await connectToApi({ url, token, account }, context);
    const uid = await uploadFile(connection, file!, { about, resume }, context);
    const video =
      wait === true
        ? await waitUntilPlayable(connection, uid)
        : await connection.api.result<ApiVideo>("GET", videoPath(connection, uid));
    printResult(context, video, (paint) => uploadedLines(video, paint));
    return 0;
  },
});

const streamCopy = defineCommand({
  name: "stream copy",
  summary: "copy a video from a URL",
  arguments: [
    { name: "url", summary: "URL of the file; the server must support HEAD and range requests", required: true },
  ],
  options: { ...videoPropertyOptions, ...waitOption, ...serverOptions },
  examples: [["reelpost stream copy https://example.com/talk.mp4 --wait", "waits until the video is playable"]],
  async run({ wait, url, token, account, ...about }, [source], context) {
    const connection = await connectToApi({ url, token, account }, context);
    const created = await connection.api.result<ApiVideo>("POST", `${connection.base}/stream/copy`, {
      json: { input: source, ...videoBodyFields(about) },
    });
    const video = wait === true ? await waitUntilPlayable(connection, created.uid) : created;
    printResult(context, video, (paint) => uploadedLines(video, paint));
    return 0;
  },
});

/** Maximum items in one response. */
const PAGE_SIZE = 1000;

const streamList = defineCommand({
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
    ...periodOptions("videos created"),
    asc: { type: "boolean", summary: "oldest first" },
    ...limitOption(100_000, 100),
    ...serverOptions,
  },
  examples: [
    ["reelpost stream list --status error --since 7d", "failed videos of a week"],
    ["reelpost stream list --search talk --json", "JSON output, for scripts"],
  ],
  async run({ status, search, name, creator, since, until, asc, limit = 100, ...values }, _, context) {
    const now = context.clock.now();
    const query = {
      search,
      creator,
      asc,
      video_name: name,
      status: status.length === 0 ? undefined : status.join(","),
      start: since === undefined ? undefined : parseTimeOption("--since", since, now),
      end: until === undefined ? undefined : parseTimeOption("--until", until, now),
    };
    const { videos, total } = await readVideos(await connectToApi(values, context), query, limit);
    printResult(context, videos, (paint) =>
      videos.length === 0
        ? ["No videos."]
        : table(
            ["uid", "name", "state", "duration", "resolution", "creator", "created"],
            videos.map((video) => [
              video.uid,
              video.meta.name,
              stateText(video),
              lengthText(video),
              dimensionsText(video),
              video.creator,
              formatUtcTime(video.created),
            ]),
            paint,
          ),
    );
    if (total > videos.length && !context.json)
      context.stderr.line(`${videos.length} of ${total} videos: use --limit to show more`);
    return 0;
  },
});

async function readVideos(
  { api, base }: ApiConnection,
  query: NonNullable<ApiRequestOptions["query"]>,
  limit: number,
): Promise<{ videos: ApiVideo[]; total: number }> {
  const size = Math.min(limit, PAGE_SIZE);
  const videos: ApiVideo[] = [];
  let total = 0;
  for (let page = 1; videos.length < limit; page++) {
    const { result, ...beside } = await api.envelope<ApiVideo[]>("GET", `${base}/stream`, {
      query: { ...query, limit: size, page, include_counts: page === 1 },
    });
    if (page === 1) total = Number((beside as { total?: number | string }).total ?? 0);
    videos.push(...result.slice(0, limit - videos.length));
    if (result.length < size) break;
  }
  return { videos, total };
}

const streamGet = defineCommand({
  name: "stream get",
  summary: "show a video: state, renditions and URLs",
  description:
    "The renditions are read from its HLS manifest: with --json they are in `renditions`, null if unavailable.",
  arguments: [videoArgument],
  options: { ...waitOption, ...serverOptions },
  examples: [["reelpost stream get 91ab…", "a uid from the list"]],
  async run({ wait, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const video =
      wait === true
        ? await waitUntilPlayable(connection, uid!)
        : await connection.api.result<ApiVideo>("GET", videoPath(connection, uid!));
    const { renditions, reason } = await renditionsOf(connection, video);
    printResult(context, { ...video, renditions }, (paint) => [
      ...videoLines(video, paint),
      ...(renditions === null ? [] : ["", ...renditionTable(renditions, paint)]),
    ]);
    if (reason !== undefined && !context.json) context.stderr.line(`cannot list the renditions: ${oneLine(reason)}`);
    return 0;
  },
});

/** A failure to read the manifest does not prevent the rest of the output. */
async function renditionsOf(
  connection: ApiConnection,
  video: ApiVideo,
): Promise<{ renditions: Rendition[] | null; reason?: string }> {
  if (!video.readyToStream) return { renditions: null };
  return readRenditions(connection, video).then(
    (renditions) => ({ renditions }),
    (thrown: unknown) => ({ renditions: null, reason: messageOf(thrown) }),
  );
}

const streamDelete = defineCommand({
  name: "stream delete",
  summary: "delete a video and all its files",
  arguments: [videoArgument],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost stream delete 91ab… --yes", "in a script"]],
  async run({ yes, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const path = videoPath(connection, uid!);
    await confirm(`Delete the video ${uid!}?`, yes, context);
    // The response has no body.
    const response = await connection.api.raw("DELETE", path);
    await response.body?.cancel();
    printResult(context, { uid, deleted: true }, () => [`Deleted ${uid!}`]);
    return 0;
  },
});

interface Storage {
  totalStorageMinutes: number;
  totalStorageMinutesLimit: number;
  videoCount: number;
}

/** The API's value for "no limit". */
const UNLIMITED = 1_000_000_000;

const streamUsage = defineCommand({
  name: "stream usage",
  summary: "show the stored and viewed minutes of video",
  options: {
    creator: {
      type: "string",
      placeholder: "text",
      summary: "storage of this creator only; omits viewed minutes",
    },
    ...statisticsPeriodOptions("views", "30d"),
    ...serverOptions,
  },
  examples: [["reelpost stream usage --since 7d", "this week"]],
  async run({ creator, since = "30d", until = "0s", ...values }, _, context) {
    const now = context.clock.now();
    const period = { since: parseTimeOption("--since", since, now), until: parseTimeOption("--until", until, now) };
    const { api, base } = await connectToApi(values, context);
    const storage = await api.result<Storage>("GET", `${base}/stream/storage-usage`, { query: { creator } });
    const days =
      creator === undefined
        ? await api.result<{ streamMinutesViewed: number }[]>("GET", `${base}/stream/usage`, {
            query: { ...period, time_delta: "day", limit: 10_000 },
          })
        : undefined;
    const watchedMinutes = days?.reduce((sum, { streamMinutesViewed }) => sum + streamMinutesViewed, 0);
    const { totalStorageMinutes: storedMinutes, totalStorageMinutesLimit: limit, videoCount } = storage;
    printResult(
      context,
      { ...storage, ...(watchedMinutes !== undefined && { minutesViewed: watchedMinutes, ...period }) },
      (paint) =>
        nameValueLines(
          [
            ["videos", String(videoCount)],
            ["kept", `${minutes(storedMinutes)} min${limit >= UNLIMITED ? "" : ` of ${limit}`}`],
            [
              "watched",
              watchedMinutes === undefined
                ? undefined
                : `${minutes(watchedMinutes)} min since ${period.since.slice(0, 10)}`,
            ],
          ],
          paint,
        ),
    );
    return 0;
  },
});

interface Encoding {
  state: string;
  step: string | null;
  percent: number;
  secondsLeft: number | null;
  renditions: { name: string; codec: string; width: number; height: number; bitrate: number }[];
  log: { at: string | null; event: string; text: string }[];
}

const streamEncoding = defineCommand({
  name: "stream encoding",
  summary: "show progress, renditions and encoding log of a video",
  arguments: [videoArgument],
  options: serverOptions,
  examples: [["reelpost stream encoding 91ab…", "percent, time left and events so far"]],
  async run(values, [uid], context) {
    const connection = await connectToApi(values, context);
    const encoding = await connection.api.result<Encoding>("GET", `${videoPath(connection, uid!)}/encoding`);
    printResult(context, encoding, (paint) => [
      ...nameValueLines(
        [
          ["state", encoding.step === null ? encoding.state : `${encoding.state} (${encoding.step})`],
          ["encoded", `${Math.floor(encoding.percent)} %`],
          ["time left", encoding.secondsLeft === null ? undefined : `${encoding.secondsLeft} s`],
        ],
        paint,
      ),
      "",
      ...table(
        ["rendition", "codec", "size", "kbit/s"],
        encoding.renditions.map(({ name, codec, width, height, bitrate }) => [
          name,
          codec,
          `${width}x${height}`,
          Math.round(bitrate / 1000),
        ]),
        paint,
      ),
      "",
      ...table(
        ["time (UTC)", "event", "details"],
        encoding.log.map(({ at, event, text }) => [at === null ? "" : formatUtcTime(at), event, text]),
        paint,
      ),
    ]);
    return 0;
  },
});

const minutes = (count: number) => Number(count.toFixed(2));

export const streamCommands: readonly Command[] = [
  streamUpload,
  streamCopy,
  streamList,
  streamGet,
  streamEncoding,
  streamDelete,
  ...streamDeliveryCommands,
  streamUsage,
];
