import { onEveryDatabase } from "../../../test/support/databases.ts";
import { logConformance } from "./log.conformance.ts";
import { storyConformance } from "./story.conformance.ts";

onEveryDatabase((engine) => {
  storyConformance(engine);
  logConformance(engine);
});
