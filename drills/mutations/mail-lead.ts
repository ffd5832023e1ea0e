import type { Mutation } from "./mutation.ts";

/** Spool files, pauses of the outbound queue, the email log, SMTP replies and routing patterns. */
export const mutations: Mutation[] = [
  {
    file: "src/mail/messages/streams.ts",
    from: "      closeStream(rest);\n",
    to: "",
    test: "src/mail/messages/streams.test.ts",
  },
  {
    file: "src/mail/outbound/queue/bodies.ts",
    from: "      closeStream(raw);",
    to: "      void raw;",
    test: "src/mail/closed-sources.test.ts",
  },
  {
    file: "src/mail/retry/bodies.ts",
    from: "        closeStream(raw);",
    to: "        void raw;",
    test: "src/mail/closed-sources.test.ts",
  },
  {
    file: "src/mail/outbound/smtp/breaker.ts",
    from: "      entry.until = clock.now();",
    to: "      entry.failures = 0;",
    test: "src/mail/outbound/smtp/breaker.test.ts",
  },
  {
    file: "src/mail/outbound/smtp/breaker.ts",
    from: "return entry !== undefined && entry.until > clock.now() ? { until",
    to: "return entry !== undefined ? { until",
    test: "src/mail/outbound/smtp/breaker.test.ts",
  },
  {
    file: "src/mail/outbound/queue/queue.ts",
    from: "      deps.resume(destinations);",
    to: "      notifyRunners(destinations);",
    test: "src/mail/outbound/queue/queue.test.ts",
    name: "retried immediately by resend",
    timeoutMs: 60_000,
  },
  {
    file: "src/mail/activity/entry-reference.ts",
    from: `if (detail["cause"] === "reply" && rcpt === undefined) return { kind, message, rcpts: [] };`,
    to: "",
    test: "src/mail/activity/activity.test.ts",
  },
  {
    file: "src/mail/activity/status.ts",
    from: `if (last.step === "interrupted") return "unknown";`,
    to: "",
    test: "src/mail/activity/activity.test.ts",
  },
  {
    file: "src/mail/errors.ts",
    from: "return isMachineError(thrown) ? toNeutralError(thrown) : thrown;",
    to: "return thrown;",
    test: "src/mail/errors.test.ts",
  },
  {
    file: "src/protocol/smtp/reply.ts",
    from: "const MAX_TEXT_OCTETS = 506;",
    to: "const MAX_TEXT_OCTETS = 508;",
    test: "src/protocol/smtp/reply.test.ts",
  },
  {
    file: "src/protocol/smtp/reply.ts",
    from: "while (end > 0 && (octets[end]! & 0xc0) === 0x80) end--;",
    to: "",
    test: "src/protocol/smtp/reply.test.ts",
  },
  {
    file: "src/mail/routing/patterns.ts",
    from: `character === "*" ? "[^@]*"`,
    to: `character === "*" ? ".*"`,
    test: "src/mail/routing/patterns.test.ts",
  },
  {
    file: "src/mail/routing/patterns.ts",
    from: "  if (compiled.programSize() > MAX_PROGRAM_SIZE)",
    to: "  if (compiled.programSize() > 100 * MAX_PROGRAM_SIZE)",
    test: "src/mail/routing/patterns.test.ts",
  },
  {
    file: "src/mail/routing/rules-table.ts",
    from: "      if (other === destination) continue;",
    to: "      continue;",
    test: "src/mail/routing/routing.test.ts",
  },
  {
    file: "src/mail/routing/rules.ts",
    from: "if (otherPatternCount >= MAX_PATTERNS)",
    to: "if (otherPatternCount > MAX_PATTERNS)",
    test: "src/mail/routing/routing.test.ts",
  },
];
