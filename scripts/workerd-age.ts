/** The second part of a version is its release date: 1.20261117.1 is from 2026-11-17. */
const VERSION_PATTERN = /^(\d+)\.(\d{4})(\d{2})(\d{2})\.(\d+)$/;
const DAY_MS = 24 * 3600_000;

/** Compares the pinned version with the newest version. Throws if one of them is not a workerd version. */
export function describeAge(pinnedVersion: string, newestVersion: string): { isOlder: boolean; text: string } {
  const [pinnedParts, newestParts] = [parseVersion(pinnedVersion), parseVersion(newestVersion)];
  const differingIndex = pinnedParts.numbers.findIndex((part, i) => part !== newestParts.numbers[i]);
  if (differingIndex < 0 || pinnedParts.numbers[differingIndex]! > newestParts.numbers[differingIndex]!)
    return { isOlder: false, text: `workerd ${pinnedVersion} is the newest version` };
  const days = Math.round((newestParts.date - pinnedParts.date) / DAY_MS);
  return {
    isOlder: true,
    text: `workerd ${pinnedVersion} is ${days} day${days === 1 ? "" : "s"} older than the newest version, ${newestVersion}. Update it in package.json`,
  };
}

function parseVersion(version: string): { numbers: number[]; date: number } {
  const match = VERSION_PATTERN.exec(version);
  if (match === null) throw new Error(`not a workerd version: ${JSON.stringify(version)}`);
  const [major, year, month, day, patch] = match.slice(1).map(Number) as [number, number, number, number, number];
  return { numbers: [major, year, month, day, patch], date: Date.UTC(year, month - 1, day) };
}
