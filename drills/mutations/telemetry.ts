import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/kernel/telemetry/environment.ts",
    from: 'const base = setting || (valueOf(env, "OTEL_EXPORTER_OTLP_ENDPOINT") ?? DEFAULT_ENDPOINT);',
    to: 'const base = valueOf(env, "OTEL_EXPORTER_OTLP_ENDPOINT") ?? (setting || DEFAULT_ENDPOINT);',
    test: "src/kernel/telemetry/environment.test.ts",
  },
  {
    file: "src/kernel/telemetry/metric-producer.ts",
    from: "total - (i === 0 ? 0 : counts[i - 1]!)",
    to: "total",
    test: "test/e2e/serve-telemetry.test.ts",
  },
  {
    file: "src/workers/live/trace-workers.ts",
    from: 'url.replace(/\\?.*$/, "")',
    to: "url",
    test: "test/e2e/serve-telemetry.test.ts",
  },
  {
    file: "src/store/jobs/trace-jobs.ts",
    from: "parent: parentOf(job.payload),",
    to: "parent: {},",
    test: "src/store/jobs/trace-jobs.test.ts",
  },
  {
    file: "src/stream/media/programs.ts",
    from: "accessSync(path, constants.X_OK);",
    to: "accessSync(path);",
    test: "src/stream/media/programs.test.ts",
  },
];
