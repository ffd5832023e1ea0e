import { onEveryDatabase } from "../../../test/support/databases.ts";
import { heldConformance } from "./held.conformance.ts";

onEveryDatabase(heldConformance);
