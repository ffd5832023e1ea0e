import { onEveryDatabase } from "../../../../../test/support/databases.ts";
import { transfersConformance } from "./transfers.conformance.ts";

onEveryDatabase(transfersConformance);
