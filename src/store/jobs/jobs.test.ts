import { onEveryDatabase } from "../../../test/support/databases.ts";
import { jobsConformance } from "./jobs.conformance.ts";
import { jobLeasesConformance } from "./leases.conformance.ts";
import { jobWorkersConformance } from "./worker.conformance.ts";

onEveryDatabase((engine) => {
  jobsConformance(engine);
  jobWorkersConformance(engine);
  jobLeasesConformance(engine);
});
