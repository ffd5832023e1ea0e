import { createHash } from "node:crypto";

/** Returns a file name for a message identifier: the random part of a local identifier, a hash of any other. */
export function fileStem(messageId: string): string {
  const local = /^<([A-Za-z0-9]{8,64})@/.exec(messageId)?.[1];
  return local ?? createHash("sha256").update(messageId).digest("hex").slice(0, 36);
}

/** Reduces a user-supplied name to a plain file name: no folders, not hidden, no characters that need quoting. */
export function safeFilename(name: string): string {
  const base = name.slice(-200).split(/[/\\]/).pop()!;
  const safe = base
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9._-]+/g, "_")
    .replace(/\.{2,}/g, ".");
  return trim(shorten(trim(safe), 100)) || "attachment";
}

const trim = (name: string) => name.replace(/^[._-]+/, "").replace(/(?<![._-])[._-]+$/, "");

/** Shortens a file name but keeps its extension. */
function shorten(name: string, max: number): string {
  if (name.length <= max) return name;
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? "";
  return name.slice(0, max - extension.length) + extension;
}
