import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/workers/bindings/rate-limits/counters.ts",
    from: "if ((previousCount ?? 0) >= limit) return false;",
    to: "if ((previousCount ?? 0) > limit) return false;",
    test: "src/workers/bindings/rate-limits/counters.test.ts",
  },
  {
    file: "src/workers/bindings/rate-limits/counters.ts",
    from: "if (period?.number !== number) periods",
    to: "if (period === undefined) periods",
    test: "src/workers/bindings/rate-limits/counters.test.ts",
  },
  {
    file: "src/workers/bindings/rate-limits/counters.ts",
    from: "counts.delete(counts.keys().next().value!)",
    to: "counts.clear()",
    test: "src/workers/bindings/rate-limits/counters.test.ts",
  },
  {
    file: "src/workers/bindings/analytics/point.ts",
    from: "value.length <= maxLength && ",
    to: "",
    test: "src/workers/bindings/analytics/point.test.ts",
  },
  {
    file: "src/workers/bindings/analytics/point.ts",
    from: 'text.toWellFormed().replaceAll("\\0", "\\uFFFD")',
    to: "text",
    test: "src/workers/bindings/analytics/point.test.ts",
  },
  {
    file: "src/workers/bindings/analytics/analytics.ts",
    from: "from: Math.max(range.from, oldest)",
    to: "from: range.from",
    test: "src/workers/bindings/analytics/analytics.test.ts",
  },
  {
    file: "src/workers/bindings/analytics/analytics.ts",
    from: "accountQueries >= limits.queriesPerAccount || ",
    to: "",
    test: "src/workers/bindings/analytics/analytics.test.ts",
  },
  {
    file: "src/workers/bindings/analytics/analytics.ts",
    from: "after = page.at(-1);",
    to: "after = page[0];",
    test: "src/workers/bindings/analytics/analytics.test.ts",
  },
  {
    file: "src/workers/bindings/analytics/sql/format.ts",
    from: "if (bytes > maxBytes)",
    to: "if (bytes > 100 * maxBytes)",
    test: "src/workers/bindings/analytics/analytics.test.ts",
  },
  {
    file: "src/workers/bindings/analytics/sql/run.ts",
    from: "bytes += rowBytes(row);",
    to: "",
    test: "src/workers/bindings/analytics/analytics.test.ts",
  },
];
