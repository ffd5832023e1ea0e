import { onEveryDatabase } from "../../../test/support/databases.ts";
import { addressesConformance } from "../addresses/addresses.conformance.ts";
import { dnsConformance } from "./dns.conformance.ts";
import { planConformance } from "./plan.conformance.ts";
import { resolveConformance } from "./resolve.conformance.ts";
import { rulesConformance } from "./rules.conformance.ts";

onEveryDatabase((engine) => {
  dnsConformance(engine);
  rulesConformance(engine);
  addressesConformance(engine);
  planConformance(engine);
  resolveConformance(engine);
});
