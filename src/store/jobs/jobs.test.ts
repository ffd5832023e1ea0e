import { onEveryDatabase } from "../../../test/support/databases.ts";
import { jobsConformance } from "./jobs.conformance.ts";

onEveryDatabase(jobsConformance);
