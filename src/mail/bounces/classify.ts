import type { BounceReason } from "./types.ts";

/** A delivery failure, reduced to the fields that are relevant to the address. */
interface Failed {
  /** RFC 3463 status, such as "5.1.1"; the last two numbers may be 0 if only the class is known. */
  status: string;
  /** SMTP code, if there was one. */
  code?: number;
  /** Reply text of the remote server. */
  text?: string;
  /** True if all retries failed until the message expired. */
  expired?: boolean;
  /** True if derived from free text instead of a report. */
  guessed?: boolean;
}

const NO_SUCH_MAILBOX =
  /\b(?:no such (?:user|mailbox|recipient|address)|(?:user|recipient|mailbox|address|account)(?: \S+)? (?:is )?(?:unknown|not found|does(?: not|n't) exist|invalid|disabled|inactive)|unknown (?:user|recipient|mailbox)|does not exist|no mailbox|invalid (?:recipient|mailbox))\b/i;

/**
 * Returns the suppression for an address that bounced: `hard_bounce` if the address does not exist, `soft_bounce` if it
 * currently accepts no mail. Undefined if the message or its sender is at fault (X.6, X.7, 5.1.7, 5.1.8): the next
 * message may be accepted.
 */
export function suppressionFor({
  status,
  code,
  text = "",
  expired = false,
  guessed = false,
}: Failed): BounceReason | undefined {
  const [kind, subject, detail] = status.split(".").map(Number);
  if (kind === 2) return undefined;
  if (expired || kind === 4) return "soft_bounce";
  if (subject === 7 || subject === 6) return undefined;
  if (subject === 1) return detail === 7 || detail === 8 ? undefined : classifyHardBounce();
  // 5.2.1: the mailbox is disabled. 5.4.4: the domain has no mail server.
  if ((subject === 2 && detail === 1) || (subject === 4 && detail === 4)) return classifyHardBounce();
  if (subject === 0)
    return (code === undefined || code === 550 || code === 551 || code === 553) && NO_SUCH_MAILBOX.test(text)
      ? classifyHardBounce()
      : "soft_bounce";
  return "soft_bounce";

  // Free text is easily misread: it suppresses an address for a week only if it also contains a matching status code.
  function classifyHardBounce(): BounceReason {
    return guessed && subject === 0 ? "soft_bounce" : "hard_bounce";
  }
}
