import type { Paint } from "../../kernel/paint.ts";
import { oneLine } from "../../kernel/text.ts";
import { formatUtcTime, table } from "../print.ts";

/** An additional webhook, which receives notifications of live inputs. */
export interface LiveWebhook {
  id: string;
  notificationUrl: string;
  secret: string;
  topics: string[];
  liveInputs: string[];
  created: string;
}

export const webhookTable = (webhooks: readonly LiveWebhook[], paint: Paint): string[] =>
  table(
    ["id", "url", "inputs", "secret", "created"],
    webhooks.map(({ id, notificationUrl, liveInputs, secret, created }) => [
      id,
      oneLine(notificationUrl),
      liveInputs.length === 0 ? "all" : liveInputs.join(", "),
      secret,
      formatUtcTime(created),
    ]),
    paint,
  );
