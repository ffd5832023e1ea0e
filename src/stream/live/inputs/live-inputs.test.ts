import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { liveHealthConformance } from "./health.conformance.ts";
import { liveInputsConformance } from "./live-inputs.conformance.ts";
import { liveOutputsConformance } from "./outputs.conformance.ts";

onEveryDatabase((engine) => {
  liveInputsConformance(engine);
  liveOutputsConformance(engine);
  liveHealthConformance(engine);
});
