import { onEveryDatabase } from "../../../test/support/databases.ts";
import { deliveriesConformance } from "./deliveries.conformance.ts";
import { queuesConformance } from "./queues.conformance.ts";

onEveryDatabase((engine) => {
  queuesConformance(engine);
  deliveriesConformance(engine);
});
