import type { Mutation } from "./mutation.ts";

/** Work and limits that several processes share. */
export const mutations: Mutation[] = [
  {
    file: "src/store/sweeps/sweeps-table.ts",
    from: '.where("sweeps.until", "<=", now)',
    to: "",
    test: "src/store/sweeps/sweeps.test.ts",
  },
  {
    file: "src/store/sweeps/sweeps.ts",
    from: "next = startedAt + intervalMs * DUE_AFTER;",
    to: "",
    test: "src/store/sweeps/sweeps.test.ts",
  },
  {
    file: "src/store/rate-limits/shared-limits.ts",
    from: "Math.max(0, limit - (count - wanted))",
    to: "Math.max(0, 2 * limit - (count - wanted))",
    test: "src/store/rate-limits/shared-limits.test.ts",
  },
  {
    file: "src/store/rate-limits/shared-limits.ts",
    from: "const RESERVED_FRACTION = 0.1;",
    to: "const RESERVED_FRACTION = 1;",
    test: "src/store/rate-limits/shared-limits.test.ts",
  },
  {
    file: "src/kernel/proxy-protocol/receive.ts",
    from: "else onRefused(proxy, err.message);",
    to: "",
    test: "src/api/proxied-connections.test.ts",
  },
  {
    file: "src/mail/outbound/queue/destinations.ts",
    from: "if (state.active >= shareOf(destination)) return false;",
    to: "",
    test: "src/mail/outbound/queue/queue.test.ts",
  },
  {
    file: "src/server/processes/shared-sockets.ts",
    from: "if (bound.port === undefined || bound.port === 0) {",
    to: "if (bound.port === undefined) {",
    test: "src/server/processes/supervisor.test.ts",
  },
  {
    file: "src/server/processes/supervisor.ts",
    from: "await Promise.race([others, clock.sleep(limits.stopFirstAfterMs)]);",
    to: "",
    test: "src/server/processes/supervisor.test.ts",
  },
  {
    file: "src/server/processes/primary-process.ts",
    from: "if (performance.now() + RETRY_MS >= deadline)",
    to: "if (performance.now() > 0)",
    test: "src/server/processes/primary-process.test.ts",
  },
  {
    file: "src/workers/bindings/d1/remote-databases.ts",
    from: "signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal])",
    to: "closing.signal",
    test: "src/server/processes/d1-processes.test.ts",
  },
];
