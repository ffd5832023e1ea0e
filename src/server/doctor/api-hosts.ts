import type { Settings } from "../../kernel/settings.ts";
import { hasApiHost } from "../own-hosts.ts";
import { passedFinding, type Finding } from "./finding.ts";

/** Checks that the settings name the hosts of the API, so that routes and custom domains apply to all others. */
export function apiHostFindings(settings: Pick<Settings, "api" | "http">): Finding[] {
  const check = "host names of the API";
  if (hasApiHost(settings))
    return [passedFinding(check, [...settings.api.hosts, settings.http.public_url].join(" ").trim())];
  return [
    {
      check,
      status: "warning",
      found: "any",
      fix: "Routes and custom domains of workers and buckets do not apply, because the host name of the API is not configured. Set api.hosts or http.public_url.",
    },
  ];
}
