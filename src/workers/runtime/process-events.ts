import type { ClientOf } from "./client.ts";
import type { DispatchClient, DispatchResult, QueueResult } from "./dispatch.ts";
import { fetchEvent } from "./fetch-event.ts";
import type { Invocations } from "./invocations.ts";
import type { LiveMessages } from "./live-messages.ts";
import type { Passthrough } from "./passthrough.ts";
import type { InvocationOutcome } from "./port.ts";
import type { WorkerProcess } from "./process-port.ts";
import { mapException, type StackMapper } from "./stacks.ts";
import { readProcessUsage, type RunningInvocation, type RuntimeLimits } from "./watchdog.ts";

interface ProcessEventsDeps {
  pid: number;
  dispatch: DispatchClient;
  passthrough: Passthrough;
  invocations: Invocations;
  messages: LiveMessages;
  limits: RuntimeLimits;
  client: ClientOf;
  mapStack: StackMapper;
  /** Counts a running invocation until ended() is called. */
  beginRun(options?: { longLived?: boolean }): RunningInvocation;
  /** Counts an invocation while `run` is pending. */
  runCounted<Result>(run: () => Promise<Result>): Promise<Result>;
  kill(outcome: InvocationOutcome["outcome"], message: string): void;
  /** Samples the process, and returns the reason if it has been killed. */
  sampledDeath(): InvocationOutcome | undefined;
  /** Returns why the process does not respond. */
  findExitCause(err: unknown): Promise<InvocationOutcome>;
}

type ProcessEvents = Pick<
  WorkerProcess,
  "email" | "fetch" | "scheduled" | "queue" | "tail" | "upgrade" | "maxInvocationMs"
>;

/** Passes events to the handlers of one worker process, within their time limits, and records each as an invocation. */
export function createProcessEvents(deps: ProcessEventsDeps): ProcessEvents {
  const { pid, dispatch, passthrough, invocations, messages, limits, client, mapStack } = deps;
  const { beginRun, runCounted, kill, sampledDeath, findExitCause } = deps;
  let longRuns = 0;

  /** Resolves with the outcome of a dispatch, including failures. */
  async function answerOf<Result extends DispatchResult>(
    wallMs: number,
    send: (wallMs: number) => Promise<Result | undefined>,
  ): Promise<Result | DispatchResult> {
    try {
      const answer = await send(wallMs);
      if (answer === undefined) {
        const message = `Worker exceeded wall time limit of ${wallMs} ms.`;
        // Without a usage sample, waiting and looping are indistinguishable; a looping process would never respond
        // again.
        if (readProcessUsage(pid) === undefined) kill("exceededWallTime", message);
        return { outcome: "exceededWallTime", exception: { name: "Error", message } };
      }
      // The kernel limit takes effect before the next sample: a failed allocation means that the memory limit has been
      // exceeded.
      if (/\ballocation failed|out of memory/i.test(answer.exception?.message ?? "")) {
        const death = sampledDeath();
        if (death !== undefined) return death;
      }
      return answer.exception === undefined
        ? answer
        : { ...answer, exception: mapException(answer.exception, mapStack) };
    } catch (err) {
      return findExitCause(err);
    }
  }

  return {
    get maxInvocationMs() {
      return longRuns > 0 ? limits.scheduledWallMs : 0;
    },
    async email(mail, actions) {
      const invocation = invocations.begin({
        kind: "email",
        id: mail.id,
        from: mail.from,
        to: mail.to,
        rawSize: mail.rawSize,
      });
      const { promise: waitUntilSettled, resolve: onSettled } = Promise.withResolvers<void>();
      const token = messages.open({ mail, actions, onSettled });
      void invocation.ended.then(() => {
        messages.close(token);
        onSettled();
      });
      const {
        silent = false,
        pending = false,
        ...answer
      } = await runCounted(() =>
        answerOf(limits.emailWallMs, (wallMs) => dispatch.send(invocation.id, token, mail, wallMs)),
      );
      invocation.settle(answer, { silent });
      const endPromise = invocation.ended.then(() => {});
      if (answer.outcome !== "exception" || answer.exception !== undefined)
        return { ...answer, ...(pending && { waitUntilSettled }), ended: endPromise };
      const record = await Promise.race([
        invocation.ended,
        new Promise<undefined>((resolve) => void setTimeout(() => resolve(undefined), 1000).unref()),
      ]);
      return {
        ...answer,
        exception: record?.exception ?? { name: "Error", message: "the worker failed without an error message" },
        ended: endPromise,
      };
    },
    async fetch(request, response) {
      const invocation = invocations.begin(fetchEvent(request, client));
      const outcome = await runCounted(() => passthrough.fetch(invocation.id, request, response));
      invocation.settle(outcome, { status: response.statusCode });
      return outcome;
    },
    async scheduled(event) {
      const invocation = invocations.begin({ kind: "scheduled", ...event });
      longRuns++;
      void invocation.ended.then(() => longRuns--);
      const { silent = false, ...answer } = await runCounted(() =>
        answerOf(limits.scheduledWallMs, (wallMs) => dispatch.scheduled(invocation.id, event, wallMs)),
      );
      invocation.settle(answer, { silent });
      const { outcome, exception } = await invocation.ended;
      return { outcome, ...(exception !== undefined && { exception }) };
    },
    async queue(batch) {
      const { queue, messages: sent } = batch;
      const invocation = invocations.begin({ kind: "queue", queue, batchSize: sent.length });
      longRuns++;
      void invocation.ended.then(() => longRuns--);
      const { silent = false, ...answer } = await runCounted(() =>
        answerOf<QueueResult>(limits.scheduledWallMs, (wallMs) => dispatch.queue(invocation.id, batch, wallMs)),
      );
      const { outcome, exception, ackAll = false, retryAll, acks = [], retries = [] }: QueueResult = answer;
      const ownOutcome = { outcome, ...(exception !== undefined && { exception }) };
      invocation.settle(ownOutcome, { silent });
      return { ...ownOutcome, started: true, ackAll, ...(retryAll !== undefined && { retryAll }), acks, retries };
    },
    async tail({ items, consumed, origins }) {
      const invocation = invocations.begin({ kind: "tail", consumed, origins });
      const { silent = false, ...answer } = await runCounted(() =>
        answerOf(limits.emailWallMs, (wallMs) => dispatch.tail(invocation.id, items, wallMs)),
      );
      invocation.settle(answer, { silent });
      const { outcome, exception } = await invocation.ended;
      return { outcome, ...(exception !== undefined && { exception }) };
    },
    upgrade(request, socket, head) {
      const invocation = invocations.begin(fetchEvent(request, client), { lingering: true });
      const runningInvocation = beginRun({ longLived: true });
      void passthrough.upgrade(invocation.id, request, socket, head, runningInvocation.answered).then((status) => {
        runningInvocation.ended();
        invocation.settle({ outcome: "ok" }, { status });
      });
    },
  };
}
