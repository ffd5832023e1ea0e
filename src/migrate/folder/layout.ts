import { escapeKey, escapeName } from "./file-names.ts";

/** Returns the file with the result of a GET request. `path`: relative to /client/v4, with encoded segments. */
export const apiFile = (path: string): string =>
  `v4/${path
    .split("/")
    .filter((segment) => segment !== "")
    .map((segment) => escapeName(decodeURIComponent(segment)))
    .join("/")}.json`;

export const zoneFile = (name: string): string => `zones/${escapeName(name)}.zone`;
const workerFolder = (name: string): string => `workers/${escapeName(name)}`;
export const codeFile = (name: string): string => `${workerFolder(name)}/code.json`;
export const moduleFile = (worker: string, module: string): string =>
  `${workerFolder(worker)}/modules/${escapeKey(module)}`;
export const namespaceFile = (id: string): string => `kv/${escapeName(id)}.ndjson`;
export const objectListFile = (bucket: string): string => `r2/${escapeName(bucket)}/objects.ndjson`;
export const objectFile = (bucket: string, key: string): string => `r2/${escapeName(bucket)}/objects/${escapeKey(key)}`;
export const databaseFile = (id: string): string => `d1/${escapeName(id)}.sql`;
export const messageFile = (id: string): string => `mail/${escapeName(id)}.eml`;
export const messageLogFile = "mail/log.ndjson";
export const videoFolder = (uid: string): string => `videos/${escapeName(uid)}`;
export const captionsFile = (uid: string, language: string): string =>
  `${videoFolder(uid)}/captions/${escapeName(language)}.vtt`;
export const audioFile = (uid: string, label: string): string => `${videoFolder(uid)}/audio/${escapeName(label)}.mp4`;
export const watermarkFile = (uid: string): string => `watermarks/${escapeName(uid)}.png`;

/** The description of a worker's code; the modules are separate files. */
export interface CodeDescription {
  main: string;
  format: "modules" | "service-worker";
  modules: { name: string; type: string }[];
}

/** A line of a KV namespace, in the form of an entry of the API's bulk write. */
export interface KvLine {
  key: string;
  value: string;
  base64?: true;
  /** Seconds since the epoch. */
  expiration?: number;
  metadata?: unknown;
}

/** Returns the video file in its folder: the uploaded one, or the MP4 download if the server does not return it. */
export function videoFileIn(names: readonly string[]): { name: string; isOriginal: boolean } | undefined {
  const original = names.find((name) => name.startsWith("original."));
  if (original !== undefined) return { name: original, isOriginal: true };
  return names.includes("download.mp4") ? { name: "download.mp4", isOriginal: false } : undefined;
}
