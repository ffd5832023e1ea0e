import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** The deployment of one script: newest version first, with percentages that add up to 100. */
export interface ScriptRoute {
  account: string;
  scriptId: string;
  /** See versionKey(). */
  revision: number;
  versions: { versionId: string; percentage: number }[];
}

/**
 * Returns the version that handles a request. A header may specify a version of the deployment (even one at 0 %), or a
 * key that always selects the same version and moves to the newer one as its percentage grows:
 * https://developers.cloudflare.com/workers/configuration/versions-and-deployments/gradual-deployments/
 */
export function selectVersion(
  script: string,
  { versions }: ScriptRoute,
  headers: IncomingHttpHeaders,
  random: () => number,
): string {
  const [first] = versions;
  if (versions.length === 1) return first!.versionId;
  const versionOverride = overrideFor(script, headers["cloudflare-workers-version-overrides"]);
  if (versionOverride !== undefined && versions.some(({ versionId }) => versionId === versionOverride))
    return versionOverride;
  const key = headers["cloudflare-workers-version-key"];
  let point = 100 * (typeof key === "string" && key !== "" ? fraction(`${script}\0${key}`) : random());
  for (const { versionId, percentage } of versions) {
    if (point < percentage) return versionId;
    point -= percentage;
  }
  // Reached if the percentages add up to slightly less than 100.
  return versions.findLast(({ percentage }) => percentage > 0)!.versionId;
}

const fraction = (text: string) => createHash("sha256").update(text).digest().readUInt32BE() / 2 ** 32;

/**
 * A Dictionary of Strings (RFC 8941 3.2), `my-worker="id", other="id"`; later members take precedence. A malformed
 * header is ignored.
 */
export function overrideFor(script: string, header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  let foundVersion: string | undefined;
  for (const member of String(header).split(",")) {
    const [, key, value] = /^\s*([a-z*][a-z0-9_.*-]*)="([^"\\]*)"\s*$/.exec(member) ?? [];
    if (key === undefined) return undefined;
    if (key === script) foundVersion = value;
  }
  return foundVersion;
}
