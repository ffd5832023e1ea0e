import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { analyticsConformance } from "./analytics.conformance.ts";

onEveryDatabase(analyticsConformance);
