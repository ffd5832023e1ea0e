import { onEveryDatabase } from "../../../test/support/databases.ts";
import { failuresConformance } from "./failures.conformance.ts";
import { delayNotificationsConformance } from "./delay-notifications.conformance.ts";
import { complaintsConformance } from "./complaints.conformance.ts";
import { forwardBouncesConformance } from "./forward-bounces.conformance.ts";
import { sentBouncesConformance } from "./sent-bounces.conformance.ts";

onEveryDatabase((engine) => {
  failuresConformance(engine);
  forwardBouncesConformance(engine);
  sentBouncesConformance(engine);
  complaintsConformance(engine);
  delayNotificationsConformance(engine);
});
