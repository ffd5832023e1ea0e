import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { packVp8, type RtpPacketFields } from "../../../protocol/rtp/index.ts";
import type { LiveAudioTrack, LiveTracks, LiveVideoTrack, MediaPacket } from "../packets.ts";
import type { Publication } from "../publish.ts";
import { createPublisherClocks } from "./clocks.ts";
import { readOffer, withStartBitrate } from "./offers.ts";
import { createVideoDepacketizer, type VideoFrame } from "./pictures.ts";
import { createNackScheduler } from "./nack-scheduler.ts";
import { offerAfterRestart, readSdpFragment } from "./sdp-fragment.ts";
import { createTracksGate } from "./tracks-gate.ts";

const OFFER = [
  "v=0",
  "o=- 1 2 IN IP4 127.0.0.1",
  "s=-",
  "t=0 0",
  "a=group:BUNDLE 0 1",
  "a=extmap-allow-mixed",
  "m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9",
  "c=IN IP4 0.0.0.0",
  "a=ice-ufrag:abcd",
  "a=ice-pwd:0123456789abcdefghijkl",
  "a=fingerprint:sha-256 AA:BB",
  "a=setup:actpass",
  "a=mid:0",
  "a=sendonly",
  "a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
  "a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid",
  "a=rtpmap:111 opus/48000/2",
  "a=fmtp:111 minptime=10;useinbandfec=1",
  "a=rtpmap:63 red/48000/2",
  "a=rtpmap:9 G722/8000",
  "a=candidate:1 1 udp 1 192.0.2.1 5 typ host",
  "m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99 100",
  "c=IN IP4 0.0.0.0",
  "a=ice-ufrag:abcd",
  "a=ice-pwd:0123456789abcdefghijkl",
  "a=fingerprint:sha-256 AA:BB",
  "a=setup:actpass",
  "a=mid:1",
  "a=sendonly",
  "a=rtpmap:96 VP8/90000",
  "a=rtcp-fb:96 nack pli",
  "a=rtpmap:97 rtx/90000",
  "a=fmtp:97 apt=96",
  "a=rtpmap:98 H264/90000",
  "a=fmtp:98 packetization-mode=0;profile-level-id=42e01f",
  "a=rtpmap:99 H264/90000",
  "a=fmtp:99 packetization-mode=1;profile-level-id=640c1f",
  "a=rtpmap:100 H264/90000",
  "a=fmtp:100 packetization-mode=1;profile-level-id=42e01f",
  "a=ssrc-group:FID 11 12",
  "a=ssrc:11 cname:x",
  "a=ssrc:12 cname:x",
  "a=rid:hi send",
  "a=simulcast:send hi",
  "",
].join("\r\n");

describe("an offer", () => {
  test("is reduced to one codec per medium and to the answered sections", () => {
    const reading = readOffer(OFFER, { video: ["h264", "vp8"] });
    assert.ok(reading.ok);
    const { sdp, video, audio } = reading.offer;
    assert.deepEqual(
      [video, audio],
      [
        { codec: "h264", payloadType: 100 },
        { codec: "opus", payloadType: 111, channels: 2 },
      ],
    );
    assert.match(sdp, /m=audio 9 UDP\/TLS\/RTP\/SAVPF 111\r\n/);
    assert.match(sdp, /m=video 9 UDP\/TLS\/RTP\/SAVPF 100\r\n/);
    for (const gone of [
      "candidate",
      "rtx",
      "VP8",
      "G722",
      "ssrc:12",
      "FID",
      "simulcast",
      "rid:",
      "audio-level",
      "640c1f",
      "extmap-allow-mixed",
    ])
      assert.ok(!sdp.includes(gone), gone);
    for (const kept of ["a=mid:0", "a=ssrc:11 cname:x", "sdes:mid", "useinbandfec=1", "a=setup:actpass"])
      assert.ok(sdp.includes(kept), kept);
  });

  test("from a publisher keeps the RTX stream", () => {
    const reading = readOffer(OFFER, { video: ["vp8"], keepRtx: true });
    assert.ok(reading.ok);
    assert.deepEqual(reading.offer.video, { codec: "vp8", payloadType: 96, rtxPayloadType: 97 });
    for (const kept of [
      "SAVPF 96 97\r\n",
      "a=rtpmap:97 rtx/90000",
      "a=fmtp:97 apt=96",
      "a=ssrc-group:FID 11 12",
      "a=ssrc:12 cname:x",
    ])
      assert.ok(reading.offer.sdp.includes(kept), kept);
    const without = readOffer(OFFER, { video: ["h264"], keepRtx: true });
    assert.ok(
      without.ok && without.offer.video?.rtxPayloadType === undefined && !without.offer.sdp.includes("ssrc:12"),
    );
  });

  test("from a viewer is answered with the published codec, or rejected", () => {
    const reading = readOffer(OFFER, { video: ["vp8"] });
    assert.ok(reading.ok && reading.offer.video?.payloadType === 96);
    assert.ok(reading.offer.sdp.includes("a=rtcp-fb:96 nack pli"));
    const without = readOffer(OFFER.replaceAll("VP8", "VP9"), { video: ["vp8"] });
    assert.ok(!without.ok && /supported video codec/.test(without.reason));
  });

  test("is accepted or rejected after any modification, without another error", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(OFFER.length), fc.nat(60), fc.string({ maxLength: 12 })), { maxLength: 5 }),
        (edits) => {
          const sdp = edits.reduce(
            (text, [at, length, more]) => text.slice(0, at) + more + text.slice(at + length),
            OFFER,
          );
          const reading = readOffer(sdp, { video: ["h264", "vp8"] });
          assert.equal(typeof (reading.ok ? reading.offer.sdp : reading.reason), "string");
        },
      ),
    );
  });

  test("is answered with a start bitrate", () => {
    assert.match(
      withStartBitrate(OFFER, 100, 2000),
      /a=fmtp:100 packetization-mode=1;profile-level-id=42e01f;x-google-start-bitrate=2000\r\n/,
    );
    assert.match(
      withStartBitrate(OFFER, 96, 2000),
      /a=rtpmap:96 VP8\/90000\r\na=fmtp:96 x-google-start-bitrate=2000\r\n/,
    );
  });
});

describe("an SDP fragment", () => {
  test("contains candidates or new ICE credentials", () => {
    assert.deepEqual(
      readSdpFragment(
        "a=ice-ufrag:u\r\na=ice-pwd:p\r\nm=video 9 RTP/AVP 0\r\na=mid:1\r\na=candidate:1 1 udp 1 192.0.2.1 5 typ host\r\na=end-of-candidates\r\n",
      ),
      { ufrag: "u", pwd: "p", candidates: [{ candidate: "candidate:1 1 udp 1 192.0.2.1 5 typ host", mid: "1" }] },
    );
    for (const none of ["", "hello", "{}", `a=x:${"y".repeat(2000)}`]) assert.equal(readSdpFragment(none), undefined);
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => void readSdpFragment(text)));
  });

  test("replaces the ICE credentials of the previous offer, and removes its candidates", () => {
    const other = offerAfterRestart(OFFER, { ufrag: "neww", pwd: "z".repeat(22), candidates: [] });
    assert.equal(other.match(/a=ice-ufrag:neww/g)?.length, 2);
    assert.ok(!other.includes("abcd") && !other.includes("candidate"));
    assert.ok(readOffer(other, { video: ["h264"] }).ok);
  });
});

describe("publisher clocks", () => {
  test("align audio with its video, never move it back, and keep it aligned", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -400, max: 400 }),
        fc.nat(2 ** 32 - 1),
        fc.nat(2 ** 32 - 1),
        (late, videoFirst, audioFirst) => {
          const clocks = createPublisherClocks();
          const [video, audio] = [clocks.video(90_000), clocks.audio(48_000)];
          // Both were captured at the same time; audio arrives this many milliseconds late.
          let received: number[] = [];
          let seen = 0;
          for (let ms = 0; ms < 30_000; ms += 20) {
            if (ms === 2000) video.report(1_700_000_000_000 + 2000, videoFirst + 2000 * 90);
            if (ms === 3000) audio.report(1_700_000_000_000 + 3000, audioFirst + 3000 * 48);
            seen = video.time(videoFirst + ms * 90, 1000 + ms);
            received.push(audio.time(audioFirst + ms * 48, 1000 + ms + late));
          }
          assert.ok(received.every((time, i) => i === 0 || time >= received[i - 1]!));
          assert.ok(Math.abs(received.at(-1)! - seen) < 1000, `${received.at(-1)} and ${seen}`);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("continue at the arrival time if timestamps restart far back, and realign audio with video", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2100, max: 3_600_000 }),
        fc.constantFrom("video", "audio", "both"),
        fc.integer({ min: -400, max: 400 }),
        (back, which, late) => {
          const clocks = createPublisherClocks();
          const [video, audio] = [clocks.video(90_000), clocks.audio(48_000)];
          const times: { video: number[]; audio: number[] } = { video: [], audio: [] };
          for (let ms = 0; ms < 30_000; ms += 20) {
            const at = (kind: string) => (ms >= 10_000 && (which === kind || which === "both") ? ms - back : ms);
            const [seen, received] = [at("video") * 90, at("audio") * 48];
            if (ms % 5000 === 2000) {
              video.report(1_700_000_000_000 + ms, seen);
              audio.report(1_700_000_000_000 + ms, received);
            }
            times.video.push(video.time(seen, 1000 + ms));
            times.audio.push(audio.time(received, 1000 + ms + late));
          }
          for (const track of [times.video, times.audio])
            for (const [i, time] of track.entries())
              assert.ok(
                i === 0 || (time >= track[i - 1]! && time - track[i - 1]! <= 900_000),
                `${time} after ${track[i - 1]}`,
              );
          assert.ok(Math.abs(times.video.at(-1)! - 29_980_000) < 500_000, `${times.video.at(-1)}`);
          assert.ok(
            Math.abs(times.audio.at(-1)! - times.video.at(-1)!) < 1000,
            `${times.audio.at(-1)} and ${times.video.at(-1)}`,
          );
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe("video frames", () => {
  const KEY = Buffer.concat([Buffer.from("1002009d012a4001b400", "hex"), Buffer.alloc(2500, 1)]);
  const OTHER = Buffer.alloc(1500, 1);

  /**
   * Key frames every ten frames, one frame every 40 ms; `lost`: packet numbers; requested packets are retransmitted
   * after `wayMs`.
   */
  function run(lost: ReadonlySet<number>, { wayMs = 30, repeats = true } = {}) {
    const got: VideoFrame[] = [];
    const tracks: LiveVideoTrack[] = [];
    let missed = 0;
    let wanted = 0;
    const pictures = createVideoDepacketizer("vp8", {
      track: (track) => tracks.push(track),
      frame: (picture) => got.push(picture),
      lost: (packets) => (missed += packets),
      keyFrameNeeded: () => wanted++,
    });
    const asking = createNackScheduler();
    const sent = new Map<number, RtpPacketFields>();
    const events: { at: number; part: RtpPacketFields }[] = [];
    let sequence = 65_500;
    for (let n = 0; n < 100; n++) {
      const payloads = packVp8(n % 10 === 0 ? KEY : OTHER, 1180, n);
      for (const [i, payload] of payloads.entries()) {
        const part = { sequence: sequence & 0xffff, timestamp: n * 3600, marker: i === payloads.length - 1, payload };
        sent.set(part.sequence, part);
        if (!lost.has(sequence - 65_500)) events.push({ at: n * 40 + i, part });
        sequence++;
      }
    }
    for (let event = events.shift(); event !== undefined; event = events.shift()) {
      const { at, part } = event;
      pictures.push(part, at);
      for (const number of repeats ? asking.due(pictures.missing(), at) : [])
        events.push({ at: at + wayMs, part: sent.get(number)! });
      events.sort((a, b) => a.at - b.at);
    }
    return { got, tracks, missed: () => missed, wanted: () => wanted };
  }

  test("all arrive if lost packets are retransmitted", () => {
    const { got, missed } = run(new Set([7, 30, 31, 32, 60, 100, 101]));
    assert.equal(got.length, 100);
    assert.equal(missed(), 0);
  });

  test("are dropped up to a requested key frame if they are undecodable without retransmission", () => {
    const { got, missed, wanted, tracks } = run(new Set([5]), { repeats: false });
    const numbers = got.map(({ timestamp }) => timestamp / 3600);
    assert.deepEqual(numbers, [0, 1, ...Array.from({ length: 90 }, (_, i) => 10 + i)]);
    assert.equal(missed(), 1);
    assert.ok(wanted() > 0);
    assert.deepEqual(
      tracks.map(({ width, height }) => [width, height]),
      [[320, 180]],
    );
  });

  test("are dropped before the first key frame", () => {
    const { got } = run(new Set([0, 1, 2]), { repeats: false });
    assert.equal(got[0]!.timestamp / 3600, 10);
  });
});

describe("tracks of a publisher", () => {
  const video: LiveVideoTrack = { codec: "vp8", config: Buffer.alloc(0), width: 320, height: 180 };
  const audio: LiveAudioTrack = { codec: "opus", config: Buffer.alloc(0), sampleRate: 48_000, channels: 2 };
  const packet = (kind: "video" | "audio", dts: number): MediaPacket => ({
    kind,
    dts,
    pts: dts,
    key: true,
    data: Buffer.alloc(1),
  });

  function gateOf(offered: { video: boolean; audio: boolean }) {
    const calls: (LiveTracks | number)[] = [];
    let now = 0;
    const publication = {
      configure: (tracks: LiveTracks) => calls.push(tracks),
      write: ({ dts }: MediaPacket) => calls.push(dts),
    } as unknown as Publication;
    return {
      gate: createTracksGate({ ...offered, publication, now: () => now }),
      calls,
      at: (ms: number) => void (now = ms),
    };
  }

  test("are both declared before the first packet, and audio before the first frame is dropped", () => {
    const { gate, calls } = gateOf({ video: true, audio: true });
    gate.audio(audio);
    gate.write(packet("audio", 10));
    gate.video(video);
    gate.write(packet("video", 20));
    gate.write(packet("audio", 30));
    assert.deepEqual(calls, [{ audio, video }, 20, 30]);
  });

  test("do not wait for a missing track: its arrival causes a discontinuity", () => {
    const { gate, calls, at } = gateOf({ video: true, audio: true });
    gate.video(video);
    gate.write(packet("video", 0));
    at(1000);
    gate.tick();
    assert.deepEqual(calls, []);
    at(1600);
    gate.tick();
    assert.deepEqual(calls, [{ video }, 0]);
    gate.audio(audio);
    assert.deepEqual(calls.at(-1), { video, audio });
  });
});
