import { onEveryDatabase } from "../../../test/support/databases.ts";
import { webhooksConformance } from "./webhooks.conformance.ts";

onEveryDatabase(webhooksConformance);
