import { onEveryDatabase } from "../../../test/support/databases.ts";
import { viewedConformance } from "./viewed.conformance.ts";

onEveryDatabase(viewedConformance);
