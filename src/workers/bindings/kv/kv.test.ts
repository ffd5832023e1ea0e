import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { kvConformance } from "./kv.conformance.ts";

onEveryDatabase(kvConformance);
