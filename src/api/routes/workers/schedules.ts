import { z } from "@hono/zod-openapi";
import type { Schedule } from "../../../workers/index.ts";
import { answer, route, type Route } from "../../operation.ts";
import { accountAndScript, reading, SCRIPT, writing, type WorkerRoutesDeps } from "./common.ts";

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

/** Cron triggers of a script. */
export const scheduleRoutes = ({ scripts }: WorkerRoutesDeps): Route[] => [
  route(
    {
      id: "worker-cron-trigger-get-cron-triggers",
      method: "get",
      path: `${SCRIPT}/schedules`,
      summary: "Get Cron Triggers",
      ...reading,
      result: shape,
    },
    async ({ params }) => answer(showSchedules(await scripts.schedules(...accountAndScript(params)))),
  ),
  route(
    {
      id: "worker-cron-trigger-update-cron-triggers",
      method: "put",
      path: `${SCRIPT}/schedules`,
      summary: "Update Cron Triggers",
      ...writing,
      body: z.array(z.object({ cron: z.string() })),
      result: shape,
    },
    async ({ params, body }) =>
      answer(
        showSchedules(
          await scripts.changeSchedules(
            ...accountAndScript(params),
            body.map(({ cron }) => cron),
          ),
        ),
      ),
  ),
];
