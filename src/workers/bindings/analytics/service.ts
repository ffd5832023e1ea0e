import type { Log } from "../../../kernel/index.ts";
import { readJsonBody, sendBindingError } from "../http.ts";
import type { BindingServices } from "../service.ts";
import type { Analytics } from "./analytics.ts";
import { readPoint } from "./point.ts";

/** Large enough for a point of maximum size with every byte of its strings escaped. */
const MAX_POINT_BYTES = 256 * 1024;

/** Creates the server side of `env.X.writeDataPoint()`. */
export function createAnalyticsService({
  analytics,
  log,
}: {
  analytics: Pick<Analytics, "write">;
  log: Log;
}): BindingServices["analytics"] {
  return {
    async handle(request, response, { script, binding: { dataset } }) {
      try {
        await analytics.write(script.account ?? "", dataset, readPoint(await readJsonBody(request, MAX_POINT_BYTES)));
        response.writeHead(204).end();
      } catch (err) {
        log.warn({ err, script: script.name, dataset }, "analytics: data point dropped");
        await sendBindingError(request, response, err);
      }
    },
  };
}
