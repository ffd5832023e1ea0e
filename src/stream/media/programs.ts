import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { Settings } from "../../kernel/settings.ts";
import { streamErrors } from "../errors.ts";

/** Absolute paths. Confinement programs are optional: some systems lack them. */
export interface Programs {
  ffmpeg: string;
  ffprobe: string;
  bwrap?: string;
  prlimit?: string;
  setpriv?: string;
  nice?: string;
  perl?: string;
}

/** Throws mediaToolsMissing with the name of the program. */
export function findPrograms(
  settings: Pick<Settings["stream"], "ffmpeg" | "ffprobe">,
  path = process.env["PATH"] ?? "",
): Programs {
  const programPath = (name: "ffmpeg" | "ffprobe"): string => {
    const configuredPath = settings[name];
    const foundPath = find(configuredPath === "" ? name : configuredPath, path);
    if (foundPath === undefined)
      throw streamErrors.mediaToolsMissing({
        reason:
          configuredPath === ""
            ? `${name} is not in PATH`
            : `stream.${name} is ${configuredPath}, which is not a program`,
      });
    return foundPath;
  };
  const programs: Programs = { ffmpeg: programPath("ffmpeg"), ffprobe: programPath("ffprobe") };
  if (process.platform !== "linux") return programs;
  for (const name of ["bwrap", "prlimit", "setpriv", "nice", "perl"] as const) {
    const found = find(name, path);
    if (found !== undefined) programs[name] = found;
  }
  return programs;
}

function find(name: string, path: string): string | undefined {
  const candidates = isAbsolute(name)
    ? [name]
    : path
        .split(delimiter)
        .filter((folder) => folder !== "")
        .map((folder) => join(folder, name));
  return candidates.find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(realpathSync(path)).isFile();
  } catch {
    return false;
  }
}
