import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { queueConformance } from "./queue.conformance.ts";

onEveryDatabase(queueConformance);
