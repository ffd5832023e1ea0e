import { Readable } from "node:stream";
import type { Clock, Ids } from "../../kernel/index.ts";
import type { EmailOutcome, MailActions, WorkerRuntime } from "../../workers/index.ts";
import type { Forwarding } from "../forwarding/index.ts";
import type { Outbound, SmtpReply, Spool, Trace, TraceEvent, Transport } from "../messages/index.ts";
import { createForward, type ForwardRules } from "./forward.ts";
import type { LiveMail } from "./live-mail.ts";
import type { WorkerLogs } from "./worker-logs.ts";
import { createReplyActions } from "./reply.ts";

/** The result of a worker's handling of a message. */
export interface HandlingResult extends Pick<EmailOutcome, "outcome" | "exception" | "ended" | "waitUntilSettled"> {
  /** Returns the last reply of a next hop to forward(), if every forward() so far was rejected. */
  rejectedForward(): SmtpReply | undefined;
  /** The reason passed to setReject(), unchanged. */
  rejectReason?: string;
  forwards: { recipient: string; headers: [name: string, value: string][]; messageId: string }[];
  /** `raw` is set only if the caller asked to keep it. */
  replies: { messageId: string; sender: string; raw?: Buffer }[];
  /** In chronological order; timestamps are in RFC 3339 format. */
  events: { type: "received" | "forward" | "reply" | "reject"; timestamp: string; messageId?: string }[];
}

interface WorkerAction {
  runtime: Pick<WorkerRuntime, "email">;
  transport: Transport;
  forwarding?: Forwarding | undefined;
  spool: Spool;
  trace: Trace;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
  rules: ForwardRules;
  workerLogs?: Pick<WorkerLogs, "expect"> | undefined;
}

export type DispatchToWorker = (live: LiveMail, options?: { keepReplies?: boolean }) => Promise<HandlingResult>;

/**
 * Passes a message to a worker and performs its actions. Actions in waitUntil(), after the handler has returned, are
 * still added to the lists until `ended`.
 */
export function createWorkerAction({
  runtime,
  transport,
  forwarding,
  spool,
  trace,
  clock,
  ids,
  rules,
  workerLogs,
}: WorkerAction): DispatchToWorker {
  return async (live, { keepReplies = false } = {}) => {
    const { forwards, replies, events }: Pick<HandlingResult, "forwards" | "replies" | "events"> = {
      forwards: [],
      replies: [],
      events: [],
    };

    function recordEvent(type: HandlingResult["events"][number]["type"], messageId?: string) {
      events.push({
        type,
        timestamp: new Date(clock.now()).toISOString(),
        ...(messageId === undefined ? {} : { messageId }),
      });
    }
    function recordStep(step: TraceEvent["step"], detail: Record<string, unknown>) {
      const { account, zone } = live;
      trace({
        message: live.message.source.id,
        at: new Date(clock.now()),
        step,
        rcpt: live.to,
        ...(account !== undefined && { account }),
        ...(zone !== undefined && { zone }),
        detail: { script: live.script, ...detail },
      });
    }
    async function onReplied(mail: Outbound) {
      replies.push({
        messageId: mail.messageId,
        sender: mail.from,
        ...(keepReplies ? { raw: await bytesOf(mail.raw()) } : {}),
      });
      recordEvent("reply", mail.messageId);
      recordStep("replied", { from: mail.from, to: mail.to, messageId: mail.messageId });
    }

    let rejectedForward: SmtpReply | undefined;
    const forward = createForward({
      live,
      transport,
      forwarding,
      ids,
      rules,
      onRejected: (reply) => (rejectedForward = reply),
    });
    const actions: MailActions = {
      async forward(recipient, headers) {
        const { messageId } = await forward(recipient, headers);
        forwards.push({ recipient, headers, messageId });
        recordEvent("forward", messageId);
        recordStep("forwarded", { to: recipient, messageId });
        return { messageId };
      },
      ...createReplyActions({ live, transport, forwarding, spool, clock, ids, onReplied }),
    };

    recordEvent("received");
    const { message, id, from, to, script } = live;
    const { source, fields } = message;
    workerLogs?.expect(id, { message: source.id, rcpt: to, account: live.account, zone: live.zone });
    const outcome = await runtime.email(
      script,
      { id, from, to, rawSize: source.size, headers: fields, raw: () => source.open(), canBeForwarded: true },
      actions,
    );
    if (outcome.rejected !== undefined) recordEvent("reject");
    const { exception } = outcome;
    recordStep("handled", {
      outcome: outcome.outcome,
      ...(exception === undefined
        ? {}
        : { exception: `${exception.name}: ${exception.message}`.slice(0, MAX_EXCEPTION) }),
      ...(outcome.rejected === undefined ? {} : { rejected: outcome.rejected }),
    });
    return {
      outcome: outcome.outcome,
      ended: outcome.ended,
      ...(outcome.waitUntilSettled !== undefined && { waitUntilSettled: outcome.waitUntilSettled }),
      rejectedForward: () => (forwards.length > 0 ? undefined : rejectedForward),
      forwards,
      replies,
      events,
      ...(exception === undefined ? {} : { exception }),
      ...(outcome.rejected === undefined ? {} : { rejectReason: outcome.rejected }),
    };
  };
}

/** Maximum length in the log. The text is for the author of the worker, never for the sender. */
const MAX_EXCEPTION = 500;

const bytesOf = async (raw: Readable | Uint8Array): Promise<Buffer> =>
  raw instanceof Readable ? Buffer.concat(await raw.toArray()) : Buffer.from(raw);
