import { onEveryDatabase } from "../../../test/support/databases.ts";
import { chaptersConformance } from "./chapters.conformance.ts";

onEveryDatabase(chaptersConformance);
