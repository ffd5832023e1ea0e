import { onEveryDatabase } from "../../../test/support/databases.ts";
import { logConformance } from "./log.conformance.ts";
import { entriesConformance } from "./entries.conformance.ts";
import { statusConformance } from "./status.conformance.ts";

onEveryDatabase((engine) => {
  statusConformance(engine);
  entriesConformance(engine);
  logConformance(engine);
});
