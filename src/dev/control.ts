import { type HandlingResult, type Inbox, type LocalMail, type Receiver, readMessage } from "../mail/index.ts";
import type { InvocationOutcome, WorkerRuntime } from "../workers/index.ts";
import type { MailBuilderFields } from "../workers/ports.ts";
import { devErrors } from "./errors.ts";
import type { DevEvent, EmailEvent, EventReporter } from "./events.ts";
import type { DeliveryFaults, DiskFault } from "./faults/index.ts";
import type { DevWorkers } from "./workers.ts";

/** A message for a worker. `worker` is the name of that worker; default: the first one. */
interface DispatchedMail {
  worker?: string | undefined;
  from: string;
  to: string;
  raw: Uint8Array;
}

/** Controls a development server from the process that it runs in, for tests. */
export interface DevControl {
  readonly inbox: Inbox;
  readonly deliveries: Pick<DeliveryFaults, "add" | "clear">;
  readonly disk: Pick<DiskFault, "setFull">;
  /** Composes a message. Throws the errors of send(). */
  compose(mail: MailBuilderFields): Promise<{ from: string; to: string[]; raw: Uint8Array }>;
  /**
   * Passes a message to one worker. Resolves when the handler and its waitUntil() work have ended; `event` is absent if
   * the runtime has lost the record. Throws workerMissing, workerUnavailable.
   */
  email(mail: DispatchedMail): Promise<{ id: string; handled: HandlingResult; event: EmailEvent | undefined }>;
  /** Runs a scheduled handler. Throws workerMissing, workerUnavailable. */
  scheduled(
    worker: string | undefined,
    event: { cron: string; scheduledTime: Date },
  ): Promise<InvocationOutcome & { worker: string }>;
  /** Resolves when the queue handlers that are running have ended, and the delays of their retries have started. */
  batchesEnded(): Promise<void>;
  /** Returns the configured schedules. */
  crons(): { worker: string; cron: string }[];
}

interface ControlDeps {
  workers: Pick<DevWorkers, "names" | "unavailable" | "list">;
  mail: Pick<LocalMail, "compose" | "spool">;
  receiver: Pick<Receiver, "dispatch">;
  runtime: Pick<WorkerRuntime, "scheduled">;
  inbox: Inbox;
  deliveries: DeliveryFaults;
  disk: DiskFault;
}

/** How long to wait for the event of a message, which may follow the end of its invocation. */
const EVENT_DELAY_MS = 2000;

interface InstrumentedControl extends DevControl {
  /** Must be called with the events of all invocations. */
  report: EventReporter;
  /** Must be called with every run of a queue handler. Returns the run. */
  noteBatch<Run extends Promise<unknown>>(run: Run): Run;
}

export function createDevControl(deps: ControlDeps): InstrumentedControl {
  const { workers, mail, receiver, runtime, inbox, deliveries, disk } = deps;
  const awaited = new Map<string, (event: EmailEvent) => void>();
  const batches = new Set<Promise<unknown>>();

  function select(name = workers.names[0]!): string {
    if (!workers.names.includes(name)) throw devErrors.workerMissing({ name, names: workers.names.join(", ") });
    const reason = workers.unavailable(name);
    if (reason !== undefined) throw devErrors.workerUnavailable({ name, reason });
    return name;
  }

  return {
    inbox,
    deliveries,
    disk,
    compose: mail.compose,
    report(event: DevEvent) {
      if (event.event === "email") awaited.get(event.id)?.(event);
    },
    async email({ worker, from, to, raw }) {
      const script = select(worker);
      const message = readMessage(mail.spool.fromMemory(raw));
      const { id } = message.source;
      const reported = new Promise<EmailEvent>((resolve) => awaited.set(id, resolve));
      try {
        const handled = await receiver.dispatch({ script, from, to, message, keepReplies: true });
        await handled.ended;
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise<undefined>(
          (resolve) => (timer = setTimeout(() => resolve(undefined), EVENT_DELAY_MS)),
        );
        const event = await Promise.race([reported, late]);
        clearTimeout(timer);
        return { id, handled, event };
      } finally {
        awaited.delete(id);
      }
    },
    async scheduled(name, event) {
      const worker = select(name);
      return { worker, ...(await runtime.scheduled(worker, event)) };
    },
    noteBatch(run) {
      const ended: Promise<unknown> = run.then(
        () => batches.delete(ended),
        () => batches.delete(ended),
      );
      batches.add(ended);
      return run;
    },
    async batchesEnded() {
      await Promise.all(batches);
      // The delivery reads the clock in microtasks that follow the end of the handler.
      await new Promise((resolve) => setImmediate(resolve));
    },
    crons: () => workers.list().flatMap(({ name, crons }) => crons.map((cron) => ({ worker: name, cron }))),
  };
}
