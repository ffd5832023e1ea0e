import { z } from "@hono/zod-openapi";

/**
 * Returns the declaration of the event stream, which `reelpost serve` and `reelpost dev` implement for different
 * topics.
 */
export const liveEventsOperation = <Topic extends string>(topics: readonly Topic[]) => ({
  id: "live-events",
  method: "get" as const,
  path: "/accounts/{account_id}/events",
  tag: "Events",
  summary: "Stream the changes of an account's resources as Server-Sent Events",
  permission: null,
  query: z.object({
    topics: z
      .string()
      .max(500)
      .transform((text) => text.split(",").filter((topic) => topic !== ""))
      .pipe(z.array(z.enum(topics)))
      .optional(),
  }),
  raw: "text/event-stream",
});
