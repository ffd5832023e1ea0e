import { type Log, messageOf } from "../../kernel/index.ts";
import { isMapped } from "../../kernel/privileges.ts";
import type { Settings } from "../../kernel/settings.ts";
import { streamErrors } from "../errors.ts";
import { FIRST_DESCRIPTOR, runChild } from "./child.ts";
import { confine, type ConfinedRun, type MediaUser, type Sandbox } from "./confinement.ts";
import { type EncoderSelection, hardwareAccess, selectEncoder, SOFTWARE_ENCODER } from "./h264-encoders.ts";
import { findPrograms, type Programs } from "./programs.ts";
import type { H264Support, MediaCapabilities, MediaResult } from "./port.ts";
import { mediaFilter } from "./seccomp.ts";

export interface DiscoveredTools {
  programs: Programs;
  capabilities: MediaCapabilities;
}

const DISCOVERY_BOUNDS: ConfinedRun = { reads: [], nice: 0, cpuSeconds: 20, memoryMb: 2048, fileBytes: 0 };
const WALL_MS = 15_000;
const OUTPUT_BYTES = 1 << 20;
const REQUIRED = ["libx264", "aac"];

export type MediaSettings = Pick<Settings["stream"], "ffmpeg" | "ffprobe" | "sandbox" | "user_id"> & {
  /** Default: software. */
  encoder?: Settings["stream"]["encoder"];
};

interface DiscoverOptions {
  log: Log;
  signal: AbortSignal;
  /**
   * Other machines can reach this server: with `stream.sandbox` auto, discovery then fails instead of falling back to
   * resource limits.
   */
  exposed: boolean;
}

/**
 * Finds the programs, the strongest confinement that works on this machine, and the encoders' capabilities. Throws
 * mediaToolsMissing.
 */
export async function discover(
  settings: MediaSettings,
  { log, signal, exposed }: DiscoverOptions,
): Promise<DiscoveredTools> {
  const programs = findPrograms(settings);
  const user = userOf(settings, programs);
  const ask = (sandbox: Sandbox, program: string, ...args: string[]) =>
    runChild(
      program,
      confine(
        programs,
        { sandbox, user },
        program,
        args,
        { ...DISCOVERY_BOUNDS, ...hardwareAccess(args) },
        FIRST_DESCRIPTOR,
      ),
      { wallMs: WALL_MS, outputBytes: OUTPUT_BYTES, signal },
    );
  // Without -hide_banner, the version precedes the list, on standard error. Loading the two hundred libraries of ffmpeg
  // takes 70 ms of processor time, so the run that tests the sandbox also lists the encoders.
  const listEncoders = (sandbox: Sandbox) => ask(sandbox, programs.ffmpeg, "-encoders");
  const { sandbox, tested } = await chooseSandbox(programs, settings.sandbox, { log, exposed }, listEncoders);
  const seccompFilter = programs.perl !== undefined && mediaFilter({ network: false }) !== undefined;
  try {
    const [{ output, stderr }] = await Promise.all([
      tested ?? listEncoders(sandbox),
      ask(sandbox, programs.ffprobe, "-version"),
    ]);
    const listed = namesOf(output.toString("utf8"));
    const capabilities: MediaCapabilities = {
      version: /^ffmpeg version (\S+)/m.exec(stderr)?.[1] ?? "unknown",
      encoders: listed,
      tonemaps: onFirstCall(async () => {
        const filters = namesOf(
          (await ask(sandbox, programs.ffmpeg, "-hide_banner", "-filters")).output.toString("utf8"),
        );
        return filters.has("zscale") && filters.has("tonemap");
      }),
      sandbox,
      user,
      offline: sandbox === "bwrap" || (sandbox !== "none" && seccompFilter),
      h264: startEncoderTest(
        settings.encoder,
        listed,
        async (...args) => (await ask(sandbox, programs.ffmpeg, ...args)).output,
      ),
    };
    const missingEncoders = REQUIRED.filter((name) => !capabilities.encoders.has(name));
    if (missingEncoders.length > 0)
      throw streamErrors.mediaToolsMissing({
        reason: `${programs.ffmpeg} was built without the encoder ${missingEncoders.join(" and ")}`,
      });
    return { programs, capabilities };
  } catch (err) {
    if (err instanceof Error && err.name === "UserError") throw err;
    throw streamErrors.mediaToolsMissing(
      { reason: `${programs.ffmpeg} does not run: ${messageOf(err)}` },
      { cause: err },
    );
  }
}

/** Keeps the result of the first call that succeeds. */
function onFirstCall<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined;
  return () => {
    result ??= run();
    result.catch(() => (result = undefined));
    return result;
  };
}

/** Nothing waits for the test: it takes a second for each encoder, and longer if a driver hangs. */
function startEncoderTest(
  setting: MediaSettings["encoder"] = "software",
  listed: ReadonlySet<string>,
  run: (...args: string[]) => Promise<Buffer>,
): H264Support {
  let selection: EncoderSelection = {
    encoder: SOFTWARE_ENCODER,
    reason: "the test of the hardware encoders has not ended",
  };
  const tested = selectEncoder({ setting, listed, run: (args) => run(...args) }).then((result) => (selection = result));
  return {
    selected: () => selection,
    tested,
    deselect(encoder, reason) {
      if (selection.encoder !== encoder) return false;
      selection = { encoder: SOFTWARE_ENCODER, reason };
      return true;
    },
  };
}

/** Uploads are never decoded as root: a server running as root starts its programs as another user. */
function userOf({ user_id: uid }: MediaSettings, { setpriv }: Programs): MediaUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (process.platform !== "linux")
    throw streamErrors.mediaToolsMissing({
      reason: "on this system ffmpeg would run as root: run the server as another user",
    });
  if (setpriv === undefined)
    throw streamErrors.mediaToolsMissing({
      reason: "ffmpeg would run as root: install setpriv (util-linux), or run the server as another user",
    });
  return isMapped({ first: uid, last: uid }) ? { uid, gid: uid } : NOBODY;
}

const NOBODY: MediaUser = { uid: 65534, gid: 65534 };
const NAMES = { bwrap: "bubblewrap", landlock: "landlock" };

/** Returns the strongest sandbox in which `run` succeeds, with its result, or none stronger than limits, untested. */
async function chooseSandbox(
  programs: Programs,
  configuredSandbox: MediaSettings["sandbox"],
  { log, exposed }: Pick<DiscoverOptions, "log" | "exposed">,
  run: (sandbox: Sandbox) => Promise<MediaResult>,
): Promise<{ sandbox: Sandbox; tested?: MediaResult }> {
  const limits: Sandbox = programs.prlimit === undefined ? "none" : "prlimit";
  if (configuredSandbox === "prlimit") {
    if (limits === "none")
      throw streamErrors.mediaToolsMissing({
        reason: "stream.sandbox is prlimit, but prlimit is not installed (util-linux)",
      });
    return { sandbox: limits };
  }
  const reasons: string[] = [];
  for (const candidate of configuredSandbox === "auto" ? (["bwrap", "landlock"] as const) : [configuredSandbox]) {
    try {
      const missingProgram = missingProgramFor(candidate, programs);
      if (missingProgram !== undefined) throw new Error(missingProgram);
      return { sandbox: candidate, tested: await run(candidate) };
    } catch (err) {
      // Containers often forbid user namespaces; a program outside /usr may not find its libraries.
      reasons.push(`${NAMES[candidate]}: ${messageOf(err)}`);
    }
  }
  const reason = reasons.join("; ");
  if (configuredSandbox !== "auto")
    throw streamErrors.mediaToolsMissing({
      reason: `stream.sandbox is ${configuredSandbox}, which does not work on this machine: ${reason}`,
    });
  if (exposed)
    throw streamErrors.mediaToolsMissing({
      reason: `other machines can reach this server, and ffmpeg cannot be sandboxed (${reason}). Make one of these work, or set stream.sandbox to prlimit to accept resource limits only`,
    });
  log.warn({ reason, instead: limits }, "stream: no working sandbox found; ffmpeg runs with resource limits only");
  return { sandbox: limits };
}

function missingProgramFor(candidate: "bwrap" | "landlock", { bwrap, perl }: Programs): string | undefined {
  if (candidate === "bwrap")
    return bwrap === undefined ? "it is not installed (apt-get install bubblewrap)" : undefined;
  if (process.platform !== "linux" || mediaFilter({ network: false }) === undefined)
    return "it is not supported on this system";
  return perl === undefined ? "it requires perl (apt-get install perl-base)" : undefined;
}

/** Lines like " V....D libx264   libx264 H.264 (codec h264)" and " T.C scale   V->V   …". */
const namesOf = (list: string): ReadonlySet<string> =>
  new Set(list.split("\n").flatMap((line) => /^ [A-Z.|]{2,6} +([\w-]+) /.exec(line)?.[1] ?? []));
