import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { TestContext } from "node:test";
import { runFfmpeg, X264 } from "../../../../test/support/media.ts";
import { type Log, silentLog } from "../../../kernel/index.ts";
import {
  aacEntry,
  locateMovie,
  readAac,
  readAvc,
  readMovie,
  iterateSamples,
  type Track,
} from "../../../protocol/mp4/index.ts";
import type { MediaTools } from "../../media/port.ts";
import { MediaRunError } from "../../media/run-error.ts";
import type { LiveFragment, LiveRun, LiveEncoding } from "../fragments.ts";
import { openHub } from "../hub/hub.testing.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { LiveSession } from "../session.ts";
import { createAdmission } from "./admission.ts";
import { createLiveEncoder, type LiveEncoderDeps } from "./live-encoder.ts";

const AAC_48_STEREO = Buffer.from("1190", "hex");

/**
 * Resolves with a clip (H.264 or VP9, with 48 kHz stereo AAC or Opus, in mp4) as a publisher would send it: packets
 * ordered by time, rounded to `round` microseconds.
 */
export async function packetsOf(
  path: string,
  { round = 1 } = {},
): Promise<{ tracks: LiveTracks; packets: MediaPacket[] }> {
  const bytes = await readFile(path);
  const { movie } = await locateMovie(async (start, length) => bytes.subarray(start, start + length), bytes.length);
  const found = readMovie(movie).tracks;
  const [video, audio] = [
    found.find(({ handler }) => handler === "vide"),
    found.find(({ handler }) => handler === "soun"),
  ];
  const packets = [
    video && samplesOf(video, bytes, "video", round),
    audio && samplesOf(audio, bytes, "audio", round),
  ].flatMap((list) => list ?? []);
  const typeOf = (track: Track | undefined) => track?.descriptions[0]!.toString("latin1", 4, 8);
  const avc = video && readAvc(video.descriptions[0]!);
  const aac = audio && readAac(audio.descriptions[0]!);
  return {
    tracks: {
      ...(avc && {
        video: { codec: "h264" as const, config: configOf(avc.entry), width: avc.width, height: avc.height },
      }),
      ...(typeOf(video) === "hvc1" && { video: { codec: "hevc" as const, ...sizeIn(video!, "hvcC") } }),
      ...(typeOf(video) === "av01" && { video: { codec: "av1" as const, ...sizeIn(video!, "av1C") } }),
      ...(typeOf(video) === "vp09" && {
        video: { codec: "vp9" as const, config: Buffer.alloc(0), width: 320, height: 180 },
      }),
      ...(typeOf(audio) === "Opus" && {
        audio: { codec: "opus" as const, config: Buffer.alloc(0), sampleRate: 48_000, channels: 2 },
      }),
      ...(aac && {
        audio: {
          codec: "aac" as const,
          config: AAC_48_STEREO,
          sampleRate: aacEntry(AAC_48_STEREO).sampleRate,
          channels: aac.channels,
        },
      }),
    },
    packets: packets.toSorted((a, b) => a.dts - b.dts),
  };
}

/** Returns the configuration record and size in pixels, from the sample entry (ISO 14496-12, 12.1.3). */
function sizeIn({ descriptions: [entry] }: Track, box: string) {
  return { config: configOf(entry!, box), width: entry!.readUInt16BE(32), height: entry!.readUInt16BE(34) };
}

function configOf(entry: Buffer, box = "avcC"): Buffer {
  const at = entry.indexOf(box, 0, "latin1");
  return entry.subarray(at + 4, at - 4 + entry.readUInt32BE(at - 4));
}

function samplesOf(track: Track, bytes: Buffer, kind: MediaPacket["kind"], round: number): MediaPacket[] {
  const packets: MediaPacket[] = [];
  const walk = iterateSamples(track.samples());
  const us = (ticks: number) => Math.round((ticks * 1_000_000) / track.timescale / round) * round;
  if (walk === undefined) return [];
  do
    packets.push({
      kind,
      dts: us(walk.time),
      pts: us(walk.time + walk.shift),
      key: kind === "audio" || walk.sync,
      data: bytes.subarray(walk.offset, walk.offset + walk.size),
    });
  while (walk.next());
  return packets;
}

/** A run as received by a sink. */
interface ReceivedRun {
  run: LiveRun;
  inits: Map<string, Buffer>;
  fragments: LiveFragment[];
  ended: boolean;
}

interface EncodingOptions {
  tools: Pick<MediaTools, "live">;
  encoders?: number;
  ladder?: LiveEncoderDeps["settings"]["ladder"];
  log?: Log;
  /** The tools never exit on their own, and are killed as in production. */
  hanging?: boolean;
}

/** On a busy machine, an encoder may need seconds to start. */
const PATIENT = { idleMs: 60_000, totalMs: 90_000 };

/** Opens a publisher, the hub, and the encoder output. */
export async function openEncoding(
  t: TestContext,
  { tools, encoders = 2, ladder = ["360p"], log = silentLog, hanging = false }: EncodingOptions,
) {
  const admission = createAdmission({ encoders });
  const world = openHub();
  const { hub, clock } = world;
  world.inputs.add("secret");
  const runs: ReceivedRun[] = [];
  const notes: string[][] = [];
  const encoder = createLiveEncoder({
    tools,
    admission,
    clock,
    log,
    settings: { ladder, part_ms: 333 },
    ...(!hanging && { exitLimits: PATIENT }),
    setNotes: (session, sentences) => {
      notes.push([...sentences]);
      hub.setNotes(session, sentences);
    },
  });
  const encodings: LiveEncoding[] = [];
  /** Starts encoding a session; may be called repeatedly. */
  const make = (session: LiveSession) =>
    void encodings.push(
      encoder.encode(session, (run) => {
        assert.ok(
          runs.every(({ ended }) => ended),
          "media after a discontinuity begins before the previous sink has ended",
        );
        const received: ReceivedRun = { run, inits: new Map(), fragments: [], ended: false };
        runs.push(received);
        return {
          init: (rendition, bytes) => void received.inits.set(rendition, bytes),
          fragment(fragment) {
            assert.ok(!received.ended && received.inits.has(fragment.rendition));
            received.fragments.push(fragment);
          },
          end: () => void (received.ended = true),
        };
      }),
    );
  const stop = hub.onSession(make);
  const publication = await world.publish("secret");
  const folder = mkdtempSync(join(tmpdir(), "reelpost-live-encode-"));
  t.after(() => {
    hub.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Resolves with the whole rendition of a run, as one file. */
  async function whole(received: ReceivedRun, rendition: string): Promise<string> {
    const path = join(folder, `${received.run.id}-${rendition}.mp4`);
    await writeFile(
      path,
      Buffer.concat([
        received.inits.get(rendition)!,
        ...received.fragments.filter((fragment) => fragment.rendition === rendition).map(({ bytes }) => bytes),
      ]),
    );
    return path;
  }

  return {
    ...world,
    admission,
    runs,
    notes,
    publication,
    whole,
    encodings,
    make,
    stop,
    session: () => world.sessions[0]!,
    /** Sends all packets immediately. */
    send: (packets: readonly MediaPacket[]) => packets.forEach((packet) => publication.write(packet)),
    async finish() {
      publication.end(true);
      await Promise.all(encodings.map(({ done }) => done));
    },
  };
}

/** Returns the times in seconds of the key frames that start fragments. */
export const keyFrameTimesOf = ({ fragments }: ReceivedRun, rendition: string): number[] =>
  fragments.filter((fragment) => fragment.rendition === rendition && fragment.key).map(({ time }) => time);

/** Resolves with the presentation time in seconds of every video or audio frame, as read by ffprobe. */
export async function presentationTimes(path: string): Promise<number[]> {
  const { packets } = JSON.parse(
    (await runFfmpeg(["-show_entries", "packet=pts_time", "-of", "json", path], "ffprobe")).toString(),
  ) as { packets: { pts_time: string }[] };
  return packets.map(({ pts_time }) => Number(pts_time)).toSorted((a, b) => a - b);
}

/**
 * Waits until the encoder has produced all renditions up to this time in seconds; the remaining output follows during
 * its time to exit.
 */
export const waitUntilEncoded = (received: ReceivedRun, seconds: number) =>
  until(
    () =>
      received.run.renditions.every(({ name }) =>
        received.fragments.some(({ rendition, time, duration }) => rendition === name && time + duration > seconds),
      ),
    `all renditions up to ${seconds} s`,
  );

export async function until(condition: () => boolean, what: string): Promise<void> {
  const late = performance.now() + 60_000;
  while (!condition()) {
    assert.ok(performance.now() < late, `timed out after a minute, waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Encoder options for H.264 without reordered frames. */
export const ZERO_DELAY = [...X264, "-bf", "0"];

/** Fails the test if something is encoded. */
export const none: Pick<MediaTools, "live"> = { live: () => assert.fail("something was encoded") };

/** Asserts that both lists have the same times, within a tolerance in seconds. */
export const assertNear = (actual: readonly number[], expected: readonly number[], within: number) => {
  assert.equal(actual.length, expected.length);
  for (const [i, time] of actual.entries())
    assert.ok(Math.abs(time - expected[i]!) <= within, `${i}: ${time} instead of ${expected[i]}`);
};

/** Returns the packets of a later round of a publisher that repeats the same packets endlessly with later times. */
export const repeatPackets = (packets: readonly MediaPacket[], round: number, seconds: number) =>
  packets.map((packet) => ({
    ...packet,
    dts: packet.dts + round * seconds * 1_000_000,
    pts: packet.pts + round * seconds * 1_000_000,
  }));

/** Encoders that never read or write. */
export function createHangingEncoders() {
  const fails: ((err: Error) => void)[] = [];
  const tools: Pick<MediaTools, "live"> = {
    live() {
      const { promise, reject } = Promise.withResolvers<never>();
      promise.catch(() => {});
      fails.push(reject);
      return {
        stdin: new PassThrough({ highWaterMark: 1 }),
        done: promise,
        kill: () => reject(new MediaRunError("aborted", "killed")),
      };
    },
  };
  return { tools, fails };
}
