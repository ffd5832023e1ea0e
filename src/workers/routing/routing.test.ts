import { onEveryDatabase } from "../../../test/support/databases.ts";
import { domainsConformance } from "./domains.conformance.ts";
import { hostOwnersConformance } from "./host-owners.conformance.ts";
import { routesConformance } from "./routes.conformance.ts";

onEveryDatabase((engine) => {
  routesConformance(engine);
  hostOwnersConformance(engine);
  domainsConformance(engine);
});
