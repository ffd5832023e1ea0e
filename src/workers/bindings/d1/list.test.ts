import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { databaseListConformance } from "./list.conformance.ts";

onEveryDatabase(databaseListConformance);
