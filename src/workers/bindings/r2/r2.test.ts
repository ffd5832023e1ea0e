import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { r2Conformance } from "./r2.conformance.ts";

onEveryDatabase(r2Conformance);
