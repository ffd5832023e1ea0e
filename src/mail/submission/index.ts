export { createSubmissionListener } from "./listener.ts";
export { createSubmitters, type SubmittersDeps } from "./submitters.ts";
