import { onEveryDatabase } from "../../../test/support/databases.ts";
import { watermarksConformance } from "./watermarks.conformance.ts";

onEveryDatabase(watermarksConformance);
