import { onEveryDatabase } from "../../../test/support/databases.ts";
import { audioConformance } from "./audio.conformance.ts";

onEveryDatabase(audioConformance);
