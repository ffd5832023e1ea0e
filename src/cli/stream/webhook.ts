import type { Paint } from "../../kernel/paint.ts";
import type { ApiConnection } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { commandErrors } from "../errors.ts";
import { nameValueLines, formatUtcTime, table } from "../print.ts";
import { oneLine } from "../../kernel/text.ts";

export interface Webhook {
  notificationUrl: string;
  modified: string;
  secret: string;
}

export interface ApiWebhookDelivery {
  id: string;
  video: string;
  event: string;
  status: string;
  created: string;
  attempts: { at: string; milliseconds: number; status: number | null; error: string | null; response: string }[];
}

export const endpointOption = {
  endpoint: {
    type: "string",
    placeholder: "id",
    summary: "id of an additional webhook",
    defaultText: "the account's webhook",
  },
} as const;

export const webhookLines = ({ notificationUrl, secret, modified }: Webhook, paint: Paint): string[] =>
  nameValueLines(
    [
      ["url", oneLine(notificationUrl)],
      ["secret", secret],
      ["changed", formatUtcTime(modified)],
    ],
    paint,
  );

/** `…/webhook/endpoints/<id>` of the specified endpoint, or of the main one. */
export async function endpointPath({ api, base }: ApiConnection, requestedId: string | undefined): Promise<string> {
  const list = `${base}/stream/webhook/endpoints`;
  if (requestedId !== undefined) return `${list}${at`/${requestedId}`}`;
  const main = (await api.result<{ id: string; main: boolean }[]>("GET", list)).find((endpoint) => endpoint.main);
  if (main === undefined)
    throw commandErrors.badContent({
      what: "The account",
      reason: "it has no webhook",
      fix: "Set one: `reelpost stream webhook set <url>`",
    });
  return `${list}${at`/${main.id}`}`;
}

export const deliveryTable = (deliveries: readonly ApiWebhookDelivery[], paint: Paint): string[] =>
  table(
    ["id", "created", "video", "event", "status", "attempts", "last response"],
    deliveries.map(({ id, created, video, event, status, attempts }) => [
      id,
      formatUtcTime(created),
      video,
      event,
      status,
      attempts.length,
      answerOf(attempts.at(-1)),
    ]),
    paint,
  );

function answerOf(attempt: ApiWebhookDelivery["attempts"][number] | undefined): string {
  if (attempt === undefined) return "";
  const { status, error, milliseconds } = attempt;
  return `${status ?? error ?? "none"}, ${milliseconds} ms`;
}
