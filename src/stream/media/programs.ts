import { accessSync, constants, statSync } from "node:fs";
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
    const wanted = configuredPath === "" ? name : configuredPath;
    const foundPath = find(wanted, path);
    if (foundPath !== undefined) return foundPath;
    const file = candidates(wanted, path).find(isFile);
    throw streamErrors.mediaToolsMissing({
      reason:
        file !== undefined
          ? `${file} is not executable for this user (chmod +x)`
          : configuredPath === ""
            ? `${name} is not in PATH`
            : `stream.${name} is ${configuredPath}, which is not a program`,
    });
  };
  const programs: Programs = { ffmpeg: programPath("ffmpeg"), ffprobe: programPath("ffprobe") };
  if (process.platform !== "linux") return programs;
  for (const name of ["bwrap", "prlimit", "setpriv", "nice", "perl"] as const) {
    const found = find(name, path);
    if (found !== undefined) programs[name] = found;
  }
  return programs;
}

const find = (name: string, path: string) => candidates(name, path).find(isProgram);

const candidates = (name: string, path: string): string[] =>
  isAbsolute(name)
    ? [name]
    : path
        .split(delimiter)
        .filter((folder) => folder !== "")
        .map((folder) => join(folder, name));

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return false;
  }
  return isFile(path);
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
