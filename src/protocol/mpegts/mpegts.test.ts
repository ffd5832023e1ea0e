import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { clip, countFrames, needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import { crc32 } from "./crc.ts";
import {
  adtsHeader,
  createTimedAdtsReader,
  createMpegAudioReader,
  createTsDemuxer,
  createTsMuxer,
  opusHead,
  opusHeader,
  readOpus,
  type TsStream,
  type TsUnit,
} from "./index.ts";
import { TS_PACKET } from "./demux.ts";

function demux(bytes: Buffer, size = 1316) {
  const streams: TsStream[][] = [];
  const units: TsUnit[] = [];
  const demuxer = createTsDemuxer({
    streams: (found) => void streams.push(found),
    unit: (unit) => void units.push({ ...unit, data: Buffer.from(unit.data) }),
  });
  for (let at = 0; at < bytes.length; at += size) demuxer.write(Buffer.from(bytes.subarray(at, at + size)));
  demuxer.end();
  return { streams, units };
}

const of = (units: readonly TsUnit[], codec: TsStream["codec"]) => units.filter(({ stream }) => stream.codec === codec);
const transport = async () => readFile(await clip({ extension: "ts", seconds: 2 }));

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "reelpost-ts-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Packet times according to ffprobe, in 1/90,000 s. */
async function packetsOf(path: string, stream: string) {
  const listed = await runFfmpeg(
    ["-select_streams", stream, "-show_entries", "packet=pts,dts,size", "-of", "csv=p=0", path],
    "ffprobe",
  );
  return listed
    .toString()
    .split("\n")
    .filter((line) => /^\d/.test(line))
    .map((line) => line.split(",").slice(0, 3).map(Number));
}

test("the table CRC matches the CRC of MPEG-2", () => {
  assert.equal(crc32(Buffer.from("123456789")), 0x0376e6e7);
  assert.equal(crc32(Buffer.concat([Buffer.from("123456789"), Buffer.from([0x03, 0x76, 0xe6, 0xe7])])), 0);
});

test(
  "a stream written by ffmpeg is split into its video and audio frames, regardless of chunking",
  needsFfmpeg,
  async () => {
    const bytes = await transport();
    const { streams, units } = demux(bytes);
    assert.deepEqual(
      streams.map((found) => found.map(({ codec }) => codec)),
      [["h264", "aac"]],
    );
    const video = await packetsOf(await clip({ extension: "ts", seconds: 2 }), "v:0");
    assert.deepEqual(
      of(units, "h264").map(({ pts, dts, data }) => [pts, dts, data.length]),
      video,
    );
    const reader = createTimedAdtsReader();
    const frames = of(units, "aac").flatMap(({ data, pts }) => reader.read(data, pts));
    const audio = await packetsOf(await clip({ extension: "ts", seconds: 2 }), "a:0");
    assert.deepEqual(
      frames.map(({ data }) => data.length + 7),
      audio.map(([, , size]) => size),
    );
    const [first] = frames;
    assert.deepEqual([first!.sampleRate, first!.channels, first!.config.toString("hex")], [48_000, 2, "1190"]);
    assert.deepEqual(adtsHeader(first!.config, first!.data.length)?.length, 7);
    for (const size of [1, 187, 188, 100_000])
      assert.deepEqual(demux(bytes, size).units, units, `in chunks of ${size}`);
  },
);

test("only damaged data is dropped", needsFfmpeg, async () => {
  const bytes = await transport();
  const { units } = demux(bytes);
  // The stream lacks one packet in the middle of a frame, and has garbage between two others.
  const at = Math.floor(bytes.length / 2 / TS_PACKET) * TS_PACKET;
  const cut = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + TS_PACKET)]);
  assert.ok(demux(cut).units.length >= units.length - 2 && demux(cut).units.length < units.length);
  const noisy = Buffer.concat([bytes.subarray(0, at), Buffer.alloc(77, 1), bytes.subarray(at)]);
  assert.deepEqual(demux(noisy).units, units);
});

test("33-bit times continue after a wraparound", needsFfmpeg, async (t) => {
  const path = join(await folder(t), "wrap.ts");
  await runFfmpeg([
    "-i",
    await clip({ seconds: 2 }),
    "-c",
    "copy",
    "-output_ts_offset",
    String(2 ** 33 / 90_000 - 2),
    path,
  ]);
  const times = of(demux(await readFile(path)).units, "h264").map(({ dts }) => dts);
  assert.ok(times.at(-1)! > 2 ** 33);
  for (const [i, time] of times.entries())
    assert.ok(i === 0 || Math.abs(time - times[i - 1]! - 3000) <= 1, `${time} after ${times[i - 1]}`);
});

for (const [codec, options] of [
  ["mp3", ["-c:a", "libmp3lame"]],
  ["mp3", ["-c:a", "libmp3lame", "-ar", "22050", "-ac", "1"]],
  ["opus", ["-c:a", "libopus"]],
  ["other audio", ["-c:a", "ac3"]],
  ["mp3", ["-c:a", "mp2"]],
] as const) {
  test(`audio encoded with ${options.join(" ")}`, needsFfmpeg, async (t) => {
    const path = join(await folder(t), "sound.ts");
    await runFfmpeg(["-f", "lavfi", "-i", "sine=duration=1:sample_rate=48000", ...options, path]);
    const { streams, units } = demux(await readFile(path));
    assert.deepEqual(
      streams[0]!.map((stream) => stream.codec),
      [codec],
    );
    const sizes = (await packetsOf(path, "a:0")).map(([, , size]) => size);
    if (codec === "opus") {
      const packets = units.flatMap(({ data }) => readOpus(data));
      assert.deepEqual(
        packets.map(({ data }) => data.length),
        sizes,
      );
      assert.ok(packets.every(({ samples }) => samples === 960));
      assert.deepEqual([streams[0]![0]!.channels, opusHead(1).toString("latin1", 0, 8)], [1, "OpusHead"]);
      assert.deepEqual(readOpus(Buffer.concat([opusHeader(600), Buffer.alloc(600)]))[0]!.data.length, 600);
    } else if (codec === "mp3") {
      const reader = createMpegAudioReader();
      const read = units.map(({ data, pts }) => reader.read(data, pts));
      if ((options[1] as string) === "mp2") assert.ok(read.includes("other"));
      else
        assert.deepEqual(
          read.flat().map((frame) => (frame as { data: Buffer }).data.length),
          sizes,
        );
    } else assert.equal(streams[0]![0]!.name, "AC-3");
  });
}

test("an MPEG audio layer other than III is reported only before the first frame", () => {
  const frame = Buffer.alloc(384);
  frame.set([0xff, 0xfb, 0x94, 0xc4]);
  const second = Buffer.from([0xff, 0xfd, 0x94, 0xc4]);
  const reader = createMpegAudioReader();
  // The rest of a frame whose beginning was lost.
  const read = reader.read(Buffer.concat([frame, second, Buffer.alloc(50), frame]), 7);
  assert.deepEqual(read, [
    { data: frame, sampleRate: 48_000, channels: 1, samples: 1152, pts: 7 },
    { data: frame, sampleRate: 48_000, channels: 1, samples: 1152, pts: undefined },
  ]);
  assert.equal(createMpegAudioReader().read(Buffer.concat([second, Buffer.alloc(50), frame]), 7), "other");
});

test("the output plays, and is read back as written", needsFfmpeg, async (t) => {
  const { units } = demux(await transport());
  const out: Buffer[] = [];
  const muxer = createTsMuxer((packets) => void out.push(packets));
  muxer.streams([
    { kind: "video", codec: "h264" },
    { kind: "audio", codec: "aac" },
  ]);
  const begin = Math.min(...units.map(({ dts }) => dts));
  for (const { stream, pts, dts, data } of units)
    muxer.unit({
      kind: stream.codec === "aac" ? "audio" : "video",
      pts: pts - begin,
      dts: dts - begin,
      key: true,
      data,
    });
  const bytes = Buffer.concat(out);
  assert.equal(bytes.length % TS_PACKET, 0);
  const again = demux(bytes).units;
  for (const codec of ["h264", "aac"] as const)
    assert.deepEqual(
      of(again, codec).map(({ pts, dts, data }) => [pts - 90_000 + begin, dts - 90_000 + begin, data]),
      of(units, codec).map(({ pts, dts, data }) => [pts, dts, data]),
    );
  const path = join(await folder(t), "again.ts");
  await writeFile(path, bytes);
  assert.equal(await countFrames(path), 60);
  // ffmpeg checks the continuity, clocks and tables.
  assert.equal((await runFfmpeg(["-v", "warning", "-i", path, "-c", "copy", "-f", "null", "-"])).length, 0);
});

test("access units of every size fill their packets completely", () => {
  const sizes = [
    1, 2, 100, 150, 155, 156, 157, 158, 159, 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 180,
    184, 340, 350, 351, 352, 353, 354, 355, 356, 70_000,
  ];
  for (const key of [true, false]) {
    const out: Buffer[] = [];
    const muxer = createTsMuxer((packets) => void out.push(packets));
    muxer.streams([
      { kind: "audio", codec: "aac" },
      { kind: "video", codec: "h264" },
    ]);
    const data = sizes.map((size) => Buffer.alloc(size, size));
    for (const [i, bytes] of data.entries())
      for (const kind of ["video", "audio"] as const)
        if (kind === "video" || bytes.length < 60_000)
          muxer.unit({ kind, pts: i * 3000 + 1500, dts: i * 3000, key, data: bytes });
    const { units } = demux(Buffer.concat(out));
    assert.deepEqual(
      of(units, "h264").map((unit) => unit.data),
      data,
    );
    assert.deepEqual(
      of(units, "aac").map((unit) => unit.data),
      data.slice(0, -1),
    );
  }
});

test("a frame that arrives one octet at a time is buffered up to a maximum number of packets", () => {
  const written: Buffer[] = [];
  const muxer = createTsMuxer((packets) => void written.push(Buffer.from(packets)));
  muxer.streams([{ kind: "video", codec: "h264" }]);
  muxer.unit({ kind: "video", dts: 0, pts: 0, key: true, data: Buffer.from([0, 0, 0, 1, 0x65]) });
  const { pid } = demux(Buffer.concat(written)).units[0]!.stream;
  /** Pads the packet with stuffing; the demultiplexer accepts any counter. */
  const packet = (payload: Buffer, begins: boolean) => {
    const bytes = Buffer.alloc(TS_PACKET, 0xff);
    bytes.set([0x47, (begins ? 0x40 : 0) | (pid >> 8), pid & 255, 0x30, TS_PACKET - 5 - payload.length, 0x80]);
    payload.copy(bytes, TS_PACKET - payload.length);
    return bytes;
  };
  const begin = packet(Buffer.from([0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1]), true);
  const octet = packet(Buffer.from([7]), false);
  const sizes = (octets: number) =>
    demux(Buffer.concat([...written, begin, ...Array<Buffer>(octets).fill(octet), begin, octet]))
      .units.map(({ data }) => data.length)
      .slice(1);
  assert.deepEqual(sizes(1000), [1000, 1]);
  assert.deepEqual(sizes(100_000), [1]);
});

test("garbage, alone or within a stream, has no effect", needsFfmpeg, async () => {
  const bytes = (await transport()).subarray(0, 40 * TS_PACKET);
  const adts = createTimedAdtsReader();
  const mpeg = createMpegAudioReader();
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 200 }),
      fc.uint8Array({ maxLength: 1000 }),
      fc.integer({ min: 1, max: 2000 }),
      (changes, garbage, size) => {
        const broken = Buffer.concat([bytes, garbage, bytes]);
        for (const [at, octet] of changes) broken[at] = octet;
        for (const { data, pts, dts } of demux(broken, size).units) {
          assert.ok(Number.isFinite(pts) && pts >= dts);
          adts.read(data, pts);
          mpeg.read(data, pts);
          readOpus(data);
        }
        adts.read(Buffer.from(garbage), 0);
        mpeg.read(Buffer.from(garbage), 0);
        readOpus(Buffer.from(garbage));
      },
    ),
    { numRuns: 100 },
  );
});
