export { describeFile, type FileDescription } from "./describe.ts";
export { capOf } from "./ladder.ts";
export { makeMezzanine, needsMezzanine } from "./mezzanine.ts";
export { createProbe, type Probe } from "./probe.ts";
export { ProbeRefused } from "./refused.ts";
