import { onEveryDatabase } from "../../../test/support/databases.ts";
import { downloadsConformance } from "./downloads.conformance.ts";

onEveryDatabase(downloadsConformance);
