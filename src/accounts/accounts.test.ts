import { onEveryDatabase } from "../../test/support/databases.ts";
import { accountsConformance } from "./accounts.conformance.ts";
import { tokensConformance } from "./tokens.conformance.ts";

onEveryDatabase((engine) => {
  accountsConformance(engine);
  tokensConformance(engine);
});
