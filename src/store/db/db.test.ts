import { onEveryDatabase } from "../../../test/support/databases.ts";
import { dbConformance } from "./db.conformance.ts";

onEveryDatabase(dbConformance);
