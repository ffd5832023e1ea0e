import { onEveryDatabase } from "../../../test/support/databases.ts";
import { scriptsConcurrency } from "./concurrency.conformance.ts";
import { scriptsConformance } from "./scripts.conformance.ts";

onEveryDatabase((engine) => {
  scriptsConformance(engine);
  scriptsConcurrency(engine);
});
