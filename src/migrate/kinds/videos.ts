import { impossibleItem, plannedItem, type Context } from "../context.ts";
import { migrateErrors } from "../errors.ts";
import type { ItemProgress, PlannedItem, V4Client } from "../port.ts";
import { apiPath, hasErrorStatus, resultIfFound } from "../requests.ts";
import { chaptersOf, copyChapters } from "./chapters.ts";
import { captionsOf, copyCaptions } from "./captions.ts";
import { audioTracksOf, copyAudioTracks, type V4AudioTrack } from "./audio-tracks.ts";
import { videoSettingsOf, type V4Video } from "./video.ts";
import { createVideoSource, offersOriginals } from "./video-source.ts";
import { uploadVideo } from "./video-upload.ts";

const LIST_LIMIT = 1000;
const STATE_PROBLEMS: Record<string, string> = {
  pendingupload: "it has not been uploaded yet",
  error: "the source could not process it",
  "live-inprogress": "its broadcast is running",
};

/** Plans the import of videos with captions, chapters, audio tracks and settings, oldest first. */
export async function planVideos(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, ids } = context;
  const [ours, theirs] = await Promise.all([videosOf(source.api, paths.source), videosOf(target.api, paths.target)]);
  const existing = new Map(theirs.map((video) => [video.uid, video]));
  const firstReady = ours.find(({ readyToStream }) => readyToStream === true);
  const hasOriginals = firstReady !== undefined && (await offersOriginals(context, firstReady));
  const items: PlannedItem[] = [];
  for (const [index, video] of ours.entries()) {
    context.onStep?.(`comparing videos: ${index + 1} of ${ours.length}`);
    const found = existing.get(ids.find("video", video.uid) ?? video.uid);
    if (found !== undefined) ids.set("video", video.uid, found.uid);
    items.push(await planVideo(context, video, found, hasOriginals));
  }
  return items;
}

/** The API has no page numbers: each request starts at the creation time of the last video. */
export async function videosOf(api: V4Client, base: string): Promise<V4Video[]> {
  const videos = new Map<string, V4Video>();
  let start: string | undefined;
  for (;;) {
    const list = await api.result<V4Video[]>("GET", `${base}/stream`, {
      query: { asc: true, limit: LIST_LIMIT, start },
    });
    const before = videos.size;
    for (const video of list) videos.set(video.uid, video);
    if (list.length < LIST_LIMIT || videos.size === before) return [...videos.values()];
    start = list.at(-1)!.created;
  }
}

async function planVideo(
  context: Context,
  video: V4Video,
  existing: V4Video | undefined,
  hasOriginals: boolean,
): Promise<PlannedItem> {
  const { source, target, paths, ids } = context;
  const { uid } = video;
  const item = { kind: "video", key: `video ${uid}`, name: `${String(video.meta?.["name"] ?? "")} ${uid}`.trim() };
  const { state } = video.status;
  const problem =
    STATE_PROBLEMS[state] ??
    (video.readyToStream === true ? undefined : `the source is still processing it (${state})`);
  if (problem !== undefined) return impossibleItem({ ...item, reason: problem });
  if (existing?.status.state === "error")
    return impossibleItem({
      ...item,
      reason: `this server failed to process it: ${existing.status.errorReasonText ?? "no reason given"}; delete it to import it again`,
    });
  const isPresent = existing !== undefined && existing.status.state !== "pendingupload";
  const [captions, tracks, chapters, theirs, theirTracks, theirChapters] = await Promise.all([
    captionsOf(source.api, paths.source, uid),
    audioTracksOf(source.api, paths.source, uid),
    chaptersOf(source.api, paths.source, uid),
    isPresent ? captionsOf(target.api, paths.target, existing.uid) : ([] as string[]),
    isPresent ? audioTracksOf(target.api, paths.target, existing.uid) : ([] as V4AudioTrack[]),
    isPresent ? chaptersOf(target.api, paths.target, existing.uid) : [],
  ]);
  // Chapters that were added on the target are kept if the source has none.
  const hasChapters = chapters.length > 0;
  const losses = isPresent ? [] : lossesOf(context, video, hasOriginals);
  return plannedItem(context, {
    ...item,
    ...(losses.length > 0 && { losses }),
    ...(video.size !== undefined && video.size > 0 && !isPresent && { bytes: video.size }),
    source: { ...videoSettingsOf(video), captions, tracks: labelsOf(tracks), ...(hasChapters && { chapters }) },
    target: isPresent
      ? {
          ...videoSettingsOf(existing),
          captions: theirs,
          tracks: labelsOf(theirTracks),
          ...(hasChapters && { chapters: theirChapters }),
        }
      : undefined,
    async apply(progress) {
      if (!isPresent)
        await uploadVideo(context, video, createVideoSource(context, video), {
          settings: videoSettingsOf(video),
          progress,
        });
      const targetUid = ids.require("video", uid, `The video ${uid}`);
      const path = `${paths.target}/stream${apiPath`/${targetUid}`}`;
      await changeSettings(target.api, path, video, progress);
      await copyCaptions(
        context,
        uid,
        path,
        captions.filter((language) => !theirs.includes(language)),
      );
      if (hasChapters) await copyChapters(target.api, path, chapters);
      const missing = tracks.filter(({ label }) => !theirTracks.some((track) => track.label === label));
      if (missing.length > 0) {
        await waitUntilReady(context, path, video);
        await copyAudioTracks(context, video, path, missing, progress);
      }
    },
  });
}

function lossesOf({ keepsIds }: Context, { watermark, liveInput }: V4Video, hasOriginals: boolean): string[] {
  return [
    ...(hasOriginals ? [] : ["the source does not return the uploaded file: its MP4 download is imported instead"]),
    ...(!hasOriginals && watermark != null ? ["its watermark is burned into the video"] : []),
    ...(keepsIds ? [] : ["its id changes, so embed codes must change too"]),
    ...(liveInput === undefined ? [] : ["the target does not list it as a recording of its live input"]),
  ];
}

const labelsOf = (tracks: readonly V4AudioTrack[]) => tracks.map(({ label }) => label).sort();

async function changeSettings(api: V4Client, path: string, video: V4Video, progress: ItemProgress): Promise<void> {
  const { scheduledDeletion, ...settings } = videoSettingsOf(video);
  await api.result("POST", path, { json: settings });
  if (scheduledDeletion === null) return;
  // Servers require a minimum time before a scheduled deletion, counted from the import.
  await api.result("POST", path, { json: { scheduledDeletion } }).catch((thrown: unknown) => {
    if (!hasErrorStatus(thrown, 400)) throw thrown;
    progress.warn(`its deletion on ${scheduledDeletion} was refused: ${thrown.message}`);
  });
}

const POLL_MS = 2000;
const READY_MINUTES = 30;

async function waitUntilReady({ target, clock, signal }: Context, path: string, { uid }: V4Video): Promise<void> {
  const end = clock.now() + READY_MINUTES * 60_000;
  for (;;) {
    const video = await resultIfFound<V4Video>(target.api, path);
    if (video?.readyToStream === true) return;
    if (video?.status.state === "error")
      throw migrateErrors.incomplete({ what: `video ${uid}`, reason: video.status.errorReasonText ?? "failed" });
    if (clock.now() > end) throw migrateErrors.notReady({ what: `video ${uid}`, minutes: READY_MINUTES });
    signal?.throwIfAborted();
    await clock.sleep(POLL_MS);
  }
}
