import { onEveryDatabase } from "../../../test/support/databases.ts";
import { routingConformance } from "./routing.conformance.ts";

onEveryDatabase(routingConformance);
