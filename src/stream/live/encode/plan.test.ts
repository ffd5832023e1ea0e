import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveTracks } from "../packets.ts";
import { createAdmission } from "./admission.ts";
import { createKeyTimes } from "./key-times.ts";
import { planRun, encoderDemand } from "./plan.ts";
import { createTaskQueue } from "./waiting-line.ts";

const avc = (profile: number) => Buffer.from([1, profile, 0, 31, 0xff, 0xe1, 0, 0]);
const video = (width: number, height: number, more: Partial<NonNullable<LiveTracks["video"]>> = {}) => ({
  codec: "h264" as const,
  config: avc(100),
  width,
  height,
  ...more,
});
const aac = { codec: "aac" as const, config: Buffer.from("1190", "hex"), sampleRate: 48_000, channels: 2 };
const opus = { codec: "opus" as const, config: Buffer.alloc(0), sampleRate: 48_000, channels: 2 };
const LADDER: ["720p", "360p"] = ["720p", "360p"];

const planned = (tracks: LiveTracks, { slots = 9, lowCost = false, audio = true } = {}) => {
  const plan = planRun(tracks, LADDER, { slots, lowCost, audio, reason: "so it is" });
  return (
    plan && {
      names: plan.renditions.map(({ name, width, height, codecs }) =>
        [name, width === undefined ? "" : `${width}x${height}`, codecs].join(" ").replace("  ", " "),
      ),
      rungs: plan.encode.rungs.length,
      sound: plan.encode.audio,
      keyFrames: plan.keyFrames,
      notes: plan.notes,
    }
  );
};

test("passes the source through and adds smaller renditions while slots are free, the smallest first", () => {
  assert.deepEqual(planned({ video: video(1920, 1080), audio: aac }), {
    names: ["source 1920x1080 avc1.64001f", "720p 1280x720 avc1.640020", "360p 640x360 avc1.64001f", "audio mp4a.40.2"],
    rungs: 2,
    sound: false,
    keyFrames: "source",
    notes: [],
  });
  assert.deepEqual(planned({ video: video(1080, 1920), audio: aac }, { slots: 1 }), {
    names: ["source 1080x1920 avc1.64001f", "360p 360x640 avc1.64001f", "audio mp4a.40.2"],
    rungs: 1,
    sound: false,
    keyFrames: "source",
    notes: ["720p is not encoded: so it is."],
  });
  assert.deepEqual(planned({ video: video(1920, 1080) }, { slots: 0 })!.notes, [
    "360p and 720p are not encoded: so it is.",
  ]);
  assert.deepEqual(planned({ video: video(640, 360), audio: aac })!.names, [
    "source 640x360 avc1.64001f",
    "audio mp4a.40.2",
  ]);
  assert.deepEqual(planned({ video: video(0, 0) })!.names, ["source avc1.64001f"]);
});

test("encodes VP8, 10-bit H.264 and Opus, which players do not support, and offers nothing without a slot", () => {
  const vp8 = { video: video(1280, 720, { codec: "vp8", config: Buffer.alloc(0) }), audio: opus };
  assert.deepEqual(planned(vp8), {
    names: ["source 1280x720 avc1.640020", "360p 640x360 avc1.64001f", "audio mp4a.40.2"],
    rungs: 2,
    sound: true,
    keyFrames: "encoder",
    notes: [],
  });
  assert.deepEqual(planned(vp8, { slots: 1, lowCost: true })!.names, ["source 640x360 avc1.64001f", "audio mp4a.40.2"]);
  assert.equal(planned(vp8, { slots: 0 }), undefined);
  assert.deepEqual(encoderDemand(vp8, LADDER), { wanted: 2, needed: 1 });
  assert.equal(planned({ video: video(1280, 720, { config: avc(110) }) })!.keyFrames, "encoder");
  assert.deepEqual(planned({ video: video(320, 180), audio: opus }), {
    names: ["source 320x180 avc1.64001f", "audio mp4a.40.2"],
    rungs: 0,
    sound: true,
    keyFrames: "source",
    notes: [],
  });
  assert.deepEqual(planned({ video: video(320, 180), audio: opus }, { audio: false }), {
    names: ["source 320x180 avc1.64001f"],
    rungs: 0,
    sound: false,
    keyFrames: "source",
    notes: ["Audio is not encoded: so it is."],
  });
  assert.equal(planned({ audio: opus }, { audio: false }), undefined);
  assert.deepEqual(planned({ audio: aac })!.names, ["audio mp4a.40.2"]);
  // Six channels, and frames of 960 samples.
  for (const config of ["11b0", "1194"])
    assert.equal(planned({ audio: { ...aac, config: Buffer.from(config, "hex") } })!.sound, true);
});

test("passes HEVC and AV1 through and always adds an H.264 rendition", () => {
  const hevc = (width: number, height: number) => ({
    video: video(width, height, {
      codec: "hevc",
      config: Buffer.concat([Buffer.from([1, 1, 0x60, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 93]), Buffer.alloc(10)]),
    }),
    audio: aac,
  });
  const h264 = (tracks: LiveTracks, more?: { slots?: number; lowCost?: boolean }) =>
    planned(tracks, more)!.names.filter((name) => name.includes("avc1"));
  assert.match(planned(hevc(640, 360))!.names[0]!, /^source 640x360 hvc1/);
  assert.deepEqual(h264(hevc(640, 360)), ["360p 640x360 avc1.64001f"]);
  assert.deepEqual(h264(hevc(319, 181)), ["182p 320x182 avc1.64001f"]);
  assert.deepEqual(h264(hevc(1920, 1080)), ["720p 1280x720 avc1.640020", "360p 640x360 avc1.64001f"]);
  assert.deepEqual(h264(hevc(1920, 1080), { slots: 1 }), ["360p 640x360 avc1.64001f"]);
  // Unknown size: the encoder keeps the source resolution.
  assert.deepEqual(h264(hevc(0, 0)), ["h264 avc1.640033"]);
  assert.equal(planned(hevc(640, 360))!.keyFrames, "source");
  assert.deepEqual(encoderDemand(hevc(640, 360), LADDER), { wanted: 1, needed: 1 });
  assert.deepEqual(encoderDemand(hevc(1920, 1080), LADDER), { wanted: 2, needed: 1 });
  assert.deepEqual(encoderDemand({ video: video(640, 360) }, LADDER), { wanted: 0, needed: 0 });
  assert.deepEqual(planned(hevc(640, 360), { slots: 0 }), {
    names: [planned(hevc(640, 360))!.names[0]!, "audio mp4a.40.2"],
    rungs: 0,
    sound: false,
    keyFrames: "source",
    notes: ["No H.264 rendition is encoded: so it is. Players that do not support HEVC cannot play the broadcast."],
  });
});

test("grants free slots, grants required ones up to twice the limit, and reclaims released slots", () => {
  const admission = createAdmission({ encoders: 2 });
  const first = admission.admit(1);
  const second = admission.admit(2);
  assert.deepEqual([first.slots, second.slots, second.isOverLimit], [1, 1, false]);
  assert.equal(admission.admit(2).slots, 0);
  const needed = admission.admit(3, 1);
  assert.deepEqual([needed.slots, needed.isOverLimit], [1, true]);
  assert.equal(admission.admit(1, 1).slots, 1);
  assert.equal(admission.admit(1, 1).slots, 0);
  assert.equal(admission.inUse(), 4);
  first.release();
  first.release();
  needed.release();
  assert.equal(admission.inUse(), 2);
});

test("selects key frames of the source as key frames of renditions, and no others", () => {
  const keys = createKeyTimes();
  keys.source(0);
  const isKeyFrameAt = keys.reader();
  keys.source(180_000);
  assert.equal(isKeyFrameAt(0, true), true);
  assert.equal(isKeyFrameAt(3600, true), false);
  assert.equal(isKeyFrameAt(7200, false), false);
  assert.equal(isKeyFrameAt(179_999, true), true);
  keys.source(360_000);
  assert.throws(() => isKeyFrameAt(360_000, false), /no key frame/);
  const late = keys.reader();
  assert.throws(() => late(10_000, true), /no key frame/);
});

test("a task queue waits for its holder, preserves the order, and stays within its limit", async () => {
  const done: number[] = [];
  const line = createTaskQueue(10);
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  line.push(() => done.push(0));
  line.waitFor(first.promise);
  line.push(() => {
    done.push(1);
    line.waitFor(second.promise);
    line.push(() => done.push(2), 1);
  }, 1);
  line.push(() => done.push(3), 9);
  line.push(() => done.push(99), 1);
  line.push(() => done.push(4));
  assert.deepEqual(done, [0]);
  first.resolve();
  await first.promise;
  await Promise.resolve();
  assert.deepEqual(done, [0, 1]);
  assert.equal(line.isWaiting(), true);
  second.resolve();
  await second.promise;
  await Promise.resolve();
  assert.deepEqual(done, [0, 1, 2, 3, 4]);
  assert.equal(line.isWaiting(), false);
});
