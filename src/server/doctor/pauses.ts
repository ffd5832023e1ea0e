import type { Mail } from "../../mail/index.ts";
import type { Finding } from "./finding.ts";

/** More findings would hide the other checks. */
const MAX_FINDINGS = 10;

/** One warning per paused destination with queued mail of the account. */
export const pauseFindings = (pauses: Awaited<ReturnType<Mail["queue"]["pausesOf"]>>): Finding[] =>
  pauses.slice(0, MAX_FINDINGS).map(({ destination, until, why }) => ({
    check: `delivery to ${destination.startsWith("*") ? "the smart host" : destination}`,
    status: "warning",
    found: `paused until ${until.toISOString()}: ${why}`,
    fix: "Delivery resumes on its own. To retry now, find the message with `reelpost email queue list` and run `reelpost email queue resend <id>`.",
  }));
