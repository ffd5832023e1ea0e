import { onEveryDatabase } from "../../../test/support/databases.ts";
import { sendingConformance } from "./sending.conformance.ts";

onEveryDatabase(sendingConformance);
