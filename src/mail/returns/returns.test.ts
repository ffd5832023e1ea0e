import { onEveryDatabase } from "../../../test/support/databases.ts";
import { failuresConformance } from "./failures.conformance.ts";

onEveryDatabase((engine) => {
  failuresConformance(engine);
});
