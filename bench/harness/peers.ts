import { join } from "node:path";
import { installLocked } from "../../scripts/install-locked.ts";

const peersDir = join(import.meta.dirname, "..", "peers");

/** Where a peer lives and which version it is. Installs it from its own lock file when it is not there yet. */
export async function installedPeer(
  name: string,
  say: (line: string) => void,
): Promise<{ dir: string; version: string }> {
  const dir = join(peersDir, name);
  const versions = await installLocked(dir, say);
  return { dir, version: versions[name]! };
}
