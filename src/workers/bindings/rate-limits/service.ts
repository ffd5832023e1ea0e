import type { Clock } from "../../../kernel/index.ts";
import { readJsonBody, sendBindingError, sendJson } from "../http.ts";
import type { BindingServices } from "../service.ts";
import { createRateLimitCounters } from "./counters.ts";

/** Keys may be URLs or header values. */
const MAX_BODY_BYTES = 256 * 1024;

/** Creates the server side of `env.X.limit()`. */
export function createRateLimitService({ clock }: { clock: Clock }): BindingServices["rateLimit"] {
  const counters = createRateLimitCounters(clock);
  return {
    async handle(request, response, { script, binding: { namespace_id: namespace, simple } }) {
      try {
        const { key } = (await readJsonBody(request, MAX_BODY_BYTES)) as { key: string };
        sendJson(response, 200, { success: counters.count({ account: script.account ?? "", namespace, key, simple }) });
      } catch (err) {
        await sendBindingError(request, response, err);
      }
    },
  };
}
