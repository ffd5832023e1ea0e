import type { Playlist } from "./playlist.ts";

/** Reports the text if the condition is not met. */
export type Expect = (met: boolean, text: () => string) => void;

/** Allows for rounding of EXTINF and of milliseconds in dates. */
export const ROUNDING_S = 0.002;

/** Checks one media playlist. `uri` is its URL. */
export function checkPlaylist(uri: string, { target, partTarget, control, segments }: Playlist, expect: Expect): void {
  expect(control["CAN-BLOCK-RELOAD"] === "YES", () => `${uri}: no CAN-BLOCK-RELOAD`);
  expect(
    Number(control["PART-HOLD-BACK"]) >= 3 * partTarget - 1e-6,
    () => `${uri}: PART-HOLD-BACK ${control["PART-HOLD-BACK"]} is below three times ${partTarget}`,
  );
  expect(
    Number(control["HOLD-BACK"]) >= 3 * target,
    () => `${uri}: HOLD-BACK ${control["HOLD-BACK"]} is below three times ${target}`,
  );
  for (const [i, { n, uri: file, duration, parts, at, discontinuity }] of segments.entries()) {
    if (file !== undefined)
      expect(
        Math.round(duration) <= target,
        () => `${uri}: segment ${n} lasts ${duration} s, over the target of ${target}`,
      );
    for (const [p, part] of parts.entries()) {
      // Section 4.4.4.9.
      expect(
        part.duration <= partTarget + 1e-6,
        () => `${uri}: part ${n}.${p} lasts ${part.duration} s, over the target of ${partTarget}`,
      );
      const isLast = file !== undefined && p === parts.length - 1;
      expect(
        part.duration >= 0.85 * partTarget ||
          isLast ||
          part.independent ||
          (file === undefined && p === parts.length - 1),
        () => `${uri}: part ${n}.${p} lasts ${part.duration} s, below 85 % of ${partTarget}`,
      );
    }
    if (parts.length > 0)
      expect(parts[0]!.independent, () => `${uri}: the first part of segment ${n} is not independent`);
    if (file !== undefined && parts.length > 0)
      expect(
        Math.abs(parts.reduce((sum, part) => sum + part.duration, 0) - duration) < ROUNDING_S,
        () => `${uri}: the parts of segment ${n} do not add up to ${duration}`,
      );
    const before = segments[i - 1];
    if (before === undefined || before.discontinuity !== discontinuity) continue;
    if (at !== undefined && before.at !== undefined)
      expect(
        Math.abs(at - before.at - before.duration * 1000) <= 1000 * ROUNDING_S,
        () =>
          `${uri}: segment ${n} is dated ${at - before.at!} ms after the one before, which lasts ${before.duration} s`,
      );
  }
}

/** Checks that a playlist update does not change earlier entries (6.2.1). */
export function checkUpdate(uri: string, before: Playlist, now: Playlist, expect: Expect): void {
  expect(
    now.target === before.target,
    () => `${uri}: the target duration changes from ${before.target} to ${now.target}`,
  );
  expect(
    now.partTarget === before.partTarget,
    () => `${uri}: the part target changes from ${before.partTarget} to ${now.partTarget}`,
  );
  expect(
    now.sequence >= before.sequence,
    () => `${uri}: the media sequence goes back from ${before.sequence} to ${now.sequence}`,
  );
  for (const old of before.segments) {
    const same = now.segments.find(({ n }) => n === old.n);
    if (same === undefined) {
      expect(old.n < now.sequence, () => `${uri}: segment ${old.n} is gone`);
      continue;
    }
    if (old.uri !== undefined)
      expect(
        same.uri === old.uri &&
          same.duration === old.duration &&
          same.discontinuity === old.discontinuity &&
          same.init === old.init,
        () => `${uri}: segment ${old.n} has changed`,
      );
    if (old.at !== undefined)
      expect(same.at === old.at, () => `${uri}: the date of segment ${old.n} has changed by ${same.at! - old.at!} ms`);
    if (same.parts.length > 0)
      expect(
        JSON.stringify(same.parts.slice(0, old.parts.length)) === JSON.stringify(old.parts),
        () => `${uri}: the parts of segment ${old.n} have changed`,
      );
  }
}
