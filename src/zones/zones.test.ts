import { onEveryDatabase } from "../../test/support/databases.ts";
import { managedConformance } from "./records/managed.conformance.ts";
import { recordsConformance } from "./records/records.conformance.ts";
import { zoneFileConformance } from "./records/zone-file.conformance.ts";
import { zonesConformance } from "./zones.conformance.ts";

onEveryDatabase((engine) => {
  zonesConformance(engine);
  recordsConformance(engine);
  managedConformance(engine);
  zoneFileConformance(engine);
});
