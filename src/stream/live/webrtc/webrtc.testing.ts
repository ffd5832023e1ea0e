import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { readAudio, readTags, readVideo } from "../../../protocol/flv/index.ts";
import { readAvcConfig, readSps } from "../../../protocol/h264/index.ts";
import { createLog, silentLog } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";
import { defaultInput } from "../inputs/inputs.testing.ts";
import type { LiveInput } from "../inputs/port.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { Publication, PublishClaim, Publishing } from "../publish.ts";
import type { LiveHealth, LiveSession, LiveSessions, LiveSubscriber } from "../session.ts";
import { createLiveWebrtc, type LiveWebrtc, type LiveWebrtcDeps } from "./webrtc.ts";

/** In-memory hub with one input and one secret: it stores published packets and passes them to each subscriber. */
export interface SmallHub extends Publishing, LiveSessions {
  input: LiveInput;
  secret: string;
  claims: PublishClaim[];
  /** Tracks of all publications. */
  tracks: LiveTracks[];
  packets: MediaPacket[];
  lost(): number;
  /** Whether each publication ended cleanly. */
  ends: boolean[];
  revoke(): void;
  wantKeyFrame(): void;
}

export function createSmallHub({ bFrames = false }: { bFrames?: boolean } = {}): SmallHub {
  const input = defaultInput({ uid: "c".repeat(32) });
  const hub = {
    claims: [] as PublishClaim[],
    tracks: [] as LiveTracks[],
    packets: [] as MediaPacket[],
    ends: [] as boolean[],
  };
  const secret = `${randomBytes(16).toString("hex")}k${randomBytes(16).toString("hex")}`;
  const listeners = new Set<(session: LiveSession) => void>();
  let current:
    | { session: LiveSession; publication: Publication; control: AbortController; wantKey(): void }
    | undefined;
  let lost = 0;

  function publication(): Publication {
    const control = new AbortController();
    const gone = new AbortController();
    const subscribers = new Set<LiveSubscriber>();
    const wanted: (() => void)[] = [];
    let group: MediaPacket[] = [];
    let tracks: LiveTracks | undefined;
    const run = { id: "0".repeat(32), started: Date.now() };
    const session: LiveSession = {
      id: randomBytes(16).toString("hex"),
      input,
      protocol: "webrtc",
      started: run.started,
      signal: gone.signal,
      tracks: () => tracks ?? {},
      health: () => ({ bFrames, problems: [] }) as unknown as LiveHealth,
      subscribe(subscriber) {
        subscribers.add(subscriber);
        subscriber.tracks(tracks!, run);
        for (const packet of group) subscriber.packet(packet);
        return () => void subscribers.delete(subscriber);
      },
      requestKeyFrame: () => wanted.forEach((want) => want()),
    };
    const made: Publication = {
      input: input.uid,
      signal: control.signal,
      unsupported: (_, codec) => streamErrors.liveCodecUnsupported({ reason: codec }),
      configure(given) {
        hub.tracks.push(given);
        const begins = tracks === undefined;
        tracks = given;
        group = [];
        for (const subscriber of subscribers) subscriber.tracks(given, run);
        if (begins) for (const listener of listeners) listener(session);
      },
      write(packet) {
        if (tracks === undefined) throw new Error("packets before tracks");
        hub.packets.push(packet);
        if (packet.kind === "video" && packet.key) group = [];
        group.push(packet);
        for (const subscriber of subscribers) subscriber.packet(packet);
      },
      lost: (packets) => void (lost += packets),
      onKeyFrameRequested: (listener) => void wanted.push(listener),
      end(clean) {
        if (gone.signal.aborted) return;
        hub.ends.push(clean);
        current = undefined;
        gone.abort();
        for (const subscriber of subscribers) subscriber.end();
      },
    };
    current = { session, publication: made, control, wantKey: () => wanted.forEach((want) => want()) };
    return made;
  }

  const live = () =>
    current !== undefined && Object.keys(current.session.tracks()).length > 0 ? current.session : undefined;
  return {
    ...hub,
    input,
    secret,
    lost: () => lost,
    async publish(claim) {
      hub.claims.push(claim);
      if (claim.credential !== secret) throw streamErrors.liveKeyUnknown();
      if (current !== undefined) throw streamErrors.liveInputBusy({ seconds: 5 });
      return publication();
    },
    of: (uid) => (uid === input.uid ? live() : undefined),
    all: () => (live() === undefined ? [] : [live()!]),
    onSession(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    revoke: () => current?.control.abort(streamErrors.liveKeyRevoked()),
    wantKeyFrame: () => current?.wantKey(),
  };
}

/** Reads a file as RTMP would deliver it: FLV with H.264 and AAC. */
export function readFlv(file: Buffer): { tracks: LiveTracks; packets: MediaPacket[] } {
  const tracks: LiveTracks = {};
  const packets: MediaPacket[] = [];
  for (const { type, time, data } of readTags(file.subarray(13))) {
    const video = type === 9 ? readVideo(data) : undefined;
    const audio = type === 8 ? readAudio(data) : undefined;
    if (video?.kind === "config")
      tracks.video = { codec: "h264", config: Buffer.from(video.config), ...sizeOf(video.config) };
    if (video?.kind === "picture")
      packets.push({
        kind: "video",
        dts: time * 1000,
        pts: (time + video.composition) * 1000,
        key: video.key,
        data: Buffer.from(video.data),
      });
    if (audio?.kind === "config")
      tracks.audio = { codec: "aac", config: Buffer.from(audio.config), sampleRate: 48_000, channels: 2 };
    if (audio?.kind === "frame")
      packets.push({ kind: "audio", dts: time * 1000, pts: time * 1000, key: true, data: Buffer.from(audio.data) });
  }
  return { tracks, packets };
}

function sizeOf(config: Buffer): { width: number; height: number } {
  const { width, height } = readSps(readAvcConfig(config).sps[0]!);
  return { width, height };
}

/** Publishes in real time. Resolves at the end, or when the publication is aborted. */
export async function publishInRealTime(
  hub: SmallHub,
  { tracks, packets }: ReturnType<typeof readFlv>,
  signal: AbortSignal,
): Promise<void> {
  const publication = await hub.publish({ protocol: "rtmp", credential: hub.secret, address: "127.0.0.1" });
  publication.configure(tracks);
  const began = performance.now();
  for (const packet of packets) {
    while (!signal.aborted && performance.now() - began < packet.dts / 1000) await setTimeout(5);
    if (signal.aborted) break;
    publication.write(packet);
  }
  publication.end(true);
}

/**
 * Starts a relay to a local UDP port that drops one in `oneOf` media packets in both directions. Connection setup is
 * not affected.
 */
export async function startLossyRelay(
  scope: { after(end: () => Promise<void>): void },
  to: number,
  oneOf: number,
): Promise<{ port: number; lost(): number }> {
  const [outside, inside] = [createSocket("udp4"), createSocket("udp4")];
  let client: { address: string; port: number } | undefined;
  let packets = 0;
  let lost = 0;
  const isLost = (data: Buffer) => {
    // RFC 7983: first octet of RTP and RTCP.
    if (data[0]! < 128 || data[0]! > 191 || ++packets % oneOf !== 0) return false;
    lost++;
    return true;
  };
  outside.on("message", (data, from) => {
    client = from;
    if (!isLost(data)) inside.send(data, to, "127.0.0.1");
  });
  inside.on("message", (data) => {
    if (client !== undefined && !isLost(data)) outside.send(data, client.port, client.address);
  });
  await new Promise<void>((resolve) => void outside.bind(0, "127.0.0.1", resolve));
  scope.after(async () => {
    outside.close();
    inside.close();
  });
  return { port: outside.address().port, lost: () => lost };
}

/** Sends datagrams that start like STUN, DTLS, RTP or RTCP (RFC 7983), or like no known protocol. */
export async function sendInvalidDatagrams(port: number, count: number): Promise<void> {
  const socket = createSocket("udp4");
  for (let n = 0; n < count; n++) {
    const datagram = randomBytes(1 + (n % 300));
    datagram[0] = [0, 20, 21, 22, 23, 128, 129, 144, 191, datagram[0]!][n % 10]!;
    if (n % 3 === 0) datagram.set([[1, 128, 200, 206, 254, 3][n % 6]!].slice(0, datagram.length - 1), 1);
    if (n % 10 === 0 && datagram.length >= 20) {
      datagram.writeUInt16BE(datagram.length - 20, 2);
      datagram.writeUInt32BE(0x2112a442, 4);
    }
    await new Promise((resolve) => void socket.send(datagram, port, "127.0.0.1", resolve));
  }
  socket.close();
}

const PAGE = `<!doctype html><link rel="icon" href="data:,"><video autoplay muted playsinline></video>`;

/** Starts a server with WebRTC, and an empty page on the same origin. */
export async function startWebrtc(
  hub: SmallHub,
  more: Partial<LiveWebrtcDeps> = {},
): Promise<{ origin: string; webrtc: LiveWebrtc; close(): Promise<void> }> {
  const webrtc = createLiveWebrtc({
    publishing: hub,
    sessions: hub,
    log: process.env["DEBUG_WEBRTC"] ? createLog() : silentLog,
    address: ({ socket }) => socket.remoteAddress ?? "",
    origin: (request) => `http://${request.headers.host}`,
    access: async (id) => id,
    settings: { host: "127.0.0.1", webrtc_addresses: [], webrtc_ports: [0, 0], connections: 20 },
    ...more,
  });
  const server = createServer(async (request, response) => {
    if (await webrtc.handle(request, response)) return;
    response.writeHead(request.url === "/" ? 200 : 404, { "content-type": "text/html" }).end(PAGE);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    webrtc,
    async close() {
      await webrtc.close();
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

export async function until(what: string, condition: () => unknown): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await setTimeout(20)) if (await condition()) return;
  throw new Error(`timed out after a minute: ${what}`);
}
