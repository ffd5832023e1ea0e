import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Decodes the whole file; ffmpeg must report no errors and no warnings. */
export async function assertClean(path: string): Promise<void> {
  const { stderr } = await promisify(execFile)(
    "ffmpeg",
    ["-hide_banner", "-nostdin", "-loglevel", "warning", "-i", path, "-f", "null", "-"],
    { timeout: 60_000 },
  );
  assert.equal(stderr, "");
}
