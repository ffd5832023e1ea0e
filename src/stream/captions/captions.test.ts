import { onEveryDatabase } from "../../../test/support/databases.ts";
import { captionsConformance } from "./captions.conformance.ts";

onEveryDatabase(captionsConformance);
