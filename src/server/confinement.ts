import { messageOf, UserError } from "../kernel/index.ts";
import { parseIdRange } from "../kernel/privileges.ts";
import type { Settings } from "../kernel/settings.ts";
import type { MediaCapabilities } from "../stream/index.ts";
import { workerUsers } from "../workers/index.ts";
import { passedFinding, type Finding } from "./doctor/finding.ts";

interface ConfinementDeps {
  settings: Pick<Settings, "workers">;
  /** Undefined if this process does not run ffmpeg. */
  media: (() => Promise<MediaCapabilities>) | undefined;
  /** Default: detected from this process. */
  users?: ReturnType<typeof workerUsers>;
}

/** Resolves with the confinement of ffmpeg and of workers in this process, and the selected encoder. */
export async function confinementFindings({
  settings,
  media,
  users = workerUsers(parseIdRange(settings.workers.uid_range)),
}: ConfinementDeps): Promise<Finding[]> {
  return [
    ...(media === undefined ? [] : [await mediaFinding(media), ...(await encoderFinding(media))]),
    workerFinding(users),
  ];
}

const SANDBOX_NAMES = { bwrap: "bubblewrap", landlock: "landlock", prlimit: "limits only", none: "no sandbox" };

async function mediaFinding(media: NonNullable<ConfinementDeps["media"]>): Promise<Finding> {
  const check = "ffmpeg confinement";
  try {
    const { sandbox, user, offline } = await media();
    const foundText = `${SANDBOX_NAMES[sandbox]}, ${user === undefined ? "the server's user" : `user ${user.uid}`}, ${offline ? "no network" : "with network"}`;
    if (sandbox === "bwrap" || sandbox === "landlock") return passedFinding(check, foundText);
    return {
      check,
      status: "warning",
      found: foundText,
      expected: "bubblewrap or landlock",
      fix: "Install bubblewrap (or, on Linux 5.13 or later with Landlock, perl), and set stream.sandbox to auto.",
    };
  } catch (err) {
    return {
      check,
      status: "error",
      found: messageOf(err),
      ...(err instanceof UserError && err.fix !== undefined && { fix: err.fix }),
    };
  }
}

/** Returns no finding if ffmpeg is missing, which is reported separately. */
async function encoderFinding(media: NonNullable<ConfinementDeps["media"]>): Promise<Finding[]> {
  const selection = await media().then(
    ({ h264 }) => h264.selected(),
    () => undefined,
  );
  if (selection === undefined) return [];
  const { encoder, reason } = selection;
  return [passedFinding("H.264 encoder", reason === undefined ? encoder : `${encoder} (${reason})`)];
}

function workerFinding(users: ReturnType<typeof workerUsers>): Finding {
  const check = "worker process users";
  if (users === "account") return passedFinding(check, "one per account");
  return {
    check,
    status: "warning",
    found: users === "shared" ? "one unprivileged user for all accounts" : "the server's user for all accounts",
    expected: "one per account",
    fix:
      users === "shared"
        ? "Set workers.uid_range to user IDs that are mapped in this container."
        : "Start the server with the capabilities in deploy/reelpost-account-users.conf, or run a separate server for each account that does not trust the others.",
  };
}

/** One line per finding, for users and monitoring. */
export const confinementText = (findings: Finding[]): string =>
  findings
    .map(({ check, status, found: foundText }) => `${check}: ${foundText}${status === "ok" ? "" : ` (${status})`}\n`)
    .join("");
