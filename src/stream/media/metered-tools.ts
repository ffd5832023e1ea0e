import type { Basics } from "../../kernel/index.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { MediaTools } from "./port.ts";
import { createMediaTools } from "./tools.ts";

interface MeteredToolsDeps {
  settings: Pick<Settings, "stream">;
  metrics?: Metrics;
  /** True if other machines can reach this server. */
  exposed: boolean;
}

const STOP_MS = 15_000;

interface MeteredTools extends MediaTools {
  /**
   * Finds the programs now rather than when the first video needs them, and logs the result. Without them everything
   * except video works, and the reason is the error of every run.
   */
  find(): void;
}

/** ffmpeg and ffprobe of this system, with metrics. */
export function createMeteredTools(
  { settings: { stream }, metrics, exposed }: MeteredToolsDeps,
  { log, lifecycle }: Pick<Basics, "log" | "lifecycle">,
): MeteredTools {
  const runs = metrics?.histogram(
    "reelpost_media_run_seconds",
    "Duration of ffmpeg and ffprobe runs in seconds, by outcome",
    {
      labels: ["program", "urgency", "outcome"],
    },
  );
  const waitSeconds = metrics?.histogram(
    "reelpost_media_wait_seconds",
    "Time that ffmpeg and ffprobe runs waited in the queue in seconds",
    {
      labels: ["urgency"],
    },
  );
  const tools = createMediaTools({
    settings: stream,
    log,
    exposed,
    onRun({ program, urgency, outcome, ranMs, waitedMs }) {
      runs?.observe({ program, urgency, outcome }, ranMs / 1000);
      waitSeconds?.observe({ urgency }, waitedMs / 1000);
    },
  });
  if (metrics !== undefined) watch(metrics, tools);
  lifecycle.onStop("video programs", () => tools.close(), { timeoutMs: STOP_MS });
  return {
    ...tools,
    find() {
      tools.ready().then(
        async ({ version, sandbox, user, offline, h264 }) => {
          log.info({ ffmpeg: version, sandbox, user: user?.uid, offline }, "stream: ffmpeg found");
          const selection = await h264.tested;
          if (!lifecycle.stopping.aborted) log.info(selection, "stream: H.264 encoder selected");
        },
        (err: unknown) =>
          lifecycle.stopping.aborted ||
          log.warn({ err }, "stream: ffmpeg is unavailable; videos will not be processed"),
      );
    },
  };
}

function watch(metrics: Metrics, { load }: ReturnType<typeof createMediaTools>): void {
  const runningGauge = metrics.gauge("reelpost_media_running", "Number of running ffmpeg and ffprobe processes");
  const waitingGauge = metrics.gauge("reelpost_media_waiting", "Number of queued ffmpeg and ffprobe runs", ["urgency"]);
  // prom-client calls `collect` before it reads a gauge.
  Object.assign(runningGauge, { collect: () => runningGauge.set(load().running) });
  Object.assign(waitingGauge, {
    collect: () => Object.entries(load().waiting).forEach(([urgency, count]) => waitingGauge.set({ urgency }, count)),
  });
}
