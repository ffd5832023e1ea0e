import { onEveryDatabase } from "../../../test/support/databases.ts";
import { sendingConformance } from "./sending.conformance.ts";
import { sendingLimitsConformance } from "./sending-limits.conformance.ts";
import { sendingRecipientsConformance } from "./sending-recipients.conformance.ts";
import { sendingSendersConformance } from "./sending-senders.conformance.ts";

onEveryDatabase((engine) => {
  sendingConformance(engine);
  sendingSendersConformance(engine);
  sendingLimitsConformance(engine);
  sendingRecipientsConformance(engine);
});
