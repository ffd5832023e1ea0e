import { onEveryDatabase } from "../../../test/support/databases.ts";
import { invocationFiguresConformance } from "./figures.conformance.ts";

onEveryDatabase(invocationFiguresConformance);
