import {
  type GenericNack,
  MediaStream,
  RtcpRrPacket,
  RtcpSenderInfo,
  RtcpSourceDescriptionPacket,
  RtcpSrPacket,
  type RtpHeader,
  type RTCPeerConnection,
  type RTCRtpSender,
  SourceDescriptionChunk,
  SourceDescriptionItem,
} from "werift";
import { OPUS_RATE, opusSamples } from "../../../protocol/rtp/index.ts";
import type { FeedCodecs } from "./codecs.ts";
import type { Feed, PacketizedFrame } from "./feed.ts";
import type { Peer } from "./peers.ts";

interface ViewerDeps {
  peer: Peer;
  feed: Feed;
  now?: () => number;
}

/**
 * A viewer that has sent nothing for this long is considered disconnected: browsers check consent every few seconds
 * (RFC 7675).
 */
const SILENCE_MS = 30_000;
const REPORT_MS = 1000;
/** Packets per burst, and the time until the next burst: about 80 megabits a second. */
const BURST_PACKETS = 40;
const BURST_MS = 5;
/** Maximum queued packets: above it, packets are dropped up to the next key frame. */
const MAX_WAITING_PACKETS = 8000;
/** Packets stored for retransmission: more than a key frame has. */
const KEPT_PACKETS = 2048;
/**
 * Microseconds between backlog frames for a new viewer: browsers decode them as fast as possible and show only the last
 * one.
 */
const CATCH_UP_US = 1000;
/** Start of a new timeline, chosen so that earlier times stay positive. */
const CLOCK_HEAD_START_US = 10_000_000;
/** 60 ms of audio: a larger step means missing audio. */
const STEP_TICKS = 2880;
/** Without header extensions. */
const RTP_HEADER_BYTES = 12;
/** Seconds from 1900 to 1970 (RFC 5905). */
const NTP_EPOCH = 2_208_988_800;

/** Makes the offered transceivers send-only. */
export function makeSendOnly(connection: RTCPeerConnection): void {
  // One stream: browsers synchronize its video and audio.
  const stream = new MediaStream();
  for (const transceiver of connection.getTransceivers()) {
    transceiver.setDirection("sendonly");
    transceiver.sender.setStreams([stream]);
  }
}

/** Adds the tracks for an offer from the server. */
export function addTracks(connection: RTCPeerConnection, { video, audio }: FeedCodecs): void {
  if (video !== undefined) connection.addTransceiver("video", { direction: "sendonly" });
  if (audio !== undefined) connection.addTransceiver("audio", { direction: "sendonly" });
  makeSendOnly(connection);
}

/** Sends a feed to one viewer, until either one ends. Starts when the connection has been established. */
export function sendFeed({ peer, feed, now = () => performance.now() }: ViewerDeps): void {
  const transport = peer.connection.dtlsTransports[0]!;
  const tracks = new Map(
    peer.connection.getSenders().map((sender) => [sender.kind, createOutgoing(sender, peer.connection.cname)]),
  );
  const clockStart = now() * 1000 - CLOCK_HEAD_START_US;
  let offset: number | undefined;
  let last = 0;
  let waiting: { kind: PacketizedFrame["kind"]; payload: Buffer; us: number; marker: boolean }[] = [];
  let needsKey = false;
  let timer: NodeJS.Timeout | undefined;
  let isConnected = false;

  const elapsed = () => now() * 1000 - clockStart;

  const feedWatcher = feed.watch({
    run() {
      offset = undefined;
      needsKey = tracks.has("video");
    },
    unit(unit) {
      if (!isConnected) return;
      offset ??= Math.max(elapsed(), last + CATCH_UP_US) - unit.pts;
      last = Math.max(last, unit.pts + offset);
      enqueue(unit, unit.pts + offset);
    },
    caughtUp: () => isConnected && catchUp(),
    onEnd: () => end(),
  });

  function enqueue({ kind, key, payloads }: PacketizedFrame, us: number): void {
    if (kind === "video" && key) needsKey = false;
    if (kind === "video" && needsKey) return;
    if (waiting.length > MAX_WAITING_PACKETS) {
      waiting = [];
      needsKey = true;
      feed.requestKeyFrame();
      return;
    }
    for (const [i, payload] of payloads.entries())
      waiting.push({ kind, payload, us, marker: kind === "video" && i === payloads.length - 1 });
    if (timer === undefined) sendDue();
  }

  function sendDue(): void {
    timer = undefined;
    for (const { kind, payload, us, marker } of waiting.splice(0, BURST_PACKETS))
      tracks.get(kind)?.send(payload, us, marker);
    if (waiting.length > 0) timer = setTimeout(sendDue, BURST_MS);
  }

  function begin(): void {
    if (isConnected || isEnded) return;
    isConnected = true;
    catchUp();
  }

  /** Sends everything since the last key frame, with timestamps compressed to just before now. */
  function catchUp(): void {
    const backlog = feedWatcher.backlog();
    const newest = backlog.at(-1);
    if (newest === undefined) {
      needsKey = tracks.has("video");
      return feed.requestKeyFrame();
    }
    const previousLast = last;
    last = Math.max(elapsed(), previousLast + backlog.length);
    offset = last - newest.pts;
    for (const [i, unit] of backlog.entries())
      enqueue(unit, Math.max(previousLast + 1 + i, last - (backlog.length - 1 - i) * CATCH_UP_US));
  }

  let isEnded = false;
  function end(): void {
    if (isEnded) return;
    isEnded = true;
    clearInterval(tick);
    clearTimeout(timer);
    waiting = [];
    feedWatcher.end();
    peer.close();
  }

  peer.onClose(end);
  transport.onRtcp.subscribe((packet) => {
    if (packet instanceof RtcpRrPacket) peer.recordActivity();
  });
  for (const sender of peer.connection.getSenders()) {
    sender.onPictureLossIndication.subscribe(() => feed.requestKeyFrame());
    sender.onGenericNack.subscribe((nack) => tracks.get(sender.kind)?.retransmit(nack));
  }
  peer.connection.connectionStateChange.subscribe((state) => {
    if (state === "connected") begin();
  });
  if (peer.connection.connectionState === "connected") begin();
  const tick = setInterval(() => {
    if (peer.silentFor() > SILENCE_MS) return end();
    const wall = Date.now();
    const elapsedUs = elapsed();
    for (const track of tracks.values()) track.report((us) => wall + (us - elapsedUs) / 1000);
  }, REPORT_MS);
  tick.unref();
}

interface OutgoingTrack {
  send(payload: Buffer, us: number, marker: boolean): void;
  retransmit(nack: GenericNack): void;
  /** `wall`: converts local time to epoch milliseconds. */
  report(wall: (us: number) => number): void;
}

/**
 * Creates one track of one viewer: sequence numbers and timestamps, retransmissions, and reports. Packets bypass the sender of
 * werift, which creates a packet with header extensions for each viewer and stores it: a packet here is a header of
 * twelve octets and a payload that all viewers share.
 */
function createOutgoing(sender: RTCRtpSender, cname: string): OutgoingTrack {
  const rate = sender.kind === "video" ? 90_000 : 48_000;
  // Only video offers retransmissions (NACK).
  const sentPackets = sender.kind === "video" ? createSentPackets() : undefined;
  const transport = sender.dtlsTransport;
  const header = createPacketHeader(sender.ssrc);
  let sequence = Math.floor(Math.random() * 0x8000);
  let count = 0;
  let octets = 0;
  let last: { us: number; timestamp: number; samples: number } | undefined;
  // werift's own reports use the sending time as the time of a frame: video and audio would be out of sync.
  sender.rtcpRunning = true;

  const toTicks = (us: number) => Math.round((us * rate) / 1_000_000);

  /**
   * Audio decoders treat a timestamp increment that differs from the previous packet's duration as packet loss, so
   * sender reports convey small shifts.
   */
  function timestampOf(payload: Buffer, us: number): number {
    const exactTimestamp = toTicks(us);
    const expectedTimestamp = last === undefined ? exactTimestamp : last.timestamp + last.samples;
    const timestamp =
      rate === OPUS_RATE && Math.abs(expectedTimestamp - exactTimestamp) < STEP_TICKS
        ? expectedTimestamp
        : exactTimestamp;
    last = { us, timestamp, samples: rate === OPUS_RATE ? opusSamples(payload) : 0 };
    return timestamp % 2 ** 32;
  }

  function transmit(payloadType: number, { sequence, timestamp, marker, payload }: SentPacket): void {
    header.set(sequence, timestamp, payloadType, marker);
    // werift reads these fields before it returns the promise.
    transport.sendRtp(payload, header as unknown as RtpHeader).catch(() => {});
  }

  return {
    send(payload, us, marker) {
      const { codec } = sender;
      if (codec === undefined || transport.state !== "connected") return;
      sequence = (sequence + 1) & 0xffff;
      const timestamp = timestampOf(payload, us);
      sentPackets?.add({ sequence, timestamp, marker, payload });
      count++;
      octets += payload.length;
      transmit(codec.payloadType, { sequence, timestamp, marker, payload });
    },
    retransmit({ lost }) {
      const { codec } = sender;
      if (codec === undefined) return;
      for (const number of lost) {
        const packet = sentPackets?.find(number);
        if (packet !== undefined) transmit(codec.payloadType, packet);
      }
    },
    report(wall) {
      if (last === undefined || sender.dtlsTransport.state !== "connected") return;
      const ms = wall(last.us);
      const ntpTimestamp =
        (BigInt(Math.floor(ms / 1000) + NTP_EPOCH) << 32n) | BigInt(Math.floor(((ms % 1000) / 1000) * 2 ** 32));
      const info = new RtcpSenderInfo({
        ntpTimestamp,
        rtpTimestamp: last.timestamp % 2 ** 32,
        packetCount: count >>> 0,
        octetCount: octets >>> 0,
      });
      const name = new SourceDescriptionChunk({
        source: sender.ssrc,
        items: [new SourceDescriptionItem({ type: 1, text: cname })],
      });
      sender.dtlsTransport
        .sendRtcp([
          new RtcpSrPacket({ ssrc: sender.ssrc, senderInfo: info, reports: [] }),
          new RtcpSourceDescriptionPacket({ chunks: [name] }),
        ])
        .catch(() => {});
    },
  };
}

interface SentPacket {
  sequence: number;
  timestamp: number;
  marker: boolean;
  payload: Buffer;
}

/** The latest packets by sequence number: 30 KB for each viewer, besides the payloads that they share. */
function createSentPackets(): { add(packet: SentPacket): void; find(sequence: number): SentPacket | undefined } {
  const payloads = Array.from<Buffer | undefined>({ length: KEPT_PACKETS });
  const timestamps = new Uint32Array(KEPT_PACKETS);
  const sequences = new Uint16Array(KEPT_PACKETS);
  const markers = new Uint8Array(KEPT_PACKETS);
  return {
    add({ sequence, timestamp, marker, payload }) {
      const at = sequence % KEPT_PACKETS;
      payloads[at] = payload;
      timestamps[at] = timestamp;
      sequences[at] = sequence;
      markers[at] = marker ? 1 : 0;
    },
    find(sequence) {
      const at = sequence % KEPT_PACKETS;
      const payload = payloads[at];
      if (payload === undefined || sequences[at] !== sequence) return undefined;
      return { sequence, timestamp: timestamps[at]!, marker: markers[at] === 1, payload };
    },
  };
}

/** The fixed RTP header (RFC 3550, 5.1), with the fields of werift's header that encryption reads. */
function createPacketHeader(ssrc: number) {
  const bytes = Buffer.alloc(RTP_HEADER_BYTES);
  bytes[0] = 2 << 6;
  bytes.writeUInt32BE(ssrc, 8);
  return {
    ssrc,
    sequenceNumber: 0,
    serializeSize: RTP_HEADER_BYTES,
    set(sequence: number, timestamp: number, payloadType: number, marker: boolean): void {
      this.sequenceNumber = sequence;
      bytes[1] = (marker ? 0x80 : 0) | payloadType;
      bytes.writeUInt16BE(sequence, 2);
      bytes.writeUInt32BE(timestamp, 4);
    },
    serialize: () => bytes,
  };
}
