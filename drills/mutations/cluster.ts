import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/kernel/corrected-clock.ts",
    from: "last = Math.max(last, Math.floor(reference.time + monotonic() - reference.at));",
    to: "last = Math.floor(reference.time + monotonic() - reference.at);",
    test: "src/kernel/corrected-clock.test.ts",
  },
  {
    file: "src/cluster/database-time.ts",
    from: "best.roundTripMs <= MAX_ROUND_TRIP_MS || !hasReference",
    to: "best.roundTripMs > 0",
    test: "src/cluster/database-time.test.ts",
  },
  {
    file: "src/cluster/membership.ts",
    from: "graceUntil = performance.now() + deadMs;",
    to: "graceUntil = performance.now();",
    test: "src/cluster/membership.test.ts",
  },
  {
    file: "src/cluster/listener.ts",
    from: "rejectUnauthorized: true,",
    to: "rejectUnauthorized: false,",
    test: "src/cluster/forwarding.test.ts",
  },
  {
    file: "src/cluster/forwarded-headers.ts",
    from: "&& !CLIENT_HEADERS.has(name)",
    to: "",
    test: "src/cluster/forwarding.test.ts",
  },
];
