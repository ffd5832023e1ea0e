import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { painter } from "../../kernel/paint.ts";
import { messageOf } from "../../kernel/index.ts";
import { formatSize } from "../../kernel/text.ts";
import { connectToApi, type ApiConnection } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { defineCommand, type CommandContext } from "../command.ts";
import { RETRY_LIMITS } from "../migrate/source.ts";
import { readVideoList, type VideoListEntry } from "../migrate/video-list.ts";
import { plural, printResult, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";
import { videoBodyFields, type VideoProperties } from "../stream/about.ts";
import { uploadFile } from "../stream/upload-file.ts";
import { videoPath, type ApiVideo } from "../stream/video.ts";

/** Maximum number of videos in one response. */
const PAGE_SIZE = 1000;

interface Planned {
  video: VideoListEntry;
  action: "new" | "unchanged" | "impossible";
}

export const importVideos = defineCommand({
  name: "import videos",
  summary: "upload videos from a folder, a PeerTube export or a CSV list",
  description: `Uploads every video file in a folder and its subfolders, with captions in files such as talk.en.vtt next to talk.mp4. A folder with peertube/videos.json
is read as an extracted PeerTube account export, with names, channels, captions and privacy: videos that are not public or unlisted require a token for playback.
A CSV file has the columns file or url, and optionally name, creator and signed.

Each video is uploaded only once: later runs skip files whose name and size match an existing video.`,
  arguments: [{ name: "source", summary: "folder or CSV file", required: true, complete: "file" }],
  options: {
    "dry-run": { type: "boolean", summary: "list the videos and upload nothing" },
    ...yesOption,
    ...serverOptions,
  },
  examples: [
    ["reelpost import videos ./talks --dry-run", "lists the videos that would be uploaded"],
    ["reelpost import videos videos.csv --yes", "uploads the videos listed in videos.csv without prompting"],
  ],
  async run({ yes, "dry-run": dryRun = false, ...values }, [source], context) {
    const videos = await readVideoList(resolve(context.cwd, source!));
    const connection = await connectToApi(values, context, undefined, RETRY_LIMITS);
    const plan = await planVideos(connection, videos);
    if (!context.json) for (const line of planLines(plan, context)) context.stdout.line(line);
    const wanted = plan.filter(({ action }) => action === "new").map(({ video }) => video);
    const json = plan.map(({ video: { captions, ...video }, action }) => ({
      ...video,
      captions: Object.keys(captions),
      action,
    }));
    if (dryRun || wanted.length === 0) {
      printResult(context, { videos: json }, () => (wanted.length === 0 ? ["Nothing to do."] : []));
      return 0;
    }
    await confirm(`Upload ${plural(wanted.length, "video")}?`, yes, context);
    const uploaded: { uid: string; name: string }[] = [];
    const failed: { name: string; reason: string }[] = [];
    for (const video of wanted)
      try {
        uploaded.push({ uid: await upload(connection, video, context), name: video.name });
      } catch (thrown) {
        failed.push({ name: video.name, reason: messageOf(thrown) });
      }
    printResult(context, { videos: json, uploaded, failed }, () => [
      `Uploaded ${plural(uploaded.length, "video")}.`,
      ...failed.map(({ name, reason }) => `failed to upload ${name}: ${reason}`),
    ]);
    return failed.length > 0 ? 1 : 0;
  },
});

async function planVideos({ api, base }: ApiConnection, videos: readonly VideoListEntry[]): Promise<Planned[]> {
  const existing = new Set<string>();
  for (let page = 1; ; page++) {
    const list = await api.result<ApiVideo[]>("GET", `${base}/stream`, { query: { page, per_page: PAGE_SIZE } });
    for (const { meta, size } of list) {
      existing.add(`${meta["filename"]} ${size}`);
      if (meta["downloaded-from"] !== undefined) existing.add(meta["downloaded-from"]);
    }
    if (list.length < PAGE_SIZE) break;
  }
  return videos.map((video) => {
    if (video.problem !== undefined) return { video, action: "impossible" };
    const key = video.size === undefined ? video.source : `${basename(video.source)} ${video.size}`;
    return { video, action: existing.has(key) ? "unchanged" : "new" };
  });
}

function planLines(plan: readonly Planned[], { stdout }: CommandContext): string[] {
  if (plan.length === 0) return ["No videos found."];
  const rows = plan.map(({ video: { name, size, captions, problem }, action }) => [
    action,
    name,
    size === undefined ? "" : formatSize(size),
    problem ?? Object.keys(captions).join(", "),
  ]);
  return table(["", "name", "size", "captions"], rows, painter(stdout));
}

async function upload(connection: ApiConnection, video: VideoListEntry, context: CommandContext): Promise<string> {
  const { api, base } = connection;
  const about: VideoProperties = {
    name: video.name,
    creator: video.creator?.slice(0, 64),
    signed: video.signed,
    "allowed-origin": [],
    watermark: undefined,
  };
  const uid =
    video.size === undefined
      ? (
          await api.result<ApiVideo>("POST", `${base}/stream/copy`, {
            json: { input: video.source, ...videoBodyFields(about) },
          })
        ).uid
      : await uploadFile(connection, video.source, { about, resume: undefined }, context);
  for (const [language, file] of Object.entries(video.captions)) {
    const text = await readFile(file);
    await api.result("PUT", `${videoPath(connection, uid)}/captions${at`/${language}`}`, {
      body: () => {
        const form = new FormData();
        form.set("file", new File([text], basename(file)));
        return form;
      },
    });
  }
  return uid;
}
