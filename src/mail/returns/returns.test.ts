import { onEveryDatabase } from "../../../test/support/databases.ts";
import { failuresConformance } from "./failures.conformance.ts";
import { noticesConformance } from "./notices.conformance.ts";
import { takeConformance } from "./take.conformance.ts";

onEveryDatabase((engine) => {
  failuresConformance(engine);
  takeConformance(engine);
  noticesConformance(engine);
});
