export { describeFile, type FileDescription } from "./describe.ts";
export { bitrateCapOf } from "./ladder.ts";
export { createMezzanine, mezzaninePrefix, needsMezzanine } from "./mezzanine.ts";
export { createProbe, type Probe } from "./probe.ts";
export { ProbeRejected } from "./refused.ts";
