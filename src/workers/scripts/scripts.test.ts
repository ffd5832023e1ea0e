import { onEveryDatabase } from "../../../test/support/databases.ts";
import { scriptsConcurrency } from "./concurrency.conformance.ts";
import { bindingsConformance } from "./bindings.conformance.ts";
import { renameConformance } from "./rename.conformance.ts";
import { scriptsConformance } from "./scripts.conformance.ts";
import { versionsConformance } from "./versions.conformance.ts";

onEveryDatabase((engine) => {
  scriptsConformance(engine);
  versionsConformance(engine);
  bindingsConformance(engine);
  scriptsConcurrency(engine);
  renameConformance(engine);
});
