import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { bucketListConformance } from "./bucket-list.conformance.ts";
import { multipartConformance } from "./multipart.conformance.ts";
import { r2Conformance } from "./r2.conformance.ts";
import { uploadListConformance } from "./upload-list.conformance.ts";

onEveryDatabase((engine) => {
  r2Conformance(engine);
  multipartConformance(engine);
  bucketListConformance(engine);
  uploadListConformance(engine);
});
