import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { endpointOption, endpointPath, type Delivery } from "../../stream/webhook.ts";

export const streamWebhookReplay = defineCommand({
  name: "stream webhook replay",
  summary: "redeliver a webhook event",
  arguments: [{ name: "delivery", summary: "id of the delivery", required: true }],
  options: { ...endpointOption, ...serverOptions },
  examples: [["reelpost stream webhook replay 91ab…", "an id from the deliveries"]],
  async run({ endpoint, ...values }, [id], surroundings) {
    const connection = await connect(values, surroundings);
    const delivery = await connection.api.result<Delivery>(
      "POST",
      `${await endpointPath(connection, endpoint)}/deliveries${at`/${id!}`}/replay`,
    );
    printResult(surroundings, delivery, () => [
      `${delivery.id} is on its way: \`reelpost stream webhook deliveries\` tells what becomes of it`,
    ]);
    return 0;
  },
});
