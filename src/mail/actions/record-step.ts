import type { Clock } from "../../kernel/index.ts";
import type { Trace, TraceEvent } from "../messages/index.ts";

/** The owner of the mail that a step belongs to. */
export interface Owner {
  account?: string | undefined;
  zone?: string | undefined;
}

/** Records a step of a message with the current time. */
export type RecordStep = (
  message: string,
  step: TraceEvent["step"],
  detail: Record<string, unknown>,
  subject?: Owner & { rcpt?: string },
) => void;

export const createStepRecorder =
  ({ trace, clock }: { trace: Trace; clock: Pick<Clock, "now"> }): RecordStep =>
  (message, step, detail, { rcpt, account, zone } = {}) =>
    trace({
      message,
      at: new Date(clock.now()),
      step,
      ...(rcpt !== undefined && { rcpt }),
      ...(account !== undefined && { account }),
      ...(zone !== undefined && { zone }),
      detail,
    });
