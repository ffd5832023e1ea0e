import { onEveryDatabase } from "../../../test/support/databases.ts";
import { domainsConformance } from "./domains.conformance.ts";

onEveryDatabase(domainsConformance);
