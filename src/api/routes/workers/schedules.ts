import { z } from "@hono/zod-openapi";
import { systemClock } from "../../../kernel/index.ts";
import { parseCron, workerErrors, type Schedule } from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import {
  accountAndScript,
  WORKER_READ_OPTIONS,
  requireScript,
  SCRIPT,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";

const shape = z.object({
  schedules: z.array(z.object({ cron: z.string(), created_on: z.iso.datetime(), modified_on: z.iso.datetime() })),
});
const showSchedules = (schedules: Schedule[]) => ({
  schedules: schedules.map(({ cron, createdAt, modifiedAt }) => ({
    cron,
    created_on: createdAt.toISOString(),
    modified_on: modifiedAt.toISOString(),
  })),
});

const NEXT_RUNS = 5;
/** A handler may run for minutes; its logs are in the tail. */
const MAX_WAIT_MS = 30_000;

/** Next runs of an expression. A stored expression that has become invalid never runs. */
function nextRuns(cron: string, from: Date): string[] {
  try {
    return parseCron(cron)
      .next(from, NEXT_RUNS)
      .map((at) => at.toISOString());
  } catch {
    return [];
  }
}

/** Cron triggers of a script. */
export const scheduleRoutes = ({ scripts, live, clock = systemClock }: WorkerRoutesDeps): Route[] => [
  route(
    {
      id: "worker-cron-trigger-get-cron-triggers",
      method: "get",
      path: `${SCRIPT}/schedules`,
      summary: "Get Cron Triggers",
      ...WORKER_READ_OPTIONS,
      result: shape,
    },
    async ({ params }) => respond(showSchedules(await scripts.schedules(...accountAndScript(params)))),
  ),
  route(
    {
      id: "worker-cron-trigger-update-cron-triggers",
      method: "put",
      path: `${SCRIPT}/schedules`,
      summary: "Update Cron Triggers",
      ...WORKER_WRITE_OPTIONS,
      body: z.array(z.object({ cron: z.string() })),
      result: shape,
    },
    async ({ params, body }) =>
      respond(
        showSchedules(
          await scripts.changeSchedules(
            ...accountAndScript(params),
            body.map(({ cron }) => cron),
          ),
        ),
      ),
  ),
  route(
    {
      id: "worker-cron-trigger-next-runs",
      method: "get",
      path: `${SCRIPT}/schedules/next`,
      summary: "List the next runs of each Cron Trigger",
      ...WORKER_READ_OPTIONS,
      result: z.array(z.object({ cron: z.string(), next: z.array(z.iso.datetime()) })),
    },
    async ({ params }) => {
      const from = new Date(clock.now());
      const schedules = await scripts.schedules(...accountAndScript(params));
      return respond(schedules.map(({ cron }) => ({ cron, next: nextRuns(cron, from) })));
    },
  ),
  route(
    {
      id: "worker-cron-trigger-run",
      method: "post",
      path: `${SCRIPT}/schedules/run`,
      summary: "Run the scheduled handler now, with an expression of its Cron Triggers or another one",
      ...WORKER_WRITE_OPTIONS,
      body: z.object({ cron: z.string().max(200) }),
      result: z.object({
        cron: z.string(),
        /** Null if the handler is still running. */
        outcome: z.string().nullable(),
        exception: z.string().nullable(),
      }),
    },
    async ({ params, body: { cron } }) => {
      const [account, name] = accountAndScript(params);
      parseCron(cron);
      const script = await requireScript(scripts, account, name);
      if (live === undefined || script.live === undefined) throw workerErrors.scriptMissing({ script: name });
      const timeout = Promise.withResolvers<undefined>();
      const timer = setTimeout(() => timeout.resolve(undefined), MAX_WAIT_MS);
      try {
        const ended = await Promise.race([
          live.scheduled({ account, script: name }, { cron, scheduledTime: new Date(clock.now()) }),
          timeout.promise,
        ]);
        const { outcome = null, exception } = ended ?? {};
        return respond({
          cron,
          outcome,
          exception: exception === undefined ? null : `${exception.name}: ${exception.message}`,
        });
      } finally {
        clearTimeout(timer);
      }
    },
  ),
];
