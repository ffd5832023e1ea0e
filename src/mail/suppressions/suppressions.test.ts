import { onEveryDatabase } from "../../../test/support/databases.ts";
import { suppressionsConformance } from "./suppressions.conformance.ts";

onEveryDatabase(suppressionsConformance);
