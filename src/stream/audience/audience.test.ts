import { onEveryDatabase } from "../../../test/support/databases.ts";
import { audienceConformance } from "./audience.conformance.ts";

onEveryDatabase(audienceConformance);
