import { onEveryDatabase } from "../../../test/support/databases.ts";
import { signingKeysConformance } from "./keys.conformance.ts";

onEveryDatabase(signingKeysConformance);
