import type { Log } from "../../../kernel/index.ts";
import { writeInit } from "../../../protocol/mp4/index.ts";
import type { MediaTools } from "../../media/index.ts";
import type { LiveFragment, RunSink } from "../fragments.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import { createEncoder, type EncoderLoss, type ExitLimits, type RenditionEncoder } from "./encoder.ts";
import { createVideoFragments, VIDEO_TIMESCALE, toVideoTicks, TRACK_ID } from "./picture-fragments.ts";
import { LIVE_AUDIO_RENDITION, type Plan, LIVE_SOURCE_RENDITION } from "./plan.ts";
import { createAudioFragments } from "./audio-fragments.ts";

interface RunDeps {
  tools: Pick<MediaTools, "live">;
  log: Log;
  /** Milliseconds. */
  now(): number;
  plan: Plan;
  tracks: LiveTracks;
  partMs: number;
  /** Never use a hardware encoder. */
  isSoftwareOnly: boolean;
  /** A key frame if there is video. */
  first: MediaPacket;
  sink: RunSink;
  exitLimits?: ExitLimits | undefined;
  onLost(loss: EncoderLoss): void;
}

/** An active run: packets in, fragments out to the sink. Packet times start at zero. */
export interface ActiveRun {
  packet(packet: MediaPacket): void;
  /** Emits the remaining output, then ends the sink. Undefined if this was done immediately. */
  end(): Promise<void> | undefined;
}

export function createRun({
  tools,
  log,
  now,
  plan,
  tracks,
  partMs,
  isSoftwareOnly,
  first,
  sink: unguardedSink,
  exitLimits,
  onLost,
}: RunDeps): ActiveRun {
  const sink = guardSink(unguardedSink, log);
  const delay = first.kind === "video" ? first.pts - first.dts : 0;
  let isEnded = false;
  // Late output from a killed encoder is ignored.
  const onFragment = (fragment: LiveFragment) => void (isEnded || sink.fragment(fragment));
  const endRun = () => {
    isEnded = true;
    sink.end();
  };
  const { video, audio, encode } = plan;
  const videoFragments = video && createVideoFragments({ rendition: LIVE_SOURCE_RENDITION, partMs, onFragment });
  const audioOutput =
    audio &&
    createAudioFragments({
      rendition: LIVE_AUDIO_RENDITION,
      partMs,
      sampleRate: audio.sampleRate,
      frame: audio.frame,
      followsVideo: video !== undefined || encode.rungs.length > 0,
      onFragment,
    });
  if (video)
    sink.init(
      LIVE_SOURCE_RENDITION,
      writeInit({
        id: TRACK_ID,
        handler: "vide",
        timescale: VIDEO_TIMESCALE,
        width: video.width,
        height: video.height,
        description: video.entry,
      }),
    );
  if (audio)
    sink.init(
      LIVE_AUDIO_RENDITION,
      writeInit({
        id: TRACK_ID,
        handler: "soun",
        timescale: audio.sampleRate,
        width: 0,
        height: 0,
        description: audio.entry,
      }),
    );
  const encoder: RenditionEncoder | undefined =
    encode.rungs.length > 0 || encode.audio
      ? createEncoder({
          tools,
          plan,
          tracks,
          partMs,
          isSoftwareOnly,
          delay,
          onInit: sink.init,
          onFragment,
          onLost,
          now,
          ...(exitLimits && { exitLimits }),
          ...(video === undefined && { onVideo: forwardKey }),
        })
      : undefined;

  /** Ends audio fragments at the key frames of the leading video rendition. Times in microseconds. */
  function forwardKey(presentationTime: number, decodeTime: number, key: boolean): void {
    if (key) for (const audioFragments of [audioOutput, encoder]) audioFragments?.cutAt(presentationTime);
    for (const audioFragments of [audioOutput, encoder]) audioFragments?.setVideoTime(decodeTime);
  }

  return {
    packet(packet) {
      const { kind, dts, pts, key, data } = packet;
      if (kind === "audio") audioOutput?.add(dts, data);
      else {
        const time = toVideoTicks(dts);
        videoFragments?.add({ time, shift: toVideoTicks(pts) - time, key, data });
        if (videoFragments) forwardKey(pts, dts, key);
      }
      encoder?.packet(packet);
    },
    end(): Promise<void> | undefined {
      videoFragments?.end();
      audioOutput?.end();
      const rest = encoder?.end();
      return rest === undefined
        ? void endRun()
        : rest.catch((err: unknown) => log.error({ err }, "live: failed to stop an encoder")).then(endRun);
    },
  };
}

/** A failing sink is an internal error and must not end the broadcast for other viewers. */
function guardSink(sink: RunSink, log: Log): RunSink {
  const attempt = (action: () => void) => {
    try {
      action();
    } catch (err) {
      log.error({ err }, "live: failed to store a segment");
    }
  };
  return {
    init: (rendition, bytes) => attempt(() => sink.init(rendition, bytes)),
    fragment: (fragment) => attempt(() => sink.fragment(fragment)),
    end: () => attempt(() => sink.end()),
  };
}
