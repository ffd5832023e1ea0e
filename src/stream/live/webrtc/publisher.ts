import {
  GenericNack,
  PictureLossIndication,
  type RtcpPacket,
  RtcpPayloadSpecificFeedback,
  RtcpSrPacket,
  RtcpTransportLayerFeedback,
  type RtpPacket,
} from "werift";
import {
  createReorderBuffer,
  createUnwrapper,
  type ReorderBuffer,
  type RtpPacketFields,
  writeOpusHead,
} from "../../../protocol/rtp/index.ts";
import { createTracksGate, type TracksGate } from "./tracks-gate.ts";
import type { Publication } from "../publish.ts";
import { createPublisherClocks } from "./clocks.ts";
import type { Offer, OfferedCodec } from "./offers.ts";
import type { Peer } from "./peers.ts";
import { createVideoDepacketizer, type VideoDepacketizer } from "./pictures.ts";
import { createNackScheduler } from "./nack-scheduler.ts";

/** Key frame interval: the same as for segments, and the maximum wait for new viewers. */
const KEY_FRAME_MS = 2000;
/** The sender needs some time to encode and send a requested key frame. */
const KEY_FRAME_RETRY_MS = 500;
const TICK_MS = 100;
/** A sender that has sent nothing for this long is considered disconnected. */
const SILENCE_MS = 30_000;
/** Audio is not retransmitted: packets that are missing after this time are lost. */
const AUDIO_WAIT_MS = 60;
/** In samples at 48,000 Hz: the delay of libopus at 20 ms. */
const PRE_SKIP = 312;

interface PublisherDeps {
  peer: Peer;
  offer: Pick<Offer, "video" | "audio">;
  publication: Publication;
  /** Called with internal errors. */
  onError(err: unknown): void;
  now?: () => number;
}

/** Writes the packets of one publisher to its publication, until either one ends. */
export function receivePublisher({
  peer,
  offer,
  publication,
  onError,
  now = () => performance.now(),
}: PublisherDeps): void {
  const clocks = createPublisherClocks();
  const gate = createTracksGate({
    video: offer.video !== undefined,
    audio: offer.audio !== undefined,
    publication,
    now,
  });
  const transport = peer.connection.dtlsTransports[0]!;
  const senderSsrc = peer.connection.getReceivers()[0]?.rtcpSsrc ?? 1;
  disableBuiltInNack(peer);

  let videoSsrc: number | undefined;
  let requestedAt = -Infinity;
  let keyAt = now();

  function send(packet: RtcpPacket): void {
    transport.sendRtcp([packet]).catch(() => {});
  }

  function requestKeyFrame(): void {
    if (videoSsrc === undefined || now() - requestedAt < KEY_FRAME_RETRY_MS) return;
    requestedAt = now();
    send(
      new RtcpPayloadSpecificFeedback({ feedback: new PictureLossIndication({ senderSsrc, mediaSsrc: videoSsrc }) }),
    );
  }

  const tracks = new Map<number, Track>();
  if (offer.video !== undefined) tracks.set(offer.video.payloadType, createVideoTrack(offer.video));
  if (offer.audio !== undefined)
    tracks.set(offer.audio.payloadType, createAudioTrack(offer.audio, gate, clocks.audio(48_000), publication));

  function createVideoTrack({ codec }: OfferedCodec): Track {
    const clock = clocks.video(90_000);
    const unwrap = createUnwrapper(32);
    const nacks = createNackScheduler();
    const depacketizer: VideoDepacketizer = createVideoDepacketizer(codec as "h264" | "vp8", {
      track: (track) => gate.video(track),
      frame({ timestamp, key, data }) {
        if (key) keyAt = now();
        const time = clock.time(unwrap(timestamp), now());
        gate.write({ kind: "video", dts: time, pts: time, key, data });
      },
      lost: (packets) => publication.lost(packets),
      keyFrameNeeded: requestKeyFrame,
    });
    return {
      unwrap,
      clock,
      push(packetFields, ssrc) {
        videoSsrc = ssrc;
        depacketizer.push(packetFields, now());
        const dueNacks = nacks.due(depacketizer.missing(), now());
        if (dueNacks.length > 0)
          send(
            new RtcpTransportLayerFeedback({
              feedback: new GenericNack({ senderSsrc, mediaSourceSsrc: ssrc, lost: dueNacks }),
            }),
          );
      },
    };
  }

  const ssrcs = new Map<number, Track>();

  function handlePacket(packet: RtpPacket): void {
    const { sequenceNumber, timestamp, marker, payloadType, ssrc } = packet.header;
    peer.recordActivity();
    if (payloadType === offer.video?.rtxPayloadType) return onRtx(packet);
    const track = tracks.get(payloadType);
    if (track === undefined) return;
    if (ssrcs.get(ssrc) !== track && ssrcs.size < 16) ssrcs.set(ssrc, track);
    track.push({ sequence: sequenceNumber, timestamp, marker, payload: packet.payload }, ssrc);
  }

  /** The original sequence number precedes the retransmitted payload (RFC 4588, 4). */
  function onRtx({ header: { timestamp, marker }, payload }: RtpPacket): void {
    if (videoSsrc === undefined || payload.length <= 2) return;
    tracks
      .get(offer.video!.payloadType)
      ?.push({ sequence: payload.readUInt16BE(0), timestamp, marker, payload: payload.subarray(2) }, videoSsrc);
  }

  function report(packet: RtcpPacket): void {
    peer.recordActivity();
    if (!(packet instanceof RtcpSrPacket)) return;
    const track = ssrcs.get(packet.ssrc);
    track?.clock.report(
      ntpToMilliseconds(packet.senderInfo.ntpTimestamp),
      track.unwrap(packet.senderInfo.rtpTimestamp),
    );
  }

  /** Remote input must not crash the server. */
  const guardCallback =
    <T>(work: (given: T) => void) =>
    (given: T) => {
      try {
        work(given);
      } catch (err) {
        onError(err);
        end(false);
      }
    };

  let isEnded = false;
  function end(isClean: boolean): void {
    if (isEnded) return;
    isEnded = true;
    clearInterval(tick);
    publication.signal.removeEventListener("abort", onAbort);
    publication.end(isClean);
    peer.close();
  }
  const onAbort = () => end(false);

  transport.onRtp.subscribe(guardCallback(handlePacket));
  transport.onRtcp.subscribe(guardCallback(report));
  publication.onKeyFrameRequested(requestKeyFrame);
  publication.signal.addEventListener("abort", onAbort, { once: true });
  peer.onClose(end);
  const tick = setInterval(
    guardCallback(() => {
      if (peer.silentFor() > SILENCE_MS) return end(false);
      gate.tick();
      if (now() - keyAt >= KEY_FRAME_MS) requestKeyFrame();
    }),
    TICK_MS,
  );
  tick.unref();
  if (publication.signal.aborted) end(false);
}

interface Track {
  push(packetFields: RtpPacketFields, ssrc: number): void;
  unwrap: (timestamp: number) => number;
  clock: { time(timestamp: number, now: number): number; report(ntpMs: number, timestamp: number): void };
}

function createAudioTrack(
  { channels = 2 }: OfferedCodec,
  gate: TracksGate,
  clock: Track["clock"],
  publication: Publication,
): Track {
  const ordering: ReorderBuffer = createReorderBuffer({ waitMs: AUDIO_WAIT_MS, maxPackets: 64 });
  const unwrap = createUnwrapper(32);
  const config = writeOpusHead({ channels, preSkip: PRE_SKIP });
  return {
    unwrap,
    clock,
    push(packetFields) {
      const at = performance.now();
      for (const { payload, timestamp, missing } of ordering.push(packetFields, at)) {
        if (missing > 0) publication.lost(missing);
        if (payload.length === 0) continue;
        gate.audio({ codec: "opus", config, sampleRate: 48_000, channels });
        const time = clock.time(unwrap(timestamp), at);
        gate.write({ kind: "audio", dts: time, pts: time, key: true, data: payload });
      }
    },
  };
}

/** 64-bit NTP time (RFC 5905, 6): seconds since 1900, and a fraction. */
const ntpToMilliseconds = (ntp: bigint): number => Number((ntp * 1000n) >> 16n) / 65_536;

/**
 * werift also requests lost packets: ten times within 50 ms regardless of the round-trip time, and never again after a
 * gap at the sequence number wrap. The NackScheduler replaces it; werift has no public option to disable its own.
 */
function disableBuiltInNack({ connection }: Peer): void {
  for (const receiver of connection.getReceivers()) {
    const nack: unknown = Reflect.get(receiver, "nack");
    if (typeof nack === "object" && nack !== null) Reflect.set(nack, "addPacket", () => {});
  }
}
