import { UserError, type Clock } from "../kernel/index.ts";
import type { WrittenMail } from "../mail/index.ts";
import type { InboundMail, Invocation, InvocationOutcome, MailActions, WorkerRuntime } from "../workers/index.ts";
import { envelopeWarnings } from "./envelope-warnings.ts";
import type { EmailEvent, ExplainedException, FetchEvent, MailAction, EventReporter } from "./events.ts";

/** Reports each invocation with the mail that it sent and the warnings about its message. */
interface InvocationReports {
  /** Returns the runtime, instrumented to record the start of each invocation. All calls must go through it. */
  instrument(runtime: WorkerRuntime): WorkerRuntime;
  /** Called with mail that was written to disk. */
  mailWritten(writtenMail: WrittenMail): void;
  /** Id of the message that the worker is handling; undefined unless this is its only running invocation. */
  messageOf(worker: string): string | undefined;
  close(): void;
}

interface Options {
  report: EventReporter;
  explain: (worker: string, exception: ExplainedException) => string | undefined;
  /** Returns a warning for messages that arrive while the worker's latest build is broken. Default: no warning. */
  buildWarning?: (worker: string) => string | undefined;
  clock: Clock;
}

/** A started invocation whose record has not arrived yet. */
interface PendingInvocation {
  worker: string;
  /** Id of the message that it handles. */
  message?: string;
  /** Identifies its record: the id of the message, method and URL, or the schedule. */
  key: string;
  actions: MailAction[];
  warnings: string[];
  /** Errors with which reply() rejected. */
  rejectedReplies: UserError[];
  /** Milliseconds since the epoch: the start, and the end as seen by the caller. The record arrives slightly later. */
  startedAt: number;
  endedAt?: number;
}

/** The runtime's time limit for delivering a record. */
const RECORD_TIMEOUT_MS = 40_000;
/** The record of a failed request arrives immediately or never. */
const FAILED_RECORD_TIMEOUT_MS = 2000;
/** Maximum number of actions attributed to one invocation; further ones are reported separately. */
const MAX_ACTIONS = 1000;
/** Maximum number of tracked invocations; mail from further ones is reported separately. */
const MAX_PENDING = 10_000;

export function createInvocationReports({
  report,
  explain,
  buildWarning = () => undefined,
  clock,
}: Options): InvocationReports {
  /** By worker. */
  const pending = new Map<string, PendingInvocation[]>();
  const unsubscribe: (() => void)[] = [];
  let count = 0;

  function start(worker: string, key: string, warnings: string[] = []): PendingInvocation {
    const entry: PendingInvocation = {
      worker,
      key,
      actions: [],
      warnings,
      rejectedReplies: [],
      startedAt: clock.now(),
    };
    if (count >= MAX_PENDING) return entry;
    count += 1;
    const entries = pending.get(worker);
    if (entries === undefined) pending.set(worker, [entry]);
    else entries.push(entry);
    return entry;
  }

  function remove(entry: PendingInvocation): boolean {
    const entries = pending.get(entry.worker) ?? [];
    const at = entries.indexOf(entry);
    if (at < 0) return false;
    entries.splice(at, 1);
    count -= 1;
    return true;
  }

  /** Reports only the outcome of an invocation, because a process that failed to start produces no record. */
  function reportOutcome(
    entry: PendingInvocation,
    { outcome, exception }: InvocationOutcome,
    event:
      | Pick<EmailEvent, "event" | "id" | "from" | "to" | "rawSize">
      | Pick<FetchEvent, "event" | "method" | "url" | "status">,
  ) {
    if (!remove(entry)) return;
    const { worker, actions, startedAt } = entry;
    const common = { worker, outcome, wallMs: clock.now() - startedAt, logs: [], actions };
    const thrown = exception === undefined ? [] : [exception];
    report(
      event.event === "email"
        ? { ...event, ...common, ...explainReplies(entry, thrown) }
        : { ...event, ...common, exceptions: thrown },
    );
  }

  const sweeper = setInterval(() => {
    const oldestStart = clock.now() - RECORD_TIMEOUT_MS;
    for (const [worker, entries] of pending) {
      const keptEntries = entries.filter(({ endedAt }) => endedAt === undefined || endedAt > oldestStart);
      count -= entries.length - keptEntries.length;
      pending.set(worker, keptEntries);
    }
  }, RECORD_TIMEOUT_MS / 4).unref();

  /** Removes the entry that matches a record. Identical entries without actions are interchangeable. */
  function end(worker: string, key: string): PendingInvocation | undefined {
    const entries = pending.get(worker) ?? [];
    const candidates = entries.filter((entry) => entry.key === key);
    const [matchingEntry] = candidates;
    if (matchingEntry === undefined) return undefined;
    if (candidates.length > 1)
      for (const entry of candidates)
        for (const action of entry.actions.splice(0)) report({ event: "sent", worker, ...action });
    remove(matchingEntry);
    return matchingEntry;
  }

  const explained = (invocation: Invocation): ExplainedException[] =>
    [...(invocation.exception === undefined ? [] : [invocation.exception]), ...invocation.exceptions].map(
      (exception) => {
        const help = explain(invocation.script, exception);
        return help === undefined ? exception : { ...exception, help };
      },
    );

  function onInvocation(invocation: Invocation) {
    const { event, script: worker, wallMs, outcome, logs, rejected } = invocation;
    const common = { worker, wallMs, outcome, logs, exceptions: explained(invocation) };
    if (event.kind === "email") {
      const entry = end(worker, emailKey(event.id, event.to));
      const { id, from, to, rawSize } = event;
      report({
        event: "email",
        id,
        from,
        to,
        rawSize,
        ...(rejected !== undefined && { rejected }),
        actions: entry?.actions ?? [],
        ...common,
        ...explainReplies(entry, common.exceptions),
      });
    } else if (event.kind === "fetch") {
      const { method, url, status } = event;
      const { actions = [] } = end(worker, fetchKey(method, url)) ?? {};
      report({ event: "fetch", method, url, ...(status !== undefined && { status }), actions, ...common });
    } else if (event.kind === "scheduled") {
      const { cron, scheduledTime } = event;
      const { actions = [] } = end(worker, scheduledKey(event)) ?? {};
      report({ event: "scheduled", cron, scheduledTime, actions, ...common });
    } else if (event.kind === "queue") {
      const { queue, batchSize } = event;
      const { actions = [] } = end(worker, queueKey(event)) ?? {};
      report({ event: "queue", queue, batchSize, actions, ...common });
    } else if (event.kind === "tail") {
      const { consumed } = event;
      const { actions = [] } = end(worker, tailKey(consumed)) ?? {};
      report({ event: "tail", consumed, actions, ...common });
    } else {
      report({ event: "other", name: event.name, ...common });
    }
  }

  const instrument = (runtime: WorkerRuntime): WorkerRuntime => {
    unsubscribe.push(runtime.onInvocation(onInvocation));
    return {
      ...runtime,
      email(name, mail, actions) {
        const warning = buildWarning(name);
        const warnings = [...envelopeWarnings(mail), ...(warning === undefined ? [] : [warning])];
        const entry = start(name, emailKey(mail.id, mail.to), warnings);
        entry.message = mail.id;
        const answer = runtime.email(name, mail, noteRejectedReplies(actions, entry.rejectedReplies));
        const { id, from, to, rawSize } = mail;
        answer
          .then((outcome) =>
            outcome.ended.then(() => reportOutcome(entry, outcome, { event: "email", id, from, to, rawSize })),
          )
          .catch(() => remove(entry));
        return answer;
      },
      fetch(name, request, response) {
        const { method = "GET", url = "/" } = request;
        const entry = start(name, fetchKey(method, url));
        const answer = runtime.fetch(name, request, response);
        answer.then(
          (outcome) => {
            entry.endedAt = clock.now();
            if (outcome.byAssets === true)
              reportOutcome(entry, outcome, { event: "fetch", method, url, status: response.statusCode });
            if (outcome.exception !== undefined)
              setTimeout(
                () => reportOutcome(entry, outcome, { event: "fetch", method, url }),
                FAILED_RECORD_TIMEOUT_MS,
              ).unref();
          },
          () => remove(entry),
        );
        return answer;
      },
      scheduled(name, event) {
        const entry = start(name, scheduledKey(event));
        const answer = runtime.scheduled(name, event);
        answer.then(
          () => (entry.endedAt = clock.now()),
          () => remove(entry),
        );
        return answer;
      },
      queue(name, batch) {
        const entry = start(name, queueKey({ queue: batch.queue, batchSize: batch.messages.length }));
        const answer = runtime.queue(name, batch);
        answer.then(
          () => (entry.endedAt = clock.now()),
          () => remove(entry),
        );
        return answer;
      },
      tail(name, batch) {
        const entry = start(name, tailKey(batch.consumed));
        const invocation = runtime.tail(name, batch);
        invocation.then(
          () => (entry.endedAt = clock.now()),
          () => remove(entry),
        );
        return invocation;
      },
      upgrade(name, request, socket, head) {
        const entry = start(name, fetchKey("GET", request.url ?? "/"));
        socket.once("close", () => (entry.endedAt = clock.now()));
        runtime.upgrade(name, request, socket, head);
      },
    };
  };

  return {
    instrument,
    mailWritten({ mail, files }) {
      const worker = mail.script ?? "";
      const action: MailAction = {
        action: mail.cause,
        from: mail.from,
        to: mail.to,
        messageId: mail.messageId,
        files: files.map(({ path }) => path),
      };
      const owner = ownerOf(pending.get(worker) ?? [], mail.inbound?.id);
      if (owner === undefined || owner.actions.length >= MAX_ACTIONS) report({ event: "sent", worker, ...action });
      else owner.actions.push(action);
    },
    messageOf: (worker) => ownerOf(pending.get(worker) ?? [], undefined)?.message,
    close() {
      clearInterval(sweeper);
      for (const stop of unsubscribe) stop();
    },
  };
}

/** Maximum number of rejected replies that are reported per message. */
const MAX_REJECTED_REPLIES = 10;

function noteRejectedReplies(actions: MailActions, rejected: UserError[]): MailActions {
  const note = (err: unknown): never => {
    if (err instanceof UserError && rejected.length < MAX_REJECTED_REPLIES) rejected.push(err);
    throw err;
  };
  return {
    ...actions,
    reply: (reply) => actions.reply(reply).catch(note),
    replyBuilt: (mail) => actions.replyBuilt(mail).catch(note),
  };
}

/**
 * The error of reply() has only the text that workers match. Adds the reason to the exception, or to the warnings if
 * the worker has caught it.
 */
function explainReplies(
  entry: Pick<PendingInvocation, "warnings" | "rejectedReplies"> | undefined,
  exceptions: readonly ExplainedException[],
): Pick<EmailEvent, "warnings" | "exceptions"> {
  const { warnings = [], rejectedReplies = [] } = entry ?? {};
  const isThrown = ({ message }: UserError) => exceptions.some((exception) => exception.message === message);
  const caught = rejectedReplies.filter((err) => !isThrown(err));
  return {
    warnings: [
      ...warnings,
      ...caught.map(({ message, fix }) => `reply() was rejected: ${message}${fix === undefined ? "" : `. ${fix}`}`),
    ],
    exceptions: exceptions.map((exception) => {
      const fix = rejectedReplies.find(({ message }) => message === exception.message)?.fix;
      return fix === undefined ? exception : { ...exception, help: `reply() was rejected.\nFix: ${fix}` };
    }),
  };
}

/**
 * Attributes only unambiguous cases: the message to which the mail replies, or the only running invocation. A binding
 * call does not identify its invocation.
 */
function ownerOf(entries: PendingInvocation[], inbound: string | undefined): PendingInvocation | undefined {
  const candidates = inbound === undefined ? entries : entries.filter(({ key }) => key.startsWith(`${inbound} `));
  return candidates.length === 1 ? candidates[0] : undefined;
}

const emailKey = (id: InboundMail["id"], to: string) => `${id} ${to}`;
const scheduledKey = ({ cron, scheduledTime }: { cron: string; scheduledTime: Date }) =>
  `scheduled ${cron} ${scheduledTime.getTime()}`;
const queueKey = ({ queue, batchSize }: { queue: string; batchSize: number }) => `queue ${queue} ${batchSize}`;
const tailKey = (consumed: string[]) => `tail ${consumed.join(" ")}`;
const fetchKey = (method: string, url: string) => `${method} ${url}`;
