import type { Invocation } from "../runtime/port.ts";
import type { ReaderConnection } from "./port.ts";
import type { TraceRecord } from "./trace.ts";

/** Helpers for the tests in this folder: records, a runtime that only emits them, readers that store them. */

export const ACCOUNT = "a".repeat(32);

export const invocationOf = (more: Partial<Invocation> = {}): Invocation => ({
  script: "mailer",
  version: "v1",
  account: ACCOUNT,
  event: { kind: "email", id: "m1", from: "a@example.com", to: "b@example.net", rawSize: 5 },
  outcome: "ok",
  startedAt: new Date(1_800_000_000_000),
  wallMs: 12,
  logs: [],
  exceptions: [],
  ...more,
});

export const logOf = (...message: unknown[]): Invocation["logs"] => [
  { level: "log", at: new Date(1_800_000_000_001), message },
];

export function fakeRuntime() {
  const listeners = new Set<(invocation: Invocation) => void>();
  return {
    onInvocation(listener: (invocation: Invocation) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    emit(more: Partial<Invocation> = {}) {
      for (const listener of listeners) listener(invocationOf(more));
    },
  };
}

/** Stores what it receives; `got(n)` waits for the nth record. */
export function fakeReader() {
  const traces: TraceRecord[] = [];
  const waiting = new Set<() => void>();
  let closes = 0;
  let blocked = false;
  const wake = () => {
    for (const look of waiting) look();
  };
  const until = (found: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!found()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const connection: ReaderConnection = {
    write(text) {
      traces.push(JSON.parse(text) as TraceRecord);
      wake();
      return !blocked;
    },
    close() {
      closes++;
      wake();
    },
  };
  return {
    connection,
    traces,
    block: (value: boolean) => void (blocked = value),
    got: async (count: number) => {
      await until(() => traces.length >= count);
      return traces;
    },
    closed: () => until(() => closes > 0),
    logged: () => traces.flatMap(({ logs }) => logs.flatMap(({ message }) => message)),
  };
}
