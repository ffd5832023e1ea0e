import { onEveryDatabase } from "../../../test/support/databases.ts";
import { secretsStoreConformance } from "./secrets-store.conformance.ts";

onEveryDatabase(secretsStoreConformance);
