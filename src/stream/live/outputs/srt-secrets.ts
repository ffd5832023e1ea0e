import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createScratch } from "../../scratch.ts";
import type { SrtTarget } from "./target.ts";

/**
 * ffmpeg options in a file with restricted permissions: process arguments are readable by every user of the machine.
 */
export interface SrtSecrets {
  /** For `-fpre`. Undefined without secrets. */
  readonly path: string | undefined;
  remove(): Promise<void>;
}

/**
 * `folder`: the directory of the file. The values must have no line breaks and fewer than 1,000 octets: ffmpeg
 * interprets the rest as another option.
 */
export async function writeSrtSecrets(
  { streamId, passphrase }: Pick<SrtTarget, "streamId" | "passphrase">,
  folder: string,
): Promise<SrtSecrets> {
  // ffmpeg has a different option named `streamid`.
  const lines = [
    ["srt_streamid", streamId],
    ["passphrase", passphrase],
  ].flatMap(([name, value]) => (value === "" ? [] : [`${name}=${value}\n`]));
  if (lines.length === 0) return { path: undefined, remove: async () => {} };
  const { path: secretsPath, remove } = await createScratch(folder).create("output");
  const path = join(secretsPath, "srt");
  try {
    await writeFile(path, lines.join(""), { mode: 0o600, flag: "wx" });
  } catch (err) {
    await remove();
    throw err;
  }
  return { path, remove };
}
