import { messageOf } from "../../../kernel/index.ts";
import type { LiveRun, LiveEncoder, LiveEncoding, RunSink } from "../fragments.ts";
import type { LiveSession } from "../session.ts";
import { describeTracks } from "./note.ts";
import type { BroadcastDeps, OpenPackage, OpenRecording } from "./deps.ts";

/** A video that is being packaged and stored by this process. */
export interface OpenVideo {
  run(run: LiveRun): RunSink;
  /** Resolves when all fragments received have been stored or have failed. */
  settled(): Promise<void>;
  /** Ends the playlists, unless another process continues the broadcast. */
  close(options: { ended: boolean }): Promise<void>;
}

type OpenVideoDeps = Pick<BroadcastDeps, "recordings" | "packages" | "videos" | "status" | "clock" | "log">;

const RETRY_MS = 5000;
const MAX_TRIES = 100;

/** Resumes after the stored part. `session`: the session to notify when nothing more can be stored. */
export async function openVideo(
  input: string,
  video: string,
  session: () => string | undefined,
  { recordings, packages, videos, status, clock, log }: OpenVideoDeps,
): Promise<OpenVideo> {
  const recording = await recordings.open(video, { onFault: (err) => void reportUnrecorded(err) });
  let hasSegments = recording.timeline.segments.length > 0;
  const openPackage = packages.open(video, {
    timeline: recording.timeline,
    onSegment(cut) {
      recording.addSegment(cut);
      if (hasSegments) return;
      hasSegments = true;
      // Other processes can play only what is stored. If nothing can be stored, the broadcast is playable in this one.
      recording
        .settled()
        .then(() => videos.playable(video))
        .catch((err: unknown) => log.error({ err, video }, "live: failed to mark a broadcast as playable"));
    },
  });

  /** The broadcast continues: current viewers are served from memory. */
  async function reportUnrecorded(err: unknown) {
    const id = session();
    const logFields = {
      message: `Recording is interrupted: ${messageOf(err)}`,
      ...(id !== undefined && { session: id }),
    };
    // The full disk may also hold the database, so the error is stored once there is space again.
    for (let attempts = 1; ; attempts++) {
      try {
        return await status.recordError(input, "ERR_STORAGE_QUOTA_EXHAUSTED", logFields);
      } catch (closeError) {
        if (attempts === 1)
          log.error({ err: closeError, input, video }, "live: failed to mark a broadcast as not recorded, will retry");
        if (attempts === MAX_TRIES) return;
        await clock.sleep(RETRY_MS);
      }
    }
  }

  return {
    run(run) {
      // Storage comes first: new segments are requested immediately. At the end the order is reversed, because
      // packaging cuts the last segment.
      const sinks = createRunSinks(recording, openPackage, run);
      return {
        init: (rendition, bytes) => sinks.forEach((sink) => sink.init(rendition, bytes)),
        fragment: (fragment) => sinks.forEach((sink) => sink.fragment(fragment)),
        end: () => sinks.toReversed().forEach((sink) => sink.end()),
      };
    },
    settled: () => recording.settled(),
    async close({ ended }) {
      if (ended) openPackage.end();
      else openPackage.stop();
      await recording.close();
    },
  };
}

const createRunSinks = (
  recording: OpenRecording,
  openPackage: OpenPackage,
  run: LiveRun,
): readonly [RunSink, RunSink] => [recording.run(run), openPackage.run(run)];

/** Adds all runs of a session to the video. `onTracks`: called when the published tracks change. */
export function encodeSession(
  runs: LiveEncoder,
  session: LiveSession,
  opened: OpenVideo,
  onTracks: () => void,
): LiveEncoding {
  let tracksKey: string | undefined;
  return runs.encode(session, (run) => {
    const before = tracksKey;
    tracksKey = describeTracks(session.tracks());
    if (before !== undefined && before !== tracksKey) onTracks();
    return opened.run(run);
  });
}
