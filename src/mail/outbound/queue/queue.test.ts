import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { attemptsConformance } from "./attempts.conformance.ts";
import { queueConformance } from "./queue.conformance.ts";
import { runnersConformance } from "./runners.conformance.ts";
import { waysConformance } from "./ways.conformance.ts";

onEveryDatabase((engine) => {
  queueConformance(engine);
  attemptsConformance(engine);
  runnersConformance(engine);
  waysConformance(engine);
});
