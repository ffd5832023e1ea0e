import { onEveryDatabase } from "../../../test/support/databases.ts";
import { retryQueueConformance } from "./retry-queue.conformance.ts";

onEveryDatabase(retryQueueConformance);
