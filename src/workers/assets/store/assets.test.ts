import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { assetsConformance } from "./assets.conformance.ts";

onEveryDatabase(assetsConformance);
