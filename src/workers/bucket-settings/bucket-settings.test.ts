import { onEveryDatabase } from "../../../test/support/databases.ts";
import { bucketSettingsConformance } from "./bucket-settings.conformance.ts";

onEveryDatabase(bucketSettingsConformance);
