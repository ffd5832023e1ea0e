import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/workers/runtime/watchdog.ts",
    from: "ended + Math.min(begun, MAX_BEGUN_INVOCATIONS)",
    to: "ended + begun",
    test: "src/workers/runtime/watchdog.test.ts",
  },
  {
    file: "src/workers/runtime/watchdog.ts",
    from: "Math.min(selfStarted, MAX_SELF_STARTED)",
    to: "selfStarted",
    test: "src/workers/runtime/watchdog.test.ts",
  },
  {
    file: "src/workers/objects/alarms.ts",
    from: "Math.max(pauseMs, at - clock.now())",
    to: "at - clock.now()",
    test: "src/workers/objects/alarms.test.ts",
  },
  {
    file: "src/workers/runtime/watchdog.ts",
    from: "invocation.chargedMs = Math.max(0, invocation.chargedMs - elapsedMs / WINDOW_LIMITS)",
    to: "invocation.chargedMs = 0",
    test: "src/workers/runtime/watchdog.test.ts",
  },
  {
    file: "src/workers/runtime/watchdog.ts",
    from: "        count(sum, oldest, -1);\n",
    to: "",
    test: "src/workers/runtime/watchdog.test.ts",
  },
  {
    file: "src/workers/runtime/egress/policy.ts",
    from: "if (!policy.allowLoopback && isOwn())",
    to: "if (!policy.allowLoopback && isOwn() && port === 0)",
    test: "src/workers/runtime/egress/policy.test.ts",
  },
  {
    file: "src/workers/runtime/egress/policy.ts",
    from: "(isLoopbackAddress(address) || isOwn())) return `port",
    to: "isOwn()) return `port",
    test: "src/workers/runtime/egress/policy.test.ts",
  },
  {
    file: "src/kernel/own-addresses.ts",
    from: "named(ip) || isInterfaceAddress(ip)",
    to: "isInterfaceAddress(ip)",
    test: "src/kernel/own-addresses.test.ts",
  },
  {
    file: "src/kernel/own-addresses.ts",
    from: "at - interfaceCache.at >= cacheMs",
    to: "at - interfaceCache.at > 60_000",
    test: "src/kernel/own-addresses.test.ts",
  },
  {
    file: "src/mail/submission/listener.ts",
    from: "if (submitter === undefined) return AUTH_EXPIRED;",
    to: "if (submitter === undefined) return undefined;",
    test: "src/mail/submission/submission.test.ts",
  },
  {
    file: "src/mail/submission/listener.ts",
    from: "      user.submitter = submitter;\n",
    to: "",
    test: "src/mail/submission/submission.test.ts",
  },
  {
    file: "src/workers/runtime/response-headers.ts",
    from: '"service-worker-allowed", ',
    to: "",
    test: "src/workers/runtime/response-headers.test.ts",
  },
  {
    file: "src/workers/runtime/response-headers.ts",
    from: '["domain", "path"].includes',
    to: '["domain"].includes',
    test: "src/workers/runtime/response-headers.test.ts",
  },
  {
    file: "src/workers/runtime/response-headers.ts",
    from: "domain.endsWith(`.${site.parent}`)",
    to: "domain.endsWith(site.parent)",
    test: "src/workers/runtime/response-headers.test.ts",
  },
  {
    file: "src/kernel/connection-limits.ts",
    from: "if (ownCount >= perNetwork) return",
    to: "if (ownCount > perNetwork) return",
    test: "src/kernel/connection-limits.test.ts",
  },
  {
    file: "src/kernel/connection-limits.ts",
    from: "      openCount++;\n",
    to: "",
    test: "src/kernel/connection-limits.test.ts",
  },
  {
    file: "src/api/platform-host.ts",
    from: "&& !platformHosts.some",
    to: "&& platformHosts.some",
    test: "src/api/platform-host.test.ts",
  },
  {
    file: "src/dev/http/cross-origin.ts",
    from: 'site === "cross-site" || ',
    to: "",
    test: "src/dev/http/cross-origin.test.ts",
  },
  {
    file: "src/kernel/log.ts",
    from: ", hooks: { streamWrite: escapeControls }",
    to: "",
    test: "src/kernel/log.test.ts",
  },
];
