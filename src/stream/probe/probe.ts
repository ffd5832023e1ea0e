import { Fault } from "../../kernel/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import { withLeasedFiles, type ObjectStore } from "../../store/index.ts";
import type { MediaTools } from "../media/index.ts";
import type { BurnedWatermark, MediaModel } from "../model.ts";
import type { Video } from "../videos/index.ts";
import { describeFile, type FileDescription, type ProbeRunOptions } from "./describe.ts";
import { type Scan, scanIndex } from "./index-scan.ts";
import { createMezzanine, needsMezzanine } from "./mezzanine.ts";
import { modelOf } from "./media-model.ts";
import { scanPackets } from "./packet-scan.ts";
import { malformedFileError, nonVideoError } from "./refused.ts";
import { type ChosenTracks, chooseTracks } from "./tracks.ts";

export interface Probe {
  /**
   * Analyzes the uploaded file and plans its processing. Stores an indexed copy if the file has no index; each call
   * stores another one. Throws ProbeRejected (refused.ts) if the file is the cause; otherwise MediaRunError, UserError
   * (mediaToolsMissing) or StoreError.
   */
  probe(video: ProbedVideo, options?: { signal?: AbortSignal }): Promise<MediaModel>;
}

export type ProbedVideo = Pick<Video, "uid" | "sourceKey" | "watermark" | "clip">;

interface ProbeDeps {
  tools: MediaTools;
  objects: Pick<ObjectStore, "open" | "leaseFile" | "put" | "delete">;
  settings: Pick<Settings["stream"], "ladder" | "codecs" | "passthrough" | "max_duration_seconds">;
  /** Folder for mezzanines in progress; they are as large as uploads. */
  folder: string;
  /**
   * Resolves with the watermark to burn in. Default: the video's profile with the PNG at `stream/<uid>/watermark.png`.
   */
  watermark?: (video: ProbedVideo) => Promise<BurnedWatermark | undefined>;
}

interface ScannedFile {
  key: string;
  size: number;
  description: FileDescription;
  tracks: ChosenTracks;
  scan: Scan;
}

/**
 * Seeking decodes from the previous key frame. If key frames are this far apart, a video up to this length is first
 * encoded as a whole.
 */
const FAR_KEYFRAME_S = 45;
const SHORT_VIDEO_SECONDS = 90;

export function createProbe({ tools, objects, settings, folder, watermark = ownWatermark }: ProbeDeps): Probe {
  const scanFile = (key: string, options: ProbeRunOptions): Promise<ScannedFile> =>
    withLeasedFiles(objects, [key], ([path]) => scanPath(key, path, options));

  async function scanPath(key: string, path: string | undefined, options: ProbeRunOptions): Promise<ScannedFile> {
    const source = await objects.open(key);
    if (source === undefined || path === undefined) throw new Fault(`cannot probe ${key}: the object does not exist`);
    if (source.size === 0) throw nonVideoError("It is empty.");
    const description = await describeFile(tools, path, options);
    const tracks = chooseTracks(description);
    // If an indexed copy is made, the copy is scanned.
    if (needsMezzanine(description)) return { key, size: source.size, description, tracks, scan: { indexed: false } };
    const scan =
      (description.format === "mov" ? await scanIndex(source, description, tracks) : undefined) ??
      (await scanPackets(tools, path, source.size, description, tracks, options));
    return { key, size: source.size, description, tracks, scan };
  }

  async function createAndScanMezzanine(
    video: ProbedVideo,
    scannedFile: ScannedFile,
    options: ProbeRunOptions,
    mode: "copy" | "encode",
  ): Promise<ScannedFile> {
    const key = await withLeasedFiles(objects, [scannedFile.key], async ([path]) => {
      if (path === undefined) throw new Fault(`the object ${scannedFile.key} was deleted while it was being probed`);
      return createMezzanine(
        { tools, objects, folder },
        video.uid,
        path,
        scannedFile.size,
        scannedFile.tracks,
        options,
        mode,
      );
    });
    // The new copy replaces that of an earlier step.
    if (scannedFile.key !== video.sourceKey) await objects.delete([scannedFile.key]);
    const rescannedFile = await scanFile(key, options);
    // The copy has the same audio tracks in the same order, but without tags.
    const taggedAudio = [scannedFile.tracks.audio, ...(scannedFile.tracks.moreAudio ?? [])];
    for (const [n, track] of [rescannedFile.tracks.audio, ...(rescannedFile.tracks.moreAudio ?? [])].entries())
      if (track !== undefined)
        Object.assign(track, { language: taggedAudio[n]?.language, title: taggedAudio[n]?.title });
    return rescannedFile;
  }

  return {
    async probe(video, { signal } = {}) {
      if (video.sourceKey === null) throw new Fault(`cannot probe video ${video.uid}: it has not been uploaded`);
      const options: ProbeRunOptions = { urgency: "soon", ...(signal && { signal }) };
      const uploadedScan = await scanFile(video.sourceKey, options);
      const scannedFile = needsMezzanine(uploadedScan.description)
        ? await createAndScanMezzanine(video, uploadedScan, options, "copy")
        : uploadedScan;
      const { scan } = scannedFile;
      if (scan.video === undefined && scan.audio === undefined) throw malformedFileError("It has no packets.");
      const modelContext = {
        originalKey: video.sourceKey,
        clip: video.clip,
        watermark: await watermark(video),
        h264: (await tools.ready()).h264.selected().encoder,
      };
      // Videos that are too long are rejected before the whole file would be encoded.
      const model = modelOf({ ...scannedFile, ...modelContext }, settings);
      if (
        scan.video === undefined ||
        scan.video.keyframeInterval <= FAR_KEYFRAME_S ||
        scan.video.end <= SHORT_VIDEO_SECONDS
      )
        return model;
      return modelOf(
        { ...(await createAndScanMezzanine(video, scannedFile, options, "encode")), ...modelContext },
        settings,
      );
    },
  };
}

async function ownWatermark({ uid, watermark }: ProbedVideo): Promise<BurnedWatermark | undefined> {
  if (watermark === null) return undefined;
  const { width, height, opacity, padding, scale, position } = watermark;
  return { key: `stream/${uid}/watermark.png`, width, height, opacity, padding, scale, position };
}
