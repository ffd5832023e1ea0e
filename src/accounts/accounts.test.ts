import { onEveryDatabase } from "../../test/support/databases.ts";
import { accountsConformance } from "./accounts.conformance.ts";

onEveryDatabase(accountsConformance);
