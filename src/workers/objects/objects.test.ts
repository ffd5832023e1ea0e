import { onEveryDatabase } from "../../../test/support/databases.ts";
import { objectsConformance } from "./objects.conformance.ts";

onEveryDatabase(objectsConformance);
