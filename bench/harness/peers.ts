import { join } from "node:path";
import { installLocked } from "../../scripts/install-locked.ts";

const peersDir = join(import.meta.dirname, "..", "peers");

/** Path and version of a peer. Installs it from its own lock file if necessary. */
export async function installedPeer(
  name: string,
  say: (line: string) => void,
): Promise<{ dir: string; version: string }> {
  const dir = join(peersDir, name);
  const versions = await installLocked(dir, say);
  return { dir, version: versions[name]! };
}
