import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { deliveryTable, endpointOption, endpointPath, type Delivery } from "../../stream/webhook.ts";

export const streamWebhookDeliveries = defineCommand({
  name: "stream webhook deliveries",
  summary: "list webhook deliveries, newest first",
  description: "The last hundred finished deliveries are kept. --json includes contents and all attempts.",
  options: {
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 100,
      summary: "maximum number of entries",
      defaultText: "20",
    },
    ...endpointOption,
    ...serverOptions,
  },
  examples: [["reelpost stream webhook deliveries", "results of the deliveries"]],
  async run({ limit = 20, endpoint, ...values }, _, surroundings) {
    const connection = await connect(values, surroundings);
    const deliveries = await connection.api.result<Delivery[]>(
      "GET",
      `${await endpointPath(connection, endpoint)}/deliveries`,
      { query: { per_page: limit } },
    );
    printResult(surroundings, deliveries, (paint) =>
      deliveries.length === 0 ? ["Nothing."] : deliveryTable(deliveries, paint),
    );
    return 0;
  },
});
