import { systemClock, type Clock } from "../../kernel/index.ts";
import type { WorkerScript } from "../scripts/script.ts";
import type { EmailOutcome, Invocation, InvocationOutcome } from "./port.ts";
import type { StackMapper } from "./stacks.ts";
import { noUsageMeter, type UsageMeter } from "./usage-meter.ts";
import {
  invocationDetailsOf,
  exceptionsOf,
  invocationIdOf,
  isObjectEvent,
  isStartupQuery,
  logsOf,
  invocationOutcome,
  objectInvocationOf,
  type TraceItem,
} from "./tail-items.ts";

/** One call into a worker, from its start until all its waitUntil() work has ended. */
interface LiveInvocation {
  /** Short, so that workerd does not mistake it for a secret and redact it from the tail. */
  readonly id: string;
  /**
   * Call this when the response is known. Logs may follow, unless the response was `silent`. Without `isReported`,
   * there is no record.
   */
  settle(
    outcome: InvocationOutcome | Omit<EmailOutcome, "ended" | "waitUntilSettled">,
    extraFields?: { status?: number; silent?: boolean; isReported?: boolean },
  ): void;
  /** Resolves with the complete record when the invocation has ended. */
  readonly ended: Promise<Invocation>;
}

export interface Invocations {
  /** A `lingering` invocation (a WebSocket) does not block draining. */
  begin(event: Invocation["event"], options?: { lingering?: boolean }): LiveInvocation;
  /** Processes a tail batch of this process. */
  tail(items: TraceItem[]): void;
  /** Call when the process has ended: no tail will follow. */
  abandon(): void;
  /** Number of invocations that have not ended. */
  readonly count: number;
  /** Resolves when only lingering invocations remain. */
  drained(): Promise<void>;
}

/** How long to wait for the tail after the response: waitUntil() work is limited to 30 s, plus some delay. */
const TAIL_TIMEOUT_MS = 35_000;
/** An interrupted invocation produces a tail immediately, or none if it logged nothing. */
const CUT_OFF_GRACE_MS = 500;

interface Pending {
  record: Invocation;
  settled: boolean;
  tailed: boolean;
  lingering: boolean;
  isReported: boolean;
  tailOutcome: InvocationOutcome["outcome"] | undefined;
  metered: ReturnType<UsageMeter["begin"]>;
  timer: NodeJS.Timeout | undefined;
  finish: (record: Invocation) => void;
}

type Identity = Pick<WorkerScript, "name" | "version" | "account">;

/** Identifies the worker of a record. */
export const identityOf = ({
  name,
  version,
  account,
}: Identity): Pick<Invocation, "script" | "version" | "account"> => ({
  script: name,
  version,
  ...(account !== undefined && { account }),
});

/** Merges the caller's view of an invocation with workerd's tail; the tail may arrive before the response. */
export function createInvocations({
  script,
  mapStack,
  emit,
  clock = systemClock,
  meter = noUsageMeter,
}: {
  script: Identity;
  mapStack: StackMapper;
  emit: (invocation: Invocation) => void;
  clock?: Clock;
  meter?: Pick<UsageMeter, "begin">;
}): Invocations {
  const identity = identityOf(script);
  const pending = new Map<string, Pending>();
  let counter = 0;
  let holdCount = 0;
  let onDrained: (() => void)[] = [];

  function finishIfEnded(id: string, entry: Pending) {
    if (!entry.settled || !entry.tailed) return;
    pending.delete(id);
    clearTimeout(entry.timer);
    const { record } = entry;
    if (record.outcome === "ok" && entry.tailOutcome !== undefined) record.outcome = entry.tailOutcome;
    // The waitUntil() work is part of a scheduled run; workerd, which handles it as a request, does not include that
    // work in the outcome.
    if (record.outcome === "ok" && record.event.kind === "scheduled" && record.exceptions.length > 0)
      record.outcome = "exception";
    // If a handler fails, workerd itself responds; only the tail contains the reason.
    if (record.outcome === "exception") record.exception ??= record.exceptions.shift();
    entry.metered.ended(entry.isReported ? record.outcome : undefined);
    if (entry.isReported) emit(record);
    entry.finish(record);
    if (entry.lingering || --holdCount > 0) return;
    for (const notifyDrained of onDrained) notifyDrained();
    onDrained = [];
  }

  return {
    begin(event, { lingering = false } = {}) {
      const id = (counter++).toString(36);
      const startedAt = clock.now();
      const record: Invocation = {
        ...identity,
        event,
        outcome: "ok",
        startedAt: new Date(startedAt),
        wallMs: 0,
        logs: [],
        exceptions: [],
      };
      const { promise: ended, resolve: finish } = Promise.withResolvers<Invocation>();
      const entry: Pending = {
        record,
        settled: false,
        tailed: false,
        lingering,
        isReported: true,
        tailOutcome: undefined,
        metered: meter.begin(),
        timer: undefined,
        finish,
      };
      pending.set(id, entry);
      if (!lingering) holdCount++;
      return {
        id,
        ended,
        settle(outcome, { status, silent = false, isReported = true } = {}) {
          if (entry.settled) return;
          Object.assign(record, outcome, { wallMs: clock.now() - startedAt });
          if (record.event.kind === "fetch" && status !== undefined) record.event.status = status;
          entry.settled = true;
          entry.isReported = isReported;
          entry.tailed ||= silent;
          if (!entry.tailed)
            entry.timer = setTimeout(
              () => {
                entry.tailed = true;
                finishIfEnded(id, entry);
              },
              outcome.outcome === "exceededWallTime" ? CUT_OFF_GRACE_MS : TAIL_TIMEOUT_MS,
            ).unref();
          finishIfEnded(id, entry);
        },
      };
    },
    tail(items) {
      for (const item of items) {
        if (isStartupQuery(item)) continue;
        const id = invocationIdOf(item);
        const entry = id === undefined ? undefined : pending.get(id);
        if (entry === undefined) {
          const invocation = { ...identity, ...fromTraceItem(item, mapStack) };
          meter.begin().ended(isObjectEvent(item) ? undefined : invocation.outcome);
          emit(invocation);
          continue;
        }
        Object.assign(entry.record, invocationDetailsOf(item));
        entry.record.logs.push(...logsOf(item, mapStack));
        entry.record.exceptions.push(...exceptionsOf(item, mapStack));
        if (entry.record.event.kind === "fetch" && item.outcome !== "ok") entry.tailOutcome = invocationOutcome(item);
        entry.tailed = true;
        finishIfEnded(id!, entry);
      }
    },
    get count() {
      return pending.size;
    },
    drained: () => (holdCount === 0 ? Promise.resolve() : new Promise((resolve) => void onDrained.push(resolve))),
    abandon() {
      for (const [id, entry] of pending) {
        entry.tailed = true;
        finishIfEnded(id, entry);
      }
    },
  };
}

/** An invocation not started by this server, for example a call between a worker's own entrypoints. */
function fromTraceItem(item: TraceItem, mapStack: StackMapper): Omit<Invocation, "script" | "version"> {
  const object = objectInvocationOf(item);
  return {
    event: {
      kind: "other",
      name: item.entrypoint ?? "default",
      ...(item.event?.rpcMethod !== undefined && { rpcMethod: item.event.rpcMethod }),
      ...(object !== undefined && { object }),
    },
    outcome: invocationOutcome(item),
    startedAt: new Date(item.eventTimestamp ?? 0),
    wallMs: 0,
    logs: logsOf(item, mapStack),
    exceptions: exceptionsOf(item, mapStack),
    ...invocationDetailsOf(item),
  };
}
