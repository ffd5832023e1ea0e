import type { BounceReason } from "./types.ts";

/** What a failure says about the address it happened to. */
export interface Failed {
  /** RFC 3463, like "5.1.1"; the last two may be 0 where only the class is known. */
  status: string;
  /** SMTP code, where there was one. */
  code?: number;
  /** The remote server's words. */
  text?: string;
  /** It was tried until its time was over. */
  expired?: boolean;
  /** Read out of words for people, not out of a report. */
  guessed?: boolean;
}

const NOT_THERE =
  /\b(?:no such (?:user|mailbox|recipient|address)|(?:user|recipient|mailbox|address|account)(?: \S+)? (?:is )?(?:unknown|not found|does(?: not|n't) exist|invalid|disabled|inactive)|unknown (?:user|recipient|mailbox)|does not exist|no mailbox|invalid (?:recipient|mailbox))\b/i;

/**
 * Whether an address that bounced is to be left alone, and for what: `hard_bounce` when there is no such address, `soft_bounce` when there is
 * one that takes nothing now. Undefined when the fault is the message or its sender (X.6, X.7, 5.1.7, 5.1.8): the next one may be welcome.
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
  if (subject === 1) return detail === 7 || detail === 8 ? undefined : hard();
  // 5.2.1: the mailbox is switched off. 5.4.4: the domain has no server.
  if ((subject === 2 && detail === 1) || (subject === 4 && detail === 4)) return hard();
  if (subject === 0)
    return (code === undefined || code === 550 || code === 551 || code === 553) && NOT_THERE.test(text)
      ? hard()
      : "soft_bounce";
  return "soft_bounce";

  // Words are easily misread: they do not cost an address a week unless the status is in them too.
  function hard(): BounceReason {
    return guessed && subject === 0 ? "soft_bounce" : "hard_bounce";
  }
}
