import type { LiveTracks } from "../packets.ts";

/**
 * Shortest configuration records: avcC, hvcC (ISO 14496-15, 5.3.3.1 and 8.3.3.1), av1C (AV1 in ISOBMFF, 2.3.3),
 * AudioSpecificConfig (ISO 14496-3, 1.6.2.1).
 */
const MIN_CONFIG_BYTES = { h264: 7, hevc: 23, av1: 4, vp8: 0, vp9: 0, aac: 2, opus: 0, mp3: 0 };
const NAMES = { h264: "H.264", hevc: "HEVC", av1: "AV1", vp8: "VP8", vp9: "VP9", aac: "AAC", opus: "Opus", mp3: "MP3" };

/** Returns the invalid property of the announced tracks; undefined if they are valid. */
export function findInvalidTrack({
  video,
  audio,
}: LiveTracks): { kind: "video" | "audio"; codec: string; reason: string } | undefined {
  if (video === undefined && audio === undefined)
    return { kind: "video", codec: "none", reason: "it has neither video nor audio" };
  for (const [kind, track] of [
    ["video", video],
    ["audio", audio],
  ] as const) {
    if (track === undefined) continue;
    const codec: string | undefined = NAMES[track.codec];
    if (codec === undefined) return { kind, codec: String(track.codec), reason: `unknown ${kind} codec` };
    if (track.config.length < MIN_CONFIG_BYTES[track.codec])
      return { kind, codec, reason: `its ${kind} (${codec}) has no decoder configuration` };
  }
  return undefined;
}

/** True if a decoder can continue unchanged: publishers repeat their announcements. */
export function isSameTracks(a: LiveTracks, b: LiveTracks): boolean {
  const [video, audio] = [a.video, a.audio];
  const [otherVideo, otherAudio] = [b.video, b.audio];
  if ((video === undefined) !== (otherVideo === undefined) || (audio === undefined) !== (otherAudio === undefined))
    return false;
  if (
    video !== undefined &&
    otherVideo !== undefined &&
    !(
      video.codec === otherVideo.codec &&
      video.width === otherVideo.width &&
      video.height === otherVideo.height &&
      video.config.equals(otherVideo.config)
    )
  )
    return false;
  return (
    audio === undefined ||
    otherAudio === undefined ||
    (audio.codec === otherAudio.codec &&
      audio.sampleRate === otherAudio.sampleRate &&
      audio.channels === otherAudio.channels &&
      audio.config.equals(otherAudio.config))
  );
}
