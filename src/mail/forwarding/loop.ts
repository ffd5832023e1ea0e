import { createHmac } from "node:crypto";
import { headerValues } from "../../protocol/rfc5322/index.ts";
import type { ParsedMessage } from "../messages/index.ts";

/**
 * Two addresses that forward to each other would loop a message until it has passed a hundred servers (RFC 5321 6.3). A
 * private header field stops it on the second pass: it records the recipient of the forward, in a form that only this
 * installation can create.
 */
export const LOOP_FIELD = "X-Reelpost-Loop";

/**
 * Maximum number of recipients for which one message is forwarded, counting loop fields of other servers too: a worker
 * can generate a new address on every pass.
 */
const MAX_FORWARDS = 25;

interface LoopMarks {
  /** Returns the field for a recipient, including the line ending. */
  field(rcpt: string): string;
  isLoop(message: Pick<ParsedMessage, "fields">, rcpt: string): boolean;
}

/** The first key creates marks; all keys are accepted. */
export function createLoopMarks(keys: readonly [string, ...string[]]): LoopMarks {
  const markOf = (key: string, rcpt: string) =>
    createHmac("sha256", key).update(rcpt.toLowerCase()).digest("base64url").slice(0, 22);
  return {
    field: (rcpt) => `${LOOP_FIELD}: ${markOf(keys[0], rcpt)}\r\n`,
    isLoop({ fields }, rcpt) {
      const marks = headerValues(fields, LOOP_FIELD);
      return marks.length > 0 && (marks.length > MAX_FORWARDS || keys.some((key) => marks.includes(markOf(key, rcpt))));
    },
  };
}
