import { onEveryDatabase } from "../../../test/support/databases.ts";
import { deletionsConformance } from "./deletions.conformance.ts";
import { liveVideosConformance } from "./live.conformance.ts";
import { listsConformance } from "./lists.conformance.ts";
import { rulesConformance } from "./rules.conformance.ts";
import { videosConformance } from "./videos.conformance.ts";

onEveryDatabase((engine) => {
  videosConformance(engine);
  listsConformance(engine);
  rulesConformance(engine);
  deletionsConformance(engine);
  liveVideosConformance(engine);
});
