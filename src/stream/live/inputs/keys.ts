import { hash, timingSafeEqual } from "node:crypto";
import type { Ids } from "../../../kernel/index.ts";
import type { LiveKeys } from "./types.ts";

/**
 * 65 characters with 256 random bits: the format of the hosted service, and short enough for an SRT passphrase (79).
 */
const KEY_PATTERN = /^[0-9a-f]{32}k[0-9a-f]{32}$/;

export const newKeys = (ids: Pick<Ids, "hex">): LiveKeys => ({
  publish: `${ids.hex()}k${ids.hex()}`,
  playback: `${ids.hex()}k${ids.hex()}`,
});

export const isKey = (text: string): boolean => KEY_PATTERN.test(text);

/** Returns the lookup hash of a key. Keys cannot be guessed, so a salt is unnecessary. */
export const keyHash = (key: string): string => hash("sha256", key, "hex");

/** Constant-time comparison. */
export const isSameHash = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** The SRT stream id is not secret: it identifies the input and the direction; the passphrase authenticates. */
export const srtPublishId = (uid: string): string => uid;
export const srtPlaybackId = (uid: string): string => `play${uid}`;

export function readSrtStreamId(streamId: string): { uid: string; direction: "publish" | "play" } | undefined {
  const [, play, uid] = /^(play)?([0-9a-f]{32})$/.exec(streamId) ?? [];
  return uid === undefined ? undefined : { uid, direction: play === undefined ? "publish" : "play" };
}
