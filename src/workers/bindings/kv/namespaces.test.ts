import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { namespacesConformance } from "./namespaces.conformance.ts";

onEveryDatabase(namespacesConformance);
