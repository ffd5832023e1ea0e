import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { clip, countFrames, needsFfmpeg, runFfmpeg } from "../../../../../test/support/media.ts";
import { UserError } from "../../../../kernel/index.ts";
import { createTsMuxer, opusHeader } from "../../../../protocol/mpegts/index.ts";
import { streamErrors } from "../../../errors.ts";
import type { LiveTracks, MediaPacket } from "../../packets.ts";
import { createTsPlayer } from "./ts-player.ts";
import { createTsPublisher } from "./ts-publisher.ts";

type Event = { tracks: LiveTracks } | { packet: MediaPacket };

/** Returns the events of a publisher that sends some streams one after the other. */
function publish(...streams: Buffer[]): Event[] {
  const events: Event[] = [];
  const publisher = createTsPublisher({
    configure: (tracks) => void events.push({ tracks }),
    write: (packet) => void events.push({ packet }),
    unsupported: (kind, codec) => streamErrors.liveCodecUnsupported({ reason: `${kind} ${codec}` }),
  });
  for (const bytes of streams)
    for (let at = 0; at < bytes.length; at += 1316) publisher.write(Buffer.from(bytes.subarray(at, at + 1316)));
  publisher.end();
  return events;
}

const tracksOf = (events: readonly Event[]) => events.flatMap((event) => ("tracks" in event ? [event.tracks] : []));
const packetsOf = (events: readonly Event[], kind: MediaPacket["kind"]) =>
  events.flatMap((event) => ("packet" in event && event.packet.kind === kind ? [event.packet] : []));
const stream = async (recipe: Parameters<typeof clip>[0] = {}) =>
  readFile(await clip({ extension: "ts", seconds: 2, ...recipe }));

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "reelpost-ts-live-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("a new frame size or set of tracks is declared before its first packet", needsFfmpeg, async () => {
  const events = publish(await stream(), await stream({ size: "640x360" }), await stream({ audio: false }));
  assert.deepEqual(
    tracksOf(events).map(({ video, audio }) => [video?.width, audio?.codec]),
    [
      [320, "aac"],
      [640, "aac"],
      [320, undefined],
    ],
  );
  // Number of frames after each tracks event.
  const pictures: number[] = [];
  for (const event of events) {
    if ("tracks" in event) pictures.push(0);
    else if (event.packet.kind === "video") pictures.push(pictures.pop()! + 1);
  }
  // The frame before a jump in the stream may be incomplete.
  assert.deepEqual(pictures, [59, 60, 60]);
  for (const [i, event] of events.entries())
    if (i > 0 && "tracks" in events[i - 1]! && "packet" in event && event.packet.kind === "video")
      assert.ok(event.packet.key);
  assert.ok(packetsOf(events.slice(0, 50), "video")[0]!.dts >= 0);
});

test("does not wait forever for a missing track", needsFfmpeg, async (t) => {
  const path = join(await folder(t), "late.ts");
  // The audio of the program begins after four seconds.
  await runFfmpeg([
    "-i",
    await clip({ seconds: 6, audio: false }),
    "-itsoffset",
    "4",
    "-i",
    await clip({ video: false, extension: "m4a", seconds: 2 }),
    "-map",
    "0:v",
    "-map",
    "1:a",
    "-c",
    "copy",
    path,
  ]);
  const events = publish(await readFile(path));
  assert.deepEqual(
    tracksOf(events).map(({ video, audio }) => [video?.codec, audio?.codec]),
    [
      ["h264", undefined],
      ["h264", "aac"],
    ],
  );
  assert.equal(packetsOf(events, "video").length, 180);
});

test("limits the number of packets it buffers while waiting for a track", () => {
  const out: Buffer[] = [];
  const muxer = createTsMuxer((packets) => void out.push(packets));
  muxer.streams([
    { kind: "video", codec: "h264" },
    { kind: "audio", codec: "opus", channels: 2 },
  ]);
  // A 20 ms frame, always with a presentation time of zero.
  const frame = Buffer.from([0x78, 0]);
  for (let n = 0; n < 3000; n++)
    muxer.unit({ kind: "audio", pts: 0, dts: 0, key: true, data: Buffer.concat([opusHeader(frame.length), frame]) });
  const events = publish(Buffer.concat(out));
  assert.deepEqual(
    tracksOf(events).map(({ video, audio }) => [video, audio?.codec]),
    [[undefined, "opus"]],
  );
  assert.ok(packetsOf(events, "audio").length >= 2999);
});

test("drops malformed data, and rejects only unsupported codecs", needsFfmpeg, async () => {
  const bytes = await stream({ seconds: 1 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 50 }),
      fc.array(fc.nat(Math.floor(bytes.length / 188) - 1), { maxLength: 20 }),
      (changes, gone) => {
        const broken = Buffer.from(bytes);
        for (const [at, octet] of changes) broken[at] = octet;
        const pieces = Array.from({ length: Math.floor(bytes.length / 188) }, (_, i) =>
          broken.subarray(i * 188, (i + 1) * 188),
        ).filter((_, i) => !gone.includes(i));
        try {
          for (const event of publish(Buffer.concat(pieces)))
            if ("packet" in event)
              assert.ok(
                Number.isFinite(event.packet.dts) &&
                  event.packet.pts >= event.packet.dts &&
                  event.packet.data.length > 0,
              );
        } catch (err) {
          assert.ok(err instanceof UserError, String(err));
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("a player's stream continues across the discontinuities of a broadcast", needsFfmpeg, async (t) => {
  const path = join(await folder(t), "out.ts");
  const out: Buffer[] = [];
  let now = 0;
  const player = createTsPlayer({ write: (packets) => void out.push(packets), now: () => now });
  for (const [i, recipe] of [{}, { size: "640x360" as const }, { audio: ["-c:a", "libopus"] }].entries()) {
    // The second run follows immediately, the third after a gap.
    now = [0, 2000, 9000][i]!;
    const events = publish(await stream(recipe));
    for (const event of events) {
      if ("tracks" in event) player.tracks(event.tracks, { id: String(i), started: 0 });
      else player.packet(event.packet);
    }
  }
  await writeFile(path, Buffer.concat(out));
  assert.equal(await countFrames(path), 180);
  const times = (
    await runFfmpeg(["-select_streams", "v", "-show_entries", "packet=dts_time", "-of", "csv=p=0", path], "ffprobe")
  )
    .toString()
    .split("\n")
    .filter((line) => /^\d/.test(line))
    .map(Number.parseFloat);
  assert.ok(
    times.every((time, i) => i === 0 || time > times[i - 1]!),
    "timestamps increase",
  );
  assert.ok(
    times[120]! - times[119]! > 4 && times[60]! - times[59]! < 0.2,
    `${times[59]} ${times[60]}, ${times[119]} ${times[120]}`,
  );
});

test(
  "players receive only the audio of a broadcast whose video codec MPEG-TS does not support",
  needsFfmpeg,
  async (t) => {
    const path = join(await folder(t), "sound.ts");
    const out: Buffer[] = [];
    const player = createTsPlayer({ write: (packets) => void out.push(packets), now: () => 0 });
    const events = publish(await stream());
    const { audio } = tracksOf(events)[0]!;
    player.tracks(
      { video: { codec: "vp8", config: Buffer.alloc(0), width: 0, height: 0 }, audio: audio! },
      { id: "a", started: 0 },
    );
    for (const kind of ["video", "audio"] as const) for (const packet of packetsOf(events, kind)) player.packet(packet);
    await writeFile(path, Buffer.concat(out));
    assert.equal(
      (await runFfmpeg(["-show_entries", "stream=codec_name", "-of", "csv=p=0", path], "ffprobe"))
        .toString()
        .trim()
        .split("\n")[0],
      "aac",
    );
  },
);
