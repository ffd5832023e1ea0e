/** Codecs that both browsers and this server support. */
type WebrtcCodec = "h264" | "vp8" | "opus";

/** One codec of an offer (RFC 8866, RFC 9429). */
export interface OfferedCodec {
  codec: WebrtcCodec;
  payloadType: number;
  channels?: number;
  /** Payload type of retransmissions (RFC 4588). */
  rtxPayloadType?: number;
}

export interface Offer {
  /**
   * Reduced to the parts that are answered: one codec per medium, and no candidates, since the server sends nothing to
   * an address that has not sent first.
   */
  sdp: string;
  video?: OfferedCodec;
  audio?: OfferedCodec;
}

type OfferReading = { ok: true; offer: Offer } | { ok: false; reason: string };

const MAX_SDP_LENGTH = 64 * 1024;
const KEPT_EXTENSIONS = [
  "urn:ietf:params:rtp-hdrext:sdes:mid",
  "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
  "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
];
/** H.264 profiles (first octets of profile-level-id), most compatible first. */
const PROFILES = ["42e0", "4200", "42c0", "4d00", "4d40", "64000", "640c"];

/**
 * Reads an offer and reduces it to the selected codecs: the first entry of `video` that it contains. `keepRtx`: keep
 * the RTX stream. Without RTX, a browser's bandwidth probes use sequence numbers of the video and are never
 * retransmitted.
 */
export function readOffer(
  sdp: string,
  { video: videoCodecs, keepRtx = false }: { video: readonly WebrtcCodec[]; keepRtx?: boolean },
): OfferReading {
  if (sdp.length > MAX_SDP_LENGTH || !sdp.startsWith("v=0")) return { ok: false, reason: "the body is not SDP" };
  const [session = [], ...media] = splitSections(sdp);
  const kinds = media.map(([line = ""]) => /^m=(\w+) /.exec(line)?.[1]);
  if (media.length === 0 || kinds.some((kind) => kind !== "video" && kind !== "audio"))
    return { ok: false, reason: "it offers media other than video and audio" };
  if (new Set(kinds).size !== kinds.length) return { ok: false, reason: "it offers several tracks of the same kind" };
  if (media.length > 1 && !session.some((line) => line.startsWith("a=group:BUNDLE ")))
    return { ok: false, reason: "its media are not bundled on one transport (BUNDLE)" };
  if (!sdp.includes("a=fingerprint:") || !sdp.includes("a=ice-ufrag:") || !sdp.includes("a=ice-pwd:"))
    return { ok: false, reason: "it has no fingerprint, or no ICE credentials" };
  const offer: Offer = { sdp: "" };
  const outputSections = [session.filter((line) => !line.startsWith("a=extmap-allow-mixed"))];
  for (const [index, section] of media.entries()) {
    const kind = kinds[index] as "video" | "audio";
    const chosenCodec = choose(section, kind === "video" ? videoCodecs : ["opus"]);
    if (chosenCodec === undefined)
      return {
        ok: false,
        reason: `it offers no supported ${kind} codec (${kind === "video" ? videoCodecs.join(", ") : "opus"})`,
      };
    const rtxPayload = keepRtx && kind === "video" ? repeatsOf(section, chosenCodec.payloadType) : undefined;
    offer[kind] = { ...chosenCodec, ...(rtxPayload !== undefined && { rtxPayloadType: rtxPayload }) };
    outputSections.push(trim(section, [chosenCodec.payloadType, ...(rtxPayload === undefined ? [] : [rtxPayload])]));
  }
  return { ok: true, offer: { ...offer, sdp: `${outputSections.flat().join("\r\n")}\r\n` } };
}

function splitSections(sdp: string): string[][] {
  const outputSections: string[][] = [[]];
  for (const line of sdp.split(/\r?\n/)) {
    if (line === "") continue;
    if (line.startsWith("m=")) outputSections.push([]);
    outputSections.at(-1)!.push(line);
  }
  return outputSections;
}

function choose(section: readonly string[], videoCodecs: readonly WebrtcCodec[]): OfferedCodec | undefined {
  const offeredCodecs = section.flatMap((line) => {
    const [, type, name, , channels] = /^a=rtpmap:(\d+) ([\w-]+)\/(\d+)(?:\/(\d+))?$/.exec(line) ?? [];
    if (type === undefined) return [];
    const format = section.find((otherLine) => otherLine.startsWith(`a=fmtp:${type} `)) ?? "";
    return [
      {
        codec: name!.toLowerCase(),
        payloadType: Number(type),
        format,
        ...(channels !== undefined && { channels: Number(channels) }),
      },
    ];
  });
  for (const codec of videoCodecs) {
    const [best] = offeredCodecs
      .filter((candidateCodec) => candidateCodec.codec === codec && isUsable(codec, candidateCodec.format))
      .sort((a, b) => rank(a.format) - rank(b.format));
    if (best !== undefined)
      return { codec, payloadType: best.payloadType, ...(best.channels !== undefined && { channels: best.channels }) };
  }
  return undefined;
}

/** Mode 0 cannot split a frame into packets (RFC 6184, 6.2). */
const isUsable = (codec: WebrtcCodec, format: string) => codec !== "h264" || /packetization-mode=1/.test(format);

function rank(format: string): number {
  const profile = /profile-level-id=([0-9a-f]{6})/i.exec(format)?.[1]?.toLowerCase();
  const profileIndex = PROFILES.findIndex((prefix) => profile?.startsWith(prefix));
  return profileIndex === -1 ? PROFILES.length : profileIndex;
}

/** Returns the payload type of its RTX codec. */
function repeatsOf(section: readonly string[], payloadType: number): number | undefined {
  const types = section.flatMap((line) => /^a=rtpmap:(\d+) rtx\/90000$/i.exec(line)?.[1] ?? []);
  const type = types.find((rtxType) =>
    section.some((line) => new RegExp(`^a=fmtp:${rtxType} (?:.*;)?apt=${payloadType}(?:;|$)`).test(line)),
  );
  return type === undefined ? undefined : Number(type);
}

function trim(section: readonly string[], payloadTypes: readonly number[]): string[] {
  // The second number of a pair belongs to an RTX stream.
  const unusedTypes =
    payloadTypes.length > 1 ? [] : section.flatMap((line) => /^a=ssrc-group:FID \d+ (\d+)/.exec(line)?.[1] ?? []);
  return section.flatMap((line, index) => {
    if (index === 0) return [line.replace(/^(m=\w+ \d+ [\w/]+) .*$/, `$1 ${payloadTypes.join(" ")}`)];
    const [, name = "", value = ""] = /^a=([\w-]+):?(.*)$/.exec(line) ?? [];
    if (["candidate", "end-of-candidates", "simulcast", "rid", "extmap-allow-mixed"].includes(name)) return [];
    if (name === "ssrc-group" && payloadTypes.length < 2) return [];
    if (["rtpmap", "fmtp", "rtcp-fb"].includes(name) && !payloadTypes.some((type) => value.startsWith(`${type} `)))
      return [];
    if (name === "ssrc" && unusedTypes.some((number) => value.startsWith(`${number} `))) return [];
    if (name === "extmap" && !KEPT_EXTENSIONS.some((uri) => value.includes(uri))) return [];
    return [line];
  });
}

/**
 * Browsers start at a low bitrate and therefore a small frame size, and each larger size would cause a discontinuity.
 * Chromium-based browsers start higher if the answer contains this parameter (kilobits per second); others ignore it.
 */
export function withStartBitrate(answer: string, payloadType: number, kilobits: number): string {
  const word = `x-google-start-bitrate=${kilobits}`;
  const format = new RegExp(`^(a=fmtp:${payloadType} [^\\r\\n]*)`, "m");
  if (format.test(answer)) return answer.replace(format, `$1;${word}`);
  return answer.replace(
    new RegExp(`^(a=rtpmap:${payloadType} [^\\r\\n]*)`, "m"),
    `$1\r\na=fmtp:${payloadType} ${word}`,
  );
}
