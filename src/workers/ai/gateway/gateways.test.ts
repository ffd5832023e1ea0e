import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { aiGatewaysConformance } from "./gateways.conformance.ts";

onEveryDatabase(aiGatewaysConformance);
