import { hash, timingSafeEqual } from "node:crypto";
import type { Ids } from "../../../kernel/index.ts";
import type { LiveKeys } from "./types.ts";

/** 65 characters with 256 bits of chance: the form of the hosted service, and short enough for a passphrase of SRT (79). */
const KEY = /^[0-9a-f]{32}k[0-9a-f]{32}$/;

export const newKeys = (ids: Pick<Ids, "hex">): LiveKeys => ({
  publish: `${ids.hex()}k${ids.hex()}`,
  playback: `${ids.hex()}k${ids.hex()}`,
});

export const isKey = (text: string): boolean => KEY.test(text);

/** What a key is looked up by. It is nothing that could be guessed, so that it needs no salt. */
export const keyHash = (key: string): string => hash("sha256", key, "hex");

/** In a time that does not tell how much of it is right. */
export const isSameHash = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** The stream id of SRT is no secret: it names the input and the direction, the passphrase lets in. */
export const srtPublishId = (uid: string): string => uid;
export const srtPlaybackId = (uid: string): string => `play${uid}`;

export function readSrtStreamId(streamId: string): { uid: string; direction: "publish" | "play" } | undefined {
  const [, play, uid] = /^(play)?([0-9a-f]{32})$/.exec(streamId) ?? [];
  return uid === undefined ? undefined : { uid, direction: play === undefined ? "publish" : "play" };
}
