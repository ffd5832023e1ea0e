import { readdirSync, readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import { type SettingsInput, settingsSchema } from "../../kernel/settings.ts";
import { discover } from "./capabilities.ts";
import { createMediaTools, type MediaToolsDeps } from "./tools.ts";

/** Default encoder: software, which needs no test. */
export const streamSettings = (given: NonNullable<SettingsInput["stream"]> = {}) =>
  settingsSchema.parse({ stream: { encoder: "software", ...given } }).stream;

/** Programs are discovered once per process, because discovery runs them. */
const found = new Map<string, ReturnType<typeof discover>>();
const findOnce: typeof discover = (settings, options) =>
  found.getOrInsertComputed(`${settings.sandbox} ${options.exposed}`, () =>
    discover(settings, { ...options, signal: new AbortController().signal }),
  );

/** Real tools with the settings of a test; closed when the test ends. */
export function openTools(
  t: TestContext,
  given: NonNullable<SettingsInput["stream"]> = {},
  parts: Partial<MediaToolsDeps> = {},
) {
  const own = given.ffmpeg !== undefined || given.ffprobe !== undefined;
  const tools = createMediaTools({
    settings: streamSettings(given),
    log: silentLog,
    processors: 2,
    ...(!own && { find: findOnce }),
    ...parts,
  });
  t.after(() => tools.close());
  return tools;
}

/** Returns the processes whose command line contains the word. Reads /proc, so it works on Linux only. */
export function processesWith(word: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // The command line of a zombie is empty.
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(word) ? [Number(pid)] : [];
      } catch {
        return [];
      }
    });
}

/** Returns true if the process has become the program itself, after all of its confinement wrappers. */
export function isFfmpeg(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, "latin1").trim() === "ffmpeg";
  } catch {
    return false;
  }
}
