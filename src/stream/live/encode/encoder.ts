import { messageOf } from "../../../kernel/index.ts";
import { createAdtsReader } from "../../../protocol/aac/index.ts";
import { aacEntry, createMp4SegmentReader, readFragments, readInit, writeInit } from "../../../protocol/mp4/index.ts";
import { type H264Encoder, MediaRunError, type MediaTools, SOFTWARE_ENCODER } from "../../media/index.ts";
import type { LiveFragment } from "../fragments.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import { encoderArgs } from "./encoder-args.ts";
import { createEncoderInput } from "./encoder-input.ts";
import { createKeyTimes } from "./key-times.ts";
import { createVideoFragments, VIDEO_TIMESCALE, toVideoTicks, TRACK_ID } from "./picture-fragments.ts";
import { LIVE_AUDIO_RENDITION, LIVE_AUDIO_RATE, type Plan } from "./plan.ts";
import { createAudioFragments } from "./audio-fragments.ts";

interface EncoderDeps {
  tools: Pick<MediaTools, "live">;
  plan: Plan;
  tracks: LiveTracks;
  partMs: number;
  /** Never use a hardware encoder. */
  isSoftwareOnly: boolean;
  /**
   * Microseconds from decoding to presentation of the first frame and of key frames, so that key frames have the same
   * times in all renditions.
   */
  delay: number;
  onInit(rendition: string, bytes: Buffer): void;
  onFragment(fragment: LiveFragment): void;
  /** Called for each output frame of the first rendition, with its presentation and decode time in microseconds. */
  onVideo?(presentationTime: number, decodeTime: number, key: boolean): void;
  /** Called when the encoder ends unexpectedly: no further output follows. */
  onLost(loss: EncoderLoss): void;
  /** Default: EXIT_LIMITS. */
  exitLimits?: ExitLimits;
  /** Milliseconds. */
  now(): number;
}

export interface EncoderLoss {
  /** "slow": it did not keep up. */
  cause: "slow" | "failed";
  message: string;
  /** The H.264 encoder that was used; undefined if ffmpeg did not start or encoded only audio. */
  h264: H264Encoder | undefined;
}

/** An encoder whose input has ended is killed if it is idle for the first of these times or runs for the second. */
export interface ExitLimits {
  idleMs: number;
  totalMs: number;
}

/** One child process that encodes the renditions that are not passed through. Never waits, never throws. */
export interface RenditionEncoder {
  packet(packet: MediaPacket): void;
  /** As in AudioFragments, for the encoded audio. */
  cutAt(time: number): void;
  setVideoTime(time: number): void;
  /** Delivers the remaining output and kills an encoder that stalls. Returns undefined if it has already ended. */
  end(): Promise<void> | undefined;
}

const EXIT_LIMITS: ExitLimits = { idleMs: 2000, totalMs: 10_000 };
/** Maximum number of octets queued for the encoder. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** Longer than the hub's timeout for a silent publisher. */
const IDLE_MS = 90_000;
/**
 * The encoder is too slow if it stays this far behind for this long: bursts from the network or CPU load are temporary.
 */
const MAX_LAG_US = 4_000_000;
const LAG_GRACE_MS = 6000;
const AAC_FRAME_SAMPLES = 1024;
/** AAC-LC, 48 kHz, stereo: identical to every frame's ADTS header. */
const AUDIO_CONFIG = Buffer.from([0x11, 0x90]);

export function createEncoder({
  tools,
  plan,
  tracks,
  partMs,
  isSoftwareOnly,
  delay,
  onInit,
  onFragment,
  onVideo,
  onLost,
  exitLimits = EXIT_LIMITS,
  now,
}: EncoderDeps): RenditionEncoder {
  const { rungs, audio } = plan.encode;
  const input = createEncoderInput(
    {
      ...(rungs.length > 0 && tracks.video && { video: tracks.video }),
      ...(audio && tracks.audio && { audio: tracks.audio }),
    },
    delay,
  );
  const keys = createKeyTimes();
  /** Time of the latest output in microseconds, by output. */
  const progress: number[] = Array.from({ length: rungs.length + (audio ? 1 : 0) }, () => 0);
  const inputProgress = { video: 0, audio: 0 };
  let behindSince: number | undefined;
  let inputEnded = false;
  /** Called for each chunk of output. */
  let onOutput = () => {};

  const outputs = rungs.map(({ name }, i) => {
    const pieces = createMp4SegmentReader();
    const isKeyFrameAt = plan.keyFrames === "source" ? keys.reader() : (_: number, key: boolean) => key;
    const fragments = createVideoFragments({ rendition: name, partMs, onFragment });
    return {
      async take(chunk: Buffer) {
        for (const { kind, bytes } of pieces.push(chunk)) {
          // Rewritten so that it contains only the sample description.
          if (kind === "init")
            onInit(name, writeInit({ ...(await readInit(bytes)), id: TRACK_ID, timescale: VIDEO_TIMESCALE }));
          else {
            for (const fragment of await readFragments(
              async (start, length) => bytes.subarray(start, start + length),
              bytes.length,
            )) {
              let dataOffset = fragment.dataStart;
              let { time } = fragment;
              for (const [n, size] of fragment.sizes.entries()) {
                const key = isKeyFrameAt(time, fragment.syncs[n] === 1);
                fragments.add({
                  time,
                  shift: toVideoTicks(delay),
                  key,
                  data: bytes.subarray(dataOffset, dataOffset + size),
                });
                progress[i] = (time * 1_000_000) / VIDEO_TIMESCALE;
                if (i === 0) onVideo?.(progress[i]! + delay, progress[i]!, key);
                dataOffset += size;
                time += fragment.durations[n]!;
              }
            }
          }
        }
      },
      end: fragments.end,
    };
  });

  function createAudioOutput() {
    onInit(
      LIVE_AUDIO_RENDITION,
      writeInit({
        id: TRACK_ID,
        handler: "soun",
        timescale: LIVE_AUDIO_RATE,
        width: 0,
        height: 0,
        description: aacEntry(AUDIO_CONFIG).entry,
      }),
    );
    const adts = createAdtsReader();
    const fragments = createAudioFragments({
      rendition: LIVE_AUDIO_RENDITION,
      partMs,
      sampleRate: LIVE_AUDIO_RATE,
      frame: AAC_FRAME_SAMPLES,
      followsVideo: tracks.video !== undefined,
      onFragment,
    });
    // The first frame primes decoders and is presented before zero.
    let count = -1;
    return {
      take(chunk: Buffer) {
        for (const data of adts.push(chunk)) {
          const time = (count++ * AAC_FRAME_SAMPLES * 1_000_000) / LIVE_AUDIO_RATE;
          if (time < 0) continue;
          fragments.add(time, Buffer.from(data));
          progress[rungs.length] = time;
        }
      },
      ...fragments,
    };
  }
  const audioOutput = audio ? createAudioOutput() : undefined;
  const allOutputs = [...outputs, ...(audioOutput ? [audioOutput] : [])];

  let usedH264: H264Encoder | undefined;
  const child = tools.live({
    args(selected) {
      const h264 = isSoftwareOnly ? SOFTWARE_ENCODER : selected;
      if (rungs.length > 0) usedH264 = h264;
      return encoderArgs({ rungs, video: rungs.length > 0, audio, keyFrames: plan.keyFrames, h264 });
    },
    outputs: allOutputs.map(({ take }) => (chunk: Buffer) => {
      onOutput();
      return take(chunk);
    }),
    urgency: "urgent",
    inputBytes: MAX_WAITING_BYTES,
    idleMs: IDLE_MS,
    // More threads would delay frames.
    threads: 1,
  });
  child.stdin.write(input.header());
  const done = child.done.then(
    () => reportLoss("failed", "the encoder exited unexpectedly"),
    (err: unknown) =>
      reportLoss(err instanceof MediaRunError && err.reason === "input" ? "slow" : "failed", messageOf(err)),
  );

  function reportLoss(cause: EncoderLoss["cause"], message: string) {
    if (inputEnded) return;
    inputEnded = true;
    onLost({ cause, message, h264: usedH264 });
  }

  async function finish() {
    inputEnded = true;
    child.stdin.end();
    const exitTimer = setTimeout(() => child.kill(), exitLimits.idleMs);
    const limit = setTimeout(() => child.kill(), exitLimits.totalMs);
    onOutput = () => void exitTimer.refresh();
    await done;
    clearTimeout(exitTimer);
    clearTimeout(limit);
    for (const { end } of allOutputs) end();
  }

  function watchPace() {
    const lag = Math.max(
      ...progress.map((time, i) => (i < rungs.length ? inputProgress.video : inputProgress.audio) - time),
    );
    if (lag < MAX_LAG_US) behindSince = undefined;
    else if (now() - (behindSince ??= now()) > LAG_GRACE_MS) {
      reportLoss("slow", "the encoder did not keep up");
      child.kill();
    }
  }

  return {
    packet(packet) {
      if (inputEnded || (packet.kind === "video" ? rungs.length === 0 : !audio)) return;
      if (packet.kind === "video" && packet.key) keys.source(toVideoTicks(packet.pts - delay));
      for (const bytes of input.packet(packet)) child.stdin.write(bytes);
      inputProgress[packet.kind] = packet.dts;
      watchPace();
    },
    cutAt: (time) => audioOutput?.cutAt(time),
    setVideoTime: (time) => audioOutput?.setVideoTime(time),
    end: () => (inputEnded ? undefined : finish()),
  };
}
