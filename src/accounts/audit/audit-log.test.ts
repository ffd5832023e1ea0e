import { onEveryDatabase } from "../../../test/support/databases.ts";
import { auditLogConformance } from "./audit-log.conformance.ts";

onEveryDatabase(auditLogConformance);
