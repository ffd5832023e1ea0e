import { z } from "zod";
import { group, host, port } from "./setting-types.ts";
import { signInSettings } from "./sign-in-settings.ts";

export const dashboardSettings = group("Dashboard", {
  enabled: z.boolean().default(true).meta({
    description: "Serve the dashboard in processes with the role api, and in `reelpost dev`",
    example: true,
  }),
  host: host("Address to listen on; `reelpost dev` always uses 127.0.0.1"),
  port: port(
    8790,
    "TCP port of the dashboard, which has an origin of its own so that no worker shares it; 0 selects a free one",
  ),
  hosts: z
    .array(
      z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i, "must be a host name without scheme, port and path"),
    )
    .max(20)
    .default([])
    .meta({
      description:
        "Host names of the dashboard: requests for them on the HTTP and HTTPS ports go to the dashboard, and its own listener accepts them besides localhost and addresses. They must differ from the names of the API, the workers and the videos",
      example: ["dashboard.example.com"],
    }),
  ...signInSettings,
});
