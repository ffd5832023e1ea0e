import { createHmac } from "node:crypto";
import { headerValues } from "../../protocol/rfc5322/index.ts";
import type { Message } from "../messages/index.ts";

/**
 * Two addresses that forward to each other send a message round until it has passed a hundred servers (RFC 5321 6.3). A field of ours ends
 * that the second time: it says for whom the message was forwarded, in a form that only this installation makes.
 */
export const LOOP_FIELD = "X-Reelpost-Loop";

/** Recipients that one message is forwarded for, whoever wrote the fields: a worker can make up a new address at every turn. */
const MAX_FORWARDED = 25;

export interface LoopMarks {
  /** The field for a recipient, line end included. */
  field(rcpt: string): string;
  isLoop(message: Pick<Message, "fields">, rcpt: string): boolean;
}

/** The first key marks; all of them are recognised. */
export function createLoopMarks(keys: readonly [string, ...string[]]): LoopMarks {
  const mark = (key: string, rcpt: string) =>
    createHmac("sha256", key).update(rcpt.toLowerCase()).digest("base64url").slice(0, 22);
  return {
    field: (rcpt) => `${LOOP_FIELD}: ${mark(keys[0], rcpt)}\r\n`,
    isLoop({ fields }, rcpt) {
      const marks = headerValues(fields, LOOP_FIELD);
      return marks.length > 0 && (marks.length > MAX_FORWARDED || keys.some((key) => marks.includes(mark(key, rcpt))));
    },
  };
}
