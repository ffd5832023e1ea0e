import { oneLine } from "../../kernel/text.ts";
import { formatTime, table, type Paint } from "../print.ts";

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
      formatTime(created),
    ]),
    paint,
  );
