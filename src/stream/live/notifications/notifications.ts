import { metaText } from "../../videos/index.ts";
import type { Webhooks } from "../../webhooks/index.ts";
import type { LiveInputDirectory } from "../inputs/port.ts";
import type { LiveEvent } from "../inputs/types.ts";
import { notificationOf } from "./body.ts";

interface LiveNotificationsDeps {
  webhooks: Pick<Webhooks, "liveEvent">;
  inputs: Pick<LiveInputDirectory, "find">;
}

/**
 * Sends events of live inputs to the webhooks of their account. The same event may be passed again: each webhook
 * receives it once.
 */
export const createLiveNotifications =
  ({ webhooks, inputs }: LiveNotificationsDeps) =>
  async (event: LiveEvent): Promise<void> => {
    const input = await inputs.find(event.input);
    // The input has since been deleted: no notification is needed.
    if (input === undefined) return;
    const payload = JSON.stringify(notificationOf(event, metaText(input.meta, "name") || "Stream Live Input"));
    await webhooks.liveEvent({
      account: event.account,
      input: event.input,
      type: event.type,
      occasion: `live ${event.id}`,
      payload,
    });
  };
