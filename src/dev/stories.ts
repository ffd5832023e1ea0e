import type { Clock } from "../kernel/index.ts";
import type { Captured } from "../mail/index.ts";
import type { InboundMail, Invocation, Outcome, WorkerRuntime } from "../workers/index.ts";
import { envelopeWarnings } from "./envelope-warnings.ts";
import type { EmailEvent, Explained, FetchEvent, MailAction, Report } from "./events.ts";

/** Correlates invocations with the mail that they sent and with the warnings about their messages. */
export interface Stories {
  /** The runtime, instrumented to record the start of each invocation. All calls must go through it. */
  readonly runtime: WorkerRuntime;
  /** Mail that was written to disk. */
  captured(captured: Captured): void;
  close(): void;
}

interface Options {
  runtime: WorkerRuntime;
  report: Report;
  explain: (worker: string, exception: Explained) => string | undefined;
  clock: Clock;
}

/** A started invocation whose record has not arrived yet. */
interface Live {
  worker: string;
  /** Identifies its record: the id of the message, method and URL, or the schedule. */
  key: string;
  actions: MailAction[];
  warnings: string[];
  /** Milliseconds since the epoch: the start, and the end as seen by the caller. The record arrives slightly later. */
  began: number;
  over?: number;
}

/** The runtime's time limit for delivering a record. */
const RECORD_PATIENCE_MS = 40_000;
/** The record of a failed request arrives immediately or never. */
const FAILED_PATIENCE_MS = 2000;
/** Maximum number of actions attributed to one invocation; further ones are reported separately. */
const MAX_ACTIONS = 1000;
/** Maximum number of tracked invocations; mail from further ones is reported separately. */
const MAX_LIVE = 10_000;

export function createStories({ runtime, report, explain, clock }: Options): Stories {
  const live = new Map<string, Live[]>();
  let count = 0;

  function begin(worker: string, key: string, warnings: string[] = []): Live {
    const entry: Live = { worker, key, actions: [], warnings, began: clock.now() };
    if (count >= MAX_LIVE) return entry;
    count += 1;
    const entries = live.get(worker);
    if (entries === undefined) live.set(worker, [entry]);
    else entries.push(entry);
    return entry;
  }

  function forget(entry: Live): boolean {
    const entries = live.get(entry.worker) ?? [];
    const at = entries.indexOf(entry);
    if (at < 0) return false;
    entries.splice(at, 1);
    count -= 1;
    return true;
  }

  /** A process that failed to start produces no record, so only the outcome is known. */
  function tellUnrecorded(
    entry: Live,
    { outcome, exception }: Outcome,
    event: Pick<EmailEvent, "event" | "id" | "from" | "to" | "rawSize"> | Pick<FetchEvent, "event" | "method" | "url">,
  ) {
    if (!forget(entry)) return;
    const { worker, warnings, actions, began } = entry;
    const common = {
      worker,
      outcome,
      wallMs: clock.now() - began,
      logs: [],
      actions,
      exceptions: exception === undefined ? [] : [exception],
    };
    report(event.event === "email" ? { ...event, ...common, warnings } : { ...event, ...common });
  }

  const sweeper = setInterval(() => {
    const before = clock.now() - RECORD_PATIENCE_MS;
    for (const [worker, entries] of live) {
      const kept = entries.filter(({ over }) => over === undefined || over > before);
      count -= entries.length - kept.length;
      live.set(worker, kept);
    }
  }, RECORD_PATIENCE_MS / 4).unref();

  /** Removes the entry that matches a record. Identical entries without actions are interchangeable. */
  function end(worker: string, key: string): Live | undefined {
    const entries = live.get(worker) ?? [];
    const candidates = entries.filter((entry) => entry.key === key);
    const [found] = candidates;
    if (found === undefined) return undefined;
    if (candidates.length > 1)
      for (const entry of candidates)
        for (const action of entry.actions.splice(0)) report({ event: "sent", worker, ...action });
    forget(found);
    return found;
  }

  const explained = (invocation: Invocation): Explained[] =>
    [...(invocation.exception === undefined ? [] : [invocation.exception]), ...invocation.exceptions].map(
      (exception) => {
        const help = explain(invocation.script, exception);
        return help === undefined ? exception : { ...exception, help };
      },
    );

  const unsubscribe = runtime.onInvocation((invocation) => {
    const { event, script: worker, wallMs, outcome, logs, rejected } = invocation;
    const common = { worker, wallMs, outcome, logs, exceptions: explained(invocation) };
    if (event.kind === "email") {
      const { actions = [], warnings = [] } = end(worker, emailKey(event.id, event.to)) ?? {};
      const { id, from, to, rawSize } = event;
      report({
        event: "email",
        id,
        from,
        to,
        rawSize,
        ...(rejected !== undefined && { rejected }),
        warnings,
        actions,
        ...common,
      });
    } else if (event.kind === "fetch") {
      const { method, url, status } = event;
      const { actions = [] } = end(worker, fetchKey(method, url)) ?? {};
      report({ event: "fetch", method, url, ...(status !== undefined && { status }), actions, ...common });
    } else if (event.kind === "scheduled") {
      const { cron, scheduledTime } = event;
      const { actions = [] } = end(worker, scheduledKey(event)) ?? {};
      report({ event: "scheduled", cron, scheduledTime, actions, ...common });
    } else {
      report({ event: "other", name: event.name, ...common });
    }
  });

  return {
    runtime: {
      ...runtime,
      email(name, mail, actions) {
        const entry = begin(name, emailKey(mail.id, mail.to), envelopeWarnings(mail));
        const answer = runtime.email(name, mail, actions);
        const { id, from, to, rawSize } = mail;
        answer
          .then((outcome) =>
            outcome.ended.then(() => tellUnrecorded(entry, outcome, { event: "email", id, from, to, rawSize })),
          )
          .catch(() => forget(entry));
        return answer;
      },
      fetch(name, request, response) {
        const { method = "GET", url = "/" } = request;
        const entry = begin(name, fetchKey(method, url));
        const answer = runtime.fetch(name, request, response);
        answer.then(
          (outcome) => {
            entry.over = clock.now();
            if (outcome.exception !== undefined)
              setTimeout(
                () => tellUnrecorded(entry, outcome, { event: "fetch", method, url }),
                FAILED_PATIENCE_MS,
              ).unref();
          },
          () => forget(entry),
        );
        return answer;
      },
      scheduled(name, event) {
        const entry = begin(name, scheduledKey(event));
        const answer = runtime.scheduled(name, event);
        answer.then(
          () => (entry.over = clock.now()),
          () => forget(entry),
        );
        return answer;
      },
      upgrade(name, request, socket, head) {
        const entry = begin(name, fetchKey("GET", request.url ?? "/"));
        socket.once("close", () => (entry.over = clock.now()));
        runtime.upgrade(name, request, socket, head);
      },
    },
    captured({ mail, files }) {
      const worker = mail.script ?? "";
      const action: MailAction = {
        action: mail.cause,
        from: mail.from,
        to: mail.to,
        messageId: mail.messageId,
        files: files.map(({ path }) => path),
      };
      const owner = ownerOf(live.get(worker) ?? [], mail.inbound?.id);
      if (owner === undefined || owner.actions.length >= MAX_ACTIONS) report({ event: "sent", worker, ...action });
      else owner.actions.push(action);
    },
    close() {
      clearInterval(sweeper);
      unsubscribe();
    },
  };
}

/**
 * Attributes only unambiguous cases: the message that the mail answers, or the only running invocation. A binding call
 * does not identify its invocation.
 */
function ownerOf(entries: Live[], inbound: string | undefined): Live | undefined {
  const candidates = inbound === undefined ? entries : entries.filter(({ key }) => key.startsWith(`${inbound} `));
  return candidates.length === 1 ? candidates[0] : undefined;
}

const emailKey = (id: InboundMail["id"], to: string) => `${id} ${to}`;
const scheduledKey = ({ cron, scheduledTime }: { cron: string; scheduledTime: Date }) =>
  `scheduled ${cron} ${scheduledTime.getTime()}`;
const fetchKey = (method: string, url: string) => `${method} ${url}`;
