import { type ConfigDocument, type Problem, errorAt, valueAt } from "../../../kernel/config/index.ts";
import { UserError } from "../../../kernel/errors.ts";
import { hostOf, parsePattern } from "../../routing/pattern.ts";
import type { EnvironmentView } from "./environment.ts";
import type { EnvironmentFields } from "./schema.ts";

/** The configured routes and custom domains of a worker. */
export interface ProjectRoutes {
  routes: RouteConfig[];
  customDomains: (RouteConfig & { enabled: boolean | undefined; previewsEnabled: boolean | undefined })[];
}

interface RouteConfig {
  pattern: string;
  zoneId: string | undefined;
  zoneName: string | undefined;
}

/** Returns undefined if the configuration contains neither `route` nor `routes`. */
export function makeRoutes({ route, routes }: EnvironmentFields): ProjectRoutes | undefined {
  if (route === undefined && routes === undefined) return undefined;
  const entries = [...(route === undefined ? [] : [route]), ...(routes ?? [])].map((entry) =>
    typeof entry === "string" ? { pattern: entry } : entry,
  );
  const projectRoutes: ProjectRoutes = { routes: [], customDomains: [] };
  for (const { pattern: text, zone_id: zoneId, zone_name: zoneName, ...entry } of entries) {
    const config = { pattern: text, zoneId, zoneName };
    if (entry.custom_domain === true)
      projectRoutes.customDomains.push({ ...config, enabled: entry.enabled, previewsEnabled: entry.previews_enabled });
    else projectRoutes.routes.push(config);
  }
  return projectRoutes;
}

/** Reports invalid patterns, and custom domains that are not host names. */
export function checkRoutes(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const list: unknown = view.get("routes");
  const entries = [
    { path: view.pathOf("route"), value: view.get("route") },
    ...(Array.isArray(list) ? list.map((value: unknown, i) => ({ path: [...view.pathOf("routes"), i], value })) : []),
  ];
  return entries.flatMap(({ path, value }): Problem[] => {
    const text = typeof value === "string" ? value : valueAt(value, ["pattern"]);
    if (typeof text !== "string") return [];
    const position = document.locate(typeof value === "string" ? path : [...path, "pattern"]);
    if (valueAt(value, ["custom_domain"]) === true)
      return hostOf(text) === undefined
        ? [errorAt(position, `the custom domain "${text}" is not a host name`, "remove wildcards and the path")]
        : [];
    try {
      parsePattern(text);
      return [];
    } catch (err) {
      if (!(err instanceof UserError)) throw err;
      return [errorAt(position, err.message.replace(/\.$/, ""), err.fix?.replace(/\.$/, "") ?? "")];
    }
  });
}
