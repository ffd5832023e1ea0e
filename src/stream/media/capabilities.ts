import { type Log, messageOf } from "../../kernel/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import { streamErrors } from "../errors.ts";
import { runChild } from "./child.ts";
import { confine, type Confined, type Sandbox } from "./confinement.ts";
import { findPrograms, type Programs } from "./programs.ts";
import type { MediaCapabilities } from "./port.ts";

export interface Readied {
  programs: Programs;
  capabilities: MediaCapabilities;
}

const BOUNDS: Confined = { reads: [], nice: 0, cpuSeconds: 20, memoryMb: 2048, fileBytes: 0 };
const WALL_MS = 15_000;
const OUTPUT_BYTES = 1 << 20;
const REQUIRED = ["libx264", "aac"];

/** Finds the programs, the strongest confinement that works here, and what the encoders can. Throws mediaToolsMissing. */
export async function discover(settings: Pick<Settings["stream"], "ffmpeg" | "ffprobe" | "sandbox">, log: Log, signal: AbortSignal): Promise<Readied> {
  const programs = findPrograms(settings);
  const ask = async (sandbox: Sandbox, program: string, ...args: string[]) => {
    const { output } = await runChild(program, confine(programs, sandbox, program, args, BOUNDS), { wallMs: WALL_MS, outputBytes: OUTPUT_BYTES, signal });
    return output.toString("utf8");
  };
  const sandbox = await chooseSandbox(programs, settings.sandbox, log, (candidate) => ask(candidate, programs.ffmpeg, "-version"));
  try {
    const [version, encoders, filters] = await Promise.all([
      ask(sandbox, programs.ffmpeg, "-version"),
      ask(sandbox, programs.ffmpeg, "-hide_banner", "-encoders"),
      ask(sandbox, programs.ffmpeg, "-hide_banner", "-filters"),
      ask(sandbox, programs.ffprobe, "-version"),
    ]);
    const capabilities: MediaCapabilities = { version: /^ffmpeg version (\S+)/.exec(version)?.[1] ?? "unknown", encoders: namesOf(encoders), filters: namesOf(filters), sandbox };
    const lacking = REQUIRED.filter((name) => !capabilities.encoders.has(name));
    if (lacking.length > 0) throw streamErrors.mediaToolsMissing({ reason: `${programs.ffmpeg} was built without the encoder ${lacking.join(" and ")}` });
    return { programs, capabilities };
  } catch (err) {
    if (err instanceof Error && err.name === "UserError") throw err;
    throw streamErrors.mediaToolsMissing({ reason: `${programs.ffmpeg} does not run: ${messageOf(err)}` }, { cause: err });
  }
}

async function chooseSandbox(programs: Programs, wanted: Settings["stream"]["sandbox"], log: Log, works: (sandbox: Sandbox) => Promise<unknown>): Promise<Sandbox> {
  const limits: Sandbox = programs.prlimit === undefined ? "none" : "prlimit";
  if (wanted === "prlimit") {
    if (limits === "none") throw streamErrors.mediaToolsMissing({ reason: "stream.sandbox is prlimit, and there is no prlimit (util-linux)" });
    return limits;
  }
  let reason = "it is not installed (apt-get install bubblewrap)";
  if (programs.bwrap !== undefined) {
    try {
      await works("bwrap");
      return "bwrap";
    } catch (err) {
      // Containers often forbid user namespaces; a program outside /usr may miss its libraries.
      reason = messageOf(err);
    }
  }
  if (wanted === "bwrap") throw streamErrors.mediaToolsMissing({ reason: `stream.sandbox is bwrap, and bubblewrap does not work here: ${reason}` });
  log.warn({ reason, instead: limits }, "video programs are not shut in by bubblewrap; what they may read and connect to is told to them only by options");
  return limits;
}

/** Lines like " V....D libx264   libx264 H.264 (codec h264)" and " T.C scale   V->V   …". */
const namesOf = (list: string): ReadonlySet<string> => new Set(list.split("\n").flatMap((line) => /^ [A-Z.|]{2,6} +([\w-]+) /.exec(line)?.[1] ?? []));
