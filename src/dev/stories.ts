import type { Clock } from "../kernel/index.ts";
import type { Captured } from "../mail/index.ts";
import type { InboundMail, Invocation, WorkerRuntime } from "../workers/index.ts";
import { envelopeWarnings } from "./envelope-warnings.ts";
import type { Explained, MailAction, Report } from "./events.ts";

/** Puts together what belongs together: an invocation, the mail it sent, what was odd about its message. */
export interface Stories {
  /** The runtime, with the beginning of every invocation noted. Everything in the server must go through this one. */
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

/** An invocation that has begun and whose record has not come yet. */
interface Live {
  worker: string;
  /** What its record will be recognised by: the message's id, or method and URL. */
  key: string;
  actions: MailAction[];
  warnings: string[];
  /** Milliseconds since the epoch when the caller was done with it; its record comes a little later. */
  over?: number;
}

/** The runtime waits this long for a record; one that never comes (the process could not be started) is given up after it. */
const RECORD_PATIENCE_MS = 40_000;
/** More live invocations than this are not followed; what they send is told apart from them. */
const MAX_LIVE = 10_000;

export function createStories({ runtime, report, explain, clock }: Options): Stories {
  const live = new Map<string, Live[]>();
  let count = 0;

  /** Returns what to call when the caller is done. */
  function begin(worker: string, key: string, warnings: string[] = []): () => void {
    if (count >= MAX_LIVE) return () => {};
    count += 1;
    const entries = live.get(worker);
    const entry: Live = { worker, key, actions: [], warnings };
    if (entries === undefined) live.set(worker, [entry]);
    else entries.push(entry);
    return () => {
      entry.over = clock.now();
    };
  }

  const sweeper = setInterval(() => {
    const before = clock.now() - RECORD_PATIENCE_MS;
    for (const [worker, entries] of live) {
      const kept = entries.filter(({ over }) => over === undefined || over > before);
      count -= entries.length - kept.length;
      live.set(worker, kept);
    }
  }, RECORD_PATIENCE_MS / 4).unref();

  /** Takes out the entry of a record. Of several that could be meant, one without actions is as good as another. */
  function end(worker: string, key: string): Live | undefined {
    const entries = live.get(worker) ?? [];
    const candidates = entries.filter((entry) => entry.key === key);
    const [found] = candidates;
    if (found === undefined) return undefined;
    if (candidates.length > 1) for (const entry of candidates) for (const action of entry.actions.splice(0)) report({ event: "sent", worker, ...action });
    entries.splice(entries.indexOf(found), 1);
    count -= 1;
    return found;
  }

  const explained = (invocation: Invocation): Explained[] =>
    [...(invocation.exception === undefined ? [] : [invocation.exception]), ...invocation.exceptions].map((exception) => {
      const help = explain(invocation.script, exception);
      return help === undefined ? exception : { ...exception, help };
    });

  const unsubscribe = runtime.onInvocation((invocation) => {
    const { event, script: worker, wallMs, outcome, logs, rejected } = invocation;
    const common = { worker, wallMs, outcome, logs, exceptions: explained(invocation) };
    if (event.kind === "email") {
      const { actions = [], warnings = [] } = end(worker, emailKey(event.id, event.to)) ?? {};
      const { id, from, to, rawSize } = event;
      report({ event: "email", id, from, to, rawSize, ...(rejected !== undefined && { rejected }), warnings, actions, ...common });
    } else if (event.kind === "fetch") {
      const { method, url, status } = event;
      const { actions = [] } = end(worker, fetchKey(method, url)) ?? {};
      report({ event: "fetch", method, url, ...(status !== undefined && { status }), actions, ...common });
    } else {
      report({ event: "other", name: event.name, ...common });
    }
  });

  return {
    runtime: {
      ...runtime,
      email(name, mail, actions) {
        const over = begin(name, emailKey(mail.id, mail.to), envelopeWarnings(mail));
        return runtime.email(name, mail, actions).finally(over);
      },
      fetch(name, request, response) {
        const over = begin(name, fetchKey(request.method ?? "GET", request.url ?? "/"));
        return runtime.fetch(name, request, response).finally(over);
      },
      upgrade(name, request, socket, head) {
        socket.once("close", begin(name, fetchKey("GET", request.url ?? "/")));
        runtime.upgrade(name, request, socket, head);
      },
    },
    captured({ mail, files }) {
      const worker = mail.script ?? "";
      const action: MailAction = { action: mail.cause, from: mail.from, to: mail.to, messageId: mail.messageId, files: files.map(({ path }) => path) };
      const owner = ownerOf(live.get(worker) ?? [], mail.inbound?.id);
      if (owner === undefined) report({ event: "sent", worker, ...action });
      else owner.actions.push(action);
    },
    close() {
      clearInterval(sweeper);
      unsubscribe();
    },
  };
}

/** Only what is certain: the message it answers, or the one invocation that is running. A binding does not say on whose behalf it is called. */
function ownerOf(entries: Live[], inbound: string | undefined): Live | undefined {
  const candidates = inbound === undefined ? entries : entries.filter(({ key }) => key.startsWith(`${inbound} `));
  return candidates.length === 1 ? candidates[0] : undefined;
}

const emailKey = (id: InboundMail["id"], to: string) => `${id} ${to}`;
const fetchKey = (method: string, url: string) => `${method} ${url}`;
