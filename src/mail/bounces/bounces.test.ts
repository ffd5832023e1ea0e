import { onEveryDatabase } from "../../../test/support/databases.ts";
import { failuresConformance } from "./failures.conformance.ts";
import { delayNotificationsConformance } from "./delay-notifications.conformance.ts";
import { bounceProcessorConformance } from "./bounce-processor.conformance.ts";

onEveryDatabase((engine) => {
  failuresConformance(engine);
  bounceProcessorConformance(engine);
  delayNotificationsConformance(engine);
});
