import type { ApiClient } from "../api/client.ts";
import { at } from "../api/paths.ts";
import type { ApiRule } from "./routing.ts";
import { CATCH_ALL } from "./rule-body.ts";

/** `zone`: `/zones/<id>`. */
export const rulePath = (zone: string, rule: string): string =>
  `${zone}/email/routing/rules${rule === CATCH_ALL ? "/catch_all" : at`/${rule}`}`;

/** The catch-all rule comes without a priority: it is always the last. */
export const fetchRule = async (api: ApiClient, path: string): Promise<ApiRule> => ({
  priority: 0,
  ...(await api.result<Omit<ApiRule, "priority"> & { priority?: number }>("GET", path)),
});
