import type { Ids } from "../../kernel/index.ts";
import type { DeliveryResult, MailSource, Outbound, Trace, TraceEvent, Transport } from "../messages/index.ts";
import type { Receiver } from "../receive.ts";
import type { InboxKind, InboxStatus } from "./kinds.ts";
import type { Inbox, InboxAuthentication, InboxDelivery } from "./types.ts";

interface RecorderDeps {
  inbox: Pick<Inbox, "add" | "update">;
  /** Account of all messages. */
  account: string;
  ids: Pick<Ids, "hex">;
  /** Returns the received message that caused a message without `inbound`, if known. */
  causeOf?: ((mail: Outbound) => string | undefined) | undefined;
}

/** Records messages in the inbox as they are received and sent. */
interface InboxRecorder {
  /** Must be called with every step that the receiver traces. */
  trace: Trace;
  recordReceived(receiver: Receiver): Receiver;
  recordSent(transport: Transport): Transport;
}

/** Results of a message that is being processed. */
interface Recording {
  deliveries: Map<string, InboxDelivery>;
  authentication?: InboxAuthentication;
}

/** Maximum number of messages waiting to be stored. While more are waiting, no further message is handled. */
const MAX_UNSTORED = 32;

const KINDS: Record<Outbound["cause"], InboxKind> = { forward: "forwarded", reply: "replied", send: "sent" };

export function createInboxRecorder({ inbox, account, ids, causeOf = () => undefined }: RecorderDeps): InboxRecorder {
  /** By message. */
  const recordings = new Map<string, Recording>();
  const unstored = new Set<Promise<void>>();

  /** Adds a message in the background: the reply to its sender does not wait for the copy. */
  function add(message: Parameters<Inbox["add"]>[0]): Promise<void> {
    const stored = inbox.add(message);
    unstored.add(stored);
    void stored.finally(() => unstored.delete(stored));
    return stored;
  }

  const slowDown = async () => {
    while (unstored.size > MAX_UNSTORED) await Promise.race(unstored);
  };

  function begin(source: MailSource, { from, to, worker }: { from: string; to: readonly string[]; worker?: string }) {
    recordings.set(source.id, { deliveries: new Map(to.map((rcpt) => [rcpt, { to: rcpt }])) });
    const stored = add({
      id: source.id,
      account,
      kind: "received",
      status: "processing",
      from,
      to: [...to],
      worker,
      raw: () => source.open(),
      file: source.file,
    });
    return discardAfter(source, stored);
  }

  function end(id: string, status: (deliveries: InboxDelivery[]) => InboxStatus) {
    const recording = recordings.get(id);
    recordings.delete(id);
    if (recording === undefined) return;
    const { authentication } = recording;
    const deliveries = [...recording.deliveries.values()];
    const { worker } = deliveries[0] ?? {};
    inbox.update(account, id, {
      status: status(deliveries),
      deliveries,
      ...(worker !== undefined && { worker }),
      ...(authentication && { authentication }),
    });
  }

  function endWithResults(id: string, results: readonly DeliveryResult[]) {
    const recording = recordings.get(id);
    for (const result of results) {
      const delivery = recording?.deliveries.get(result.rcpt);
      if (delivery === undefined || result.ok) continue;
      const { code, enhanced, text } = result.reply;
      delivery.reply = `${code} ${enhanced} ${text}`;
    }
    end(id, statusOf);
  }

  return {
    trace(event) {
      const recording = recordings.get(event.message);
      if (recording !== undefined) note(recording, event);
    },

    recordReceived: (receiver) => ({
      ...receiver,
      async receive(envelope, source) {
        const { id } = source;
        const results = await receiver.receive(envelope, begin(source, envelope));
        endWithResults(id, results);
        await slowDown();
        return results;
      },
      async dispatch(mail) {
        const { source } = mail.message;
        const { id } = source;
        const shared = begin(source, { from: mail.from, to: [mail.to], worker: mail.script });
        try {
          return await receiver.dispatch({ ...mail, message: { ...mail.message, source: shared } });
        } finally {
          end(id, statusOf);
          await slowDown();
        }
      },
    }),

    recordSent: (transport) => ({
      async deliver(mail, signal) {
        const stored = add({
          id: ids.hex(),
          account,
          kind: KINDS[mail.cause],
          status: "captured",
          from: mail.from,
          to: mail.to,
          worker: mail.script,
          parent: mail.inbound?.source ?? causeOf(mail),
          raw: mail.raw,
          file: mail.file,
        });
        // The content of an outbound message may be read only until it is delivered.
        const [results] = await Promise.all([transport.deliver(mail, signal), stored]);
        return results;
      },
    }),
  };
}

function note(recording: Recording, { step, rcpt, detail }: TraceEvent): void {
  if (step === "authenticated") recording.authentication = authenticationOf(detail);
  const delivery = rcpt === undefined ? undefined : recording.deliveries.get(rcpt);
  if (delivery === undefined) return;
  const { script, outcome, exception, rejected } = detail;
  if ((step === "matched" || step === "handled") && typeof script === "string") delivery.worker = script;
  if (step !== "handled") return;
  if (typeof outcome === "string") delivery.outcome = outcome;
  if (typeof exception === "string") delivery.exception = exception;
  if (typeof rejected === "string") delivery.rejected = rejected;
}

function authenticationOf(detail: Record<string, unknown>): InboxAuthentication {
  const results: InboxAuthentication = {};
  for (const name of ["spf", "dkim", "dmarc"] as const) {
    const value = detail[name];
    if (typeof value === "string") results[name] = value;
  }
  return results;
}

function statusOf(deliveries: readonly InboxDelivery[]): InboxStatus {
  const isRejected = ({ rejected, reply }: InboxDelivery) => rejected !== undefined || reply?.startsWith("5") === true;
  const isFailed = ({ outcome, reply, ...rest }: InboxDelivery) =>
    (outcome !== undefined && outcome !== "ok") || (reply !== undefined && !isRejected({ ...rest, reply }));
  if (deliveries.some(isFailed)) return "failed";
  return deliveries.length > 0 && deliveries.every(isRejected) ? "rejected" : "accepted";
}

/**
 * Returns a source that is deleted only after it has been stored, because the inbox may still be reading it when the
 * receiver discards it. Its discard() resolves earlier.
 */
const discardAfter = (source: MailSource, stored: Promise<void>): MailSource => ({
  ...source,
  async discard() {
    void stored.then(() => source.discard());
  },
});
