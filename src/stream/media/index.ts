export { runChild } from "./child.ts";
export { deviceOptions, hardwareOptions, type H264Encoder, inputFilters, SOFTWARE_ENCODER } from "./h264-encoders.ts";
export { MAX_PIXELS } from "./inputs.ts";
export { createMeteredTools } from "./metered-tools.ts";
export type { MediaCapabilities, MediaRun, MediaTools } from "./port.ts";
export { MediaRunError } from "./run-error.ts";
export { createMediaTools } from "./tools.ts";
