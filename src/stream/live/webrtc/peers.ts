import { isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import {
  HashAlgorithm,
  RTCCertificate,
  RTCPeerConnection,
  RTCRtpCodecParameters,
  useAbsSendTime,
  SignatureAlgorithm,
  useNACK,
  usePLI,
  useSdesMid,
  useTransportWideCC,
  useTWCC,
} from "werift";
import { makeSelfSigned } from "../../../certificates/index.ts";
import { systemClock } from "../../../kernel/index.ts";
import type { Settings } from "../../../kernel/settings.ts";
import { streamErrors } from "../../errors.ts";
import type { Offer, OfferedCodec } from "./offers.ts";

interface PeersDeps {
  settings: Pick<Settings["live"], "host" | "webrtc_addresses" | "webrtc_ports" | "connections">;
  /** Milliseconds of any monotonic clock. */
  now?: () => number;
}

/** One browser or similar client. */
export interface Peer {
  connection: RTCPeerConnection;
  /** Returns the milliseconds since its last packet. */
  silentFor(): number;
  /** Records activity that ICE does not detect. */
  recordActivity(): void;
  /**
   * Called once, regardless of which side closes, or soon after registration if the peer has closed. `isClean`: the
   * peer ended the session properly.
   */
  onClose(listener: (isClean: boolean) => void): void;
  close(isClean?: boolean): void;
}

export interface WebRtcPeers {
  /**
   * `isLocal`: a client on this machine. Publishers and viewers are counted separately, so neither can lock out the
   * other. Throws webrtcTooMany.
   */
  open(codecs: Pick<Offer, "video" | "audio">, peerOptions: { kind: "publish" | "play"; isLocal: boolean }): Peer;
  count(): number;
  close(): Promise<void>;
}

const NAMES = { h264: "video/H264", vp8: "video/VP8", opus: "audio/opus" } as const;
/** Maximum number of this machine's addresses to use: each needs a socket for every peer. */
const MAX_ADDRESSES = 8;
/**
 * Maximum number of answered viewers that have not connected, which normally takes a second. The oldest one is evicted,
 * so that unconnected clients cannot lock out viewers.
 */
const MAX_PENDING_PEERS = 100;

/**
 * WebRTC connections, on this machine's IP addresses or the configured ones. Uses ICE-lite (RFC 8445, 2.5): the server
 * sends nothing to an address that has not sent first.
 */
export function createPeers({ settings, now = () => performance.now() }: PeersDeps): WebRtcPeers {
  const peers = new Set<Peer>();
  const counts = { publish: 0, play: 0 };
  const pendingPeers = new Set<Peer>();
  const certificate = newCertificate();
  const pendingCloses = new Set<Promise<void>>();
  const [first, last] = settings.webrtc_ports;
  const boundAddress = isIP(settings.host) !== 0 && !isAny(settings.host) ? settings.host : undefined;

  function addresses(isLocal: boolean): string[] {
    if (settings.webrtc_addresses.length > 0) return settings.webrtc_addresses;
    if (boundAddress !== undefined) return [boundAddress];
    const ownAddresses = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal, scopeid }) => !internal && !scopeid)
      .map(({ address }) => address);
    // Clients on this machine use loopback, even if it is the only address.
    return [...new Set([...(isLocal || ownAddresses.length === 0 ? ["127.0.0.1"] : []), ...ownAddresses])].slice(
      0,
      MAX_ADDRESSES,
    );
  }

  return {
    open(codecs, { kind, isLocal }) {
      if (kind === "play" && pendingPeers.size >= MAX_PENDING_PEERS) pendingPeers.values().next().value!.close();
      if (counts[kind] >= settings.connections) throw streamErrors.webrtcTooMany({ limit: settings.connections });
      let lastActivityAt = now();
      const recordActivityNow = () => void (lastActivityAt = now());
      const connection = new RTCPeerConnection({
        codecs: { video: list(codecs.video, kind), audio: list(codecs.audio, kind) },
        // Viewers identify the tracks by their SSRC in the SDP, and the bitrate does not depend on their feedback.
        headerExtensions:
          kind === "play"
            ? {}
            : {
                video: [useSdesMid(), useAbsSendTime(), useTransportWideCC()],
                audio: [useSdesMid(), useAbsSendTime(), useTransportWideCC()],
              },
        certificates: [certificate],
        iceLite: true,
        iceServers: [],
        bundlePolicy: "max-bundle",
        // Uses only these addresses instead of those that werift would find.
        iceUseIpv4: false,
        iceUseIpv6: false,
        iceAdditionalHostAddresses: addresses(isLocal),
        ...(boundAddress !== undefined && {
          iceInterfaceAddresses: isIPv4(boundAddress) ? { udp4: boundAddress } : { udp6: boundAddress },
        }),
        ...(last > 0 && { icePortRange: [first, last] as [number, number] }),
        iceFilterStunResponse: () => {
          recordActivityNow();
          return true;
        },
      });
      const listeners: ((isClean: boolean) => void)[] = [];
      const peer: Peer = {
        connection,
        recordActivity: recordActivityNow,
        silentFor: () => now() - lastActivityAt,
        onClose: (listener) =>
          peers.has(peer) ? void listeners.push(listener) : queueMicrotask(() => listener(false)),
        close(isClean = false) {
          if (!peers.delete(peer)) return;
          counts[kind]--;
          pendingPeers.delete(peer);
          const work = connection
            .close()
            .catch(() => {})
            .finally(() => pendingCloses.delete(work));
          pendingCloses.add(work);
          for (const listener of listeners) listener(isClean);
        },
      };
      connection.connectionStateChange.subscribe((state) => {
        if (state === "connected") pendingPeers.delete(peer);
        if (state === "closed" || state === "failed") peer.close();
      });
      peers.add(peer);
      counts[kind]++;
      if (kind === "play") pendingPeers.add(peer);
      return peer;
    },
    count: () => peers.size,
    async close() {
      for (const peer of peers) peer.close();
      await Promise.all(pendingCloses);
    },
  };
}

/**
 * Clients identify the certificate by its fingerprint in the SDP, so a self-signed one is sufficient. werift would
 * create one, but not if two versions of its crypto dependency are installed.
 */
export function newCertificate(): RTCCertificate {
  const { cert, key } = makeSelfSigned({ names: ["webrtc.invalid"], clock: systemClock });
  return new RTCCertificate(key, cert, { hash: HashAlgorithm.sha256_4, signature: SignatureAlgorithm.ecdsa_3 });
}

const isAny = (host: string) => host === "0.0.0.0" || host === "::";

function list(codec: OfferedCodec | undefined, kind: "publish" | "play"): RTCRtpCodecParameters[] {
  if (codec === undefined) return [];
  const isVideo = codec.codec !== "opus";
  const media = new RTCRtpCodecParameters({
    mimeType: NAMES[codec.codec],
    clockRate: isVideo ? 90_000 : 48_000,
    payloadType: codec.payloadType,
    ...(!isVideo && { channels: 2 }),
    rtcpFeedback: [...(isVideo ? [useNACK(), usePLI()] : []), ...(kind === "publish" ? [useTWCC()] : [])],
  });
  if (codec.rtxPayloadType === undefined) return [media];
  return [
    media,
    new RTCRtpCodecParameters({
      mimeType: "video/rtx",
      clockRate: 90_000,
      payloadType: codec.rtxPayloadType,
      parameters: `apt=${codec.payloadType}`,
    }),
  ];
}
