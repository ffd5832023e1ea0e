export type { LiveEventType, WebhookDelivery, WebhookEndpoint, Webhooks } from "./types.ts";
export { webhooksMigrations } from "./webhooks-table.ts";
export { createWebhooks } from "./webhooks.ts";
