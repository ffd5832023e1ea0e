import { onEveryDatabase } from "../../../test/support/databases.ts";
import { tailsConformance } from "./tails.conformance.ts";

onEveryDatabase(tailsConformance);
