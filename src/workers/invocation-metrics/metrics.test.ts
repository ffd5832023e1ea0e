import { onEveryDatabase } from "../../../test/support/databases.ts";
import { invocationMetricsConformance } from "./metrics.conformance.ts";

onEveryDatabase(invocationMetricsConformance);
