import { onEveryDatabase } from "../../../test/support/databases.ts";
import { servedConformance } from "./served.conformance.ts";

onEveryDatabase(servedConformance);
